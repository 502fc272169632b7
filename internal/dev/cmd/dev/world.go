package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/internal/testkit/services"
	"github.com/go-idempotent/idempotent/outbox"
)

// world is what outlives the process of a function: the tables, and the services that it calls.
// Everything in it ends with this process: functions that wait for an event, and DynamoDB Local.
type world struct {
	folder string

	services services.Services
	// next is what a story waits for.
	next atomic.Pointer[plan]
	// where says where the records are, client reaches them at endpoint, as the functions do.
	where, endpoint string
	client          *dynamodb.Client

	variables []string
	functions []*lambdaruntime.Sandbox
	// relay brings away the messages of the orders, which mapping hands to it.
	relay   *lambdaruntime.Sandbox
	mapping *streams.Pump
}

// The tables, by the variable that names them.
const (
	records  = "IDEMPOTENCY_TABLE"
	rows     = "ORDERS_TABLE"
	messages = "OUTBOX_TABLE"
)

var defaults = map[string]string{records: "idempotency", rows: orders, messages: "outbox"}

func table(variable string) string { return cmp.Or(os.Getenv(variable), defaults[variable]) }

// open starts everything but the functions. What they ask goes to one server: DynamoDB, and the
// services that have no other URL.
func (w *world) open(ctx context.Context, folder string) error {
	w.folder = folder
	database, err := w.openStore(ctx)
	if err != nil {
		return err
	}
	if w.endpoint, err = listen("127.0.0.1:0", w.watched(database)); err != nil {
		return err
	}
	w.client = dynamolocal.Client(w.endpoint)
	w.variables = []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + w.endpoint, "AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		"POWERTOOLS_IDEMPOTENCY_DISABLED=" + os.Getenv("POWERTOOLS_IDEMPOTENCY_DISABLED"), "OPERATION=orders",
	}
	for variable := range defaults {
		w.variables = append(w.variables, variable+"="+table(variable))
	}
	for _, variable := range []string{"PAYMENTS_URL", "STOCK_URL", "MAIL_URL"} {
		w.variables = append(w.variables, variable+"="+cmp.Or(os.Getenv(variable), w.endpoint))
	}
	return nil
}

// openStore returns what answers the calls of DynamoDB, with the tables.
func (w *world) openStore(ctx context.Context) (http.Handler, error) {
	switch where := os.Getenv("STORE"); where {
	case "", "memory":
		w.where = "in the memory of this process, which answers the calls of DynamoDB"
		return &dynamofake.Server{
			Keys:     map[string]string{table(rows): "order_id"},
			Indexes:  map[string]string{outbox.Index: "outbox_due", dynamo.AttentionIndex: "attention_at"},
			Streamed: table(messages),
		}, nil
	case "dynamodb":
		endpoint := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
		if endpoint == "" {
			server, err := dynamolocal.Start(ctx)
			if err != nil {
				return nil, err
			}
			endpoint = server.Endpoint
		}
		w.where = fmt.Sprintf("in table %s at %s", table(records), endpoint)
		target, err := url.Parse(endpoint)
		if err != nil {
			return nil, err
		}
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ErrorLog = log.New(io.Discard, "", 0) // those who were killed hung up
		client := dynamolocal.Client(endpoint)
		return proxy, errors.Join(dynamo.CreateTable(ctx, client, table(records)),
			outbox.CreateTable(ctx, client, table(messages)),
			dynamolocal.CreateTable(ctx, client, table(rows), "order_id"))
	default:
		return nil, fmt.Errorf("STORE=%q is neither memory nor dynamodb", where)
	}
}

// What a story waits for in DynamoDB: the commit of an order, the mark of a delivered message.
const (
	commit = "commit"
	mark   = "mark"
)

// watched serves the calls of DynamoDB and of the services, and lets a story step in.
func (w *world) watched(database http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, call, ofDatabase := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if !ofDatabase {
			w.pass(services.KindOf(r), &w.services, rw, r)
			return
		}
		input, err := io.ReadAll(r.Body)
		if err != nil {
			return // the function is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(input))
		kind := ""
		switch {
		case call == "TransactWriteItems":
			kind = commit
		case call == "UpdateItem" && bytes.Contains(input, []byte("done_at")):
			kind = mark
		}
		w.pass(kind, database, rw, r)
	})
}

func (w *world) function(name string, timeout time.Duration) *lambdaruntime.Sandbox {
	f := &lambdaruntime.Sandbox{Bootstrap: filepath.Join(w.folder, name), Environment: w.variables, Timeout: timeout}
	w.functions = append(w.functions, f)
	return f
}

const (
	relayTimeout = 5 * time.Second
	drainTimeout = 30 * time.Second
)

// relaying begins to invoke the function relay with what is written to the outbox from now on. The
// stream loses the event that has the text lost, unless that is empty.
func (w *world) relaying(ctx context.Context, lost string) error {
	w.relay = w.function("relay", relayTimeout)
	w.mapping = &streams.Pump{
		Endpoint: w.endpoint, Table: table(messages), Latest: true, Filter: outbox.StreamFilter,
		Invoke: func(ctx context.Context, event []byte) ([]byte, error) {
			if lost != "" && bytes.Contains(event, []byte(lost)) {
				return nil, nil // for the mapping that is a success
			}
			return w.relay.Invoke(ctx, event)
		},
	}
	go func() {
		if err := w.mapping.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "The stream of the outbox is read no more:", err)
		}
	}()
	return w.mapping.Idle(ctx)
}

func listen(address string, handler http.Handler) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	go http.Serve(l, handler) //nolint:errcheck // it serves until this process ends
	return "http://" + l.Addr().String(), nil
}
