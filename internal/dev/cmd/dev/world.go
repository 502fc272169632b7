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
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/outbox"
)

// world is what outlives the process of a function: the tables, and the services that it calls.
type world struct {
	out    io.Writer
	folder string

	services *services.Services
	watch    watch
	// where says where the records are, client reaches them.
	where    string
	endpoint string
	client   *dynamodb.Client
	// variables are those of every function.
	variables []string
	functions []*function
	closers   []func() error
}

// The tables, by the variable that names them.
const (
	records  = "IDEMPOTENCY_TABLE"
	rows     = "ORDERS_TABLE"
	messages = "OUTBOX_TABLE"
)

var defaults = map[string]string{records: "idempotency", rows: "orders", messages: "outbox"}

func table(variable string) string { return cmp.Or(os.Getenv(variable), defaults[variable]) }

// open starts everything but the functions.
func (w *world) open(ctx context.Context) error {
	w.services = services.New(w.watch.pass)
	asked, err := w.listen(ctx, "127.0.0.1:0", w.services)
	if err != nil {
		return err
	}
	database, err := w.openStore(ctx)
	if err != nil {
		return err
	}
	reached, err := w.listen(ctx, "127.0.0.1:0", w.watched(database))
	if err != nil {
		return err
	}
	w.endpoint = cmp.Or(w.endpoint, reached)
	w.client = dynamolocal.Client(w.endpoint)
	w.variables = []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + reached, "AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		"POWERTOOLS_IDEMPOTENCY_DISABLED=" + os.Getenv("POWERTOOLS_IDEMPOTENCY_DISABLED"), "OPERATION=orders",
	}
	for variable := range defaults {
		w.variables = append(w.variables, variable+"="+table(variable))
	}
	for _, variable := range []string{"PAYMENTS_URL", "STOCK_URL", "MAIL_URL"} {
		w.variables = append(w.variables, variable+"="+cmp.Or(os.Getenv(variable), asked))
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
		w.endpoint = os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
		if w.endpoint == "" {
			server, err := dynamolocal.Start(ctx)
			if err != nil {
				return nil, err
			}
			w.endpoint, w.closers = server.Endpoint, append(w.closers, server.Stop)
		}
		w.where = fmt.Sprintf("in table %s at %s", table(records), w.endpoint)
		target, err := url.Parse(w.endpoint)
		if err != nil {
			return nil, err
		}
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ErrorLog = log.New(io.Discard, "", 0) // those who were killed hung up
		client := dynamolocal.Client(w.endpoint)
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

// watched lets the watch see the calls that a story waits for.
func (w *world) watched(database http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		input, err := io.ReadAll(r.Body)
		if err != nil {
			return // the function is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(input))
		_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		kind := ""
		switch {
		case call == "TransactWriteItems":
			kind = commit
		case call == "UpdateItem" && bytes.Contains(input, []byte("done_at")):
			kind = mark
		}
		w.watch.pass(kind, database, rw, r)
	})
}

// function is one of the folder.
type function struct {
	*lambdaruntime.Sandbox

	name    string
	timeout time.Duration
}

func (w *world) function(name string, timeout time.Duration) *function {
	f := &function{lambdaruntime.NewSandbox(lambdaruntime.Function{
		Bootstrap: filepath.Join(w.folder, name), Name: name, Environment: w.variables,
	}), name, timeout}
	w.functions, w.closers = append(w.functions, f), append(w.closers, f.Close)
	return f
}

func (f *function) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f.Invoke(ctx, payload, f.timeout)
}

// listen serves a handler until the world ends, and returns its URL.
func (w *world) listen(ctx context.Context, address string, handler http.Handler) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(l) //nolint:errcheck // it ends when the server is closed
	w.closers = append(w.closers, server.Close)
	return "http://" + l.Addr().String(), nil
}

func (w *world) close() (err error) {
	for _, c := range slices.Backward(w.closers) {
		err = errors.Join(err, c())
	}
	return err
}

// ended tells how the functions ended, if they did before they answered.
func (w *world) ended(a reply) string {
	for _, f := range w.functions {
		if how := f.Ended(); how != nil && a.Code == http.StatusInternalServerError {
			return fmt.Sprintf(" (%s)", how)
		}
	}
	return ""
}
