// Command dev runs the built functions of an example on this machine, as Lambda does: each in
// processes of its own under the Runtime API.
//
//	dev run apigw-charge FOLDER    serves the function, so that curl reaches it, until it is interrupted
//	dev demo orders FOLDER         plays what a client and a crash can do to it, and checks every answer
//	dev table NAME ENDPOINT        creates a table of records on an endpoint such as DynamoDB Local
//
// The folder has the binaries apigw-charge, orders, relay and drain. Its environment:
//
//	STORE                      memory (default): this process answers the calls of DynamoDB from its memory;
//	                           dynamodb: DynamoDB Local does
//	AWS_ENDPOINT_URL_DYNAMODB  with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE, ORDERS_TABLE, OUTBOX_TABLE
//	                           the tables, "idempotency", "orders" and "outbox" if empty; they are created
//	PAYMENTS_URL, STOCK_URL, MAIL_URL
//	                           for run: the services; what one without a URL is asked for is counted
//	PORT                       for run: the port on 127.0.0.1, 3000 if empty
//
// The exit status of a demonstration is 0 only if everything went as it should.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/outbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait
	if err := start(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// plays are what can be done with an example.
var plays = map[string]func(ctx context.Context, w *world) error{
	"run apigw-charge":  func(ctx context.Context, w *world) error { return run(ctx, w, charges) },
	"run orders":        func(ctx context.Context, w *world) error { return run(ctx, w, orders) },
	"demo apigw-charge": demoCharge,
	"demo orders":       demoOrders,
}

func start(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) == 3 && args[0] == "table" {
		return dynamo.CreateTable(ctx, dynamolocal.Client(args[2]), args[1])
	}
	if len(args) != 3 || plays[args[0]+" "+args[1]] == nil {
		return errors.New("usage: dev run|demo apigw-charge|orders FOLDER, or dev table NAME ENDPOINT")
	}
	if args[0] == "demo" {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // functions that were killed are told of by the story
	}
	w := &world{out: out, folder: args[2]}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.open(ctx); err != nil {
		return err
	}
	err = plays[args[0]+" "+args[1]](ctx, w)
	for _, f := range w.functions {
		if err != nil {
			fmt.Fprintf(os.Stderr, "The function %s wrote:\n%s\n", f.name, f.Logs())
		}
	}
	return err
}

// example is a function behind an HTTP API.
type example struct {
	function, route, path string
	// body is what to send, with a source.
	body, says string
}

var (
	charges = example{
		"apigw-charge", "POST /charges", "/charges",
		`{"amount":1999,"currency":"usd","source":"%s","metadata":{"order":9007199254740993}}`,
		"Sent again it is replayed; with another amount it is refused (422); without the key, too (400).",
	}
	orders = example{
		"orders", "POST /orders", "/orders",
		`{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"%s","email":"a@example.com"}`,
		"Sent again it is replayed, and nothing happens twice.",
	}
)

// The timeouts of the functions. API Gateway waits for a second more than the first at most.
const (
	timeout      = 29 * time.Second
	relayTimeout = 5 * time.Second
	drainTimeout = 30 * time.Second
)

func (x example) front(f *function) *lambdaruntime.Front {
	return &lambdaruntime.Front{Invoke: f.invoke, Routes: []string{x.route}}
}

// run serves an example until ctx ends, and the relay and the drain of the orders beside it.
func run(ctx context.Context, w *world, x example) error {
	function := w.function(x.function, timeout)
	if x.function == orders.function {
		if _, _, err := w.relaying(ctx, ""); err != nil {
			return err
		}
		go w.drainEachMinute(ctx)
	}
	address := net.JoinHostPort("127.0.0.1", cmp.Or(os.Getenv("PORT"), "3000"))
	url, err := w.listen(ctx, address, w.told(x.front(function)))
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "%s is served at %s, the idempotency records are %s. Try:\n\n", x.route, url, w.where)
	w.try(x, url, "order-2", "tok_visa")
	fmt.Fprintf(w.out, "%s A card that is declined (402):\n", x.says)
	w.try(x, url, "order-3", services.DeclinedSource)
	fmt.Fprint(w.out, "\nCtrl-C ends it.\n\n")
	<-ctx.Done()
	return nil
}

func (w *world) try(x example, url, key, source string) {
	fmt.Fprintf(w.out, "  curl -i %s%s -H 'Content-Type: application/json' -H 'Idempotency-Key: %s' \\\n    -d '%s'\n",
		url, x.path, key, fmt.Sprintf(x.body, source))
}

// told prints what became of each request, and how often the services have acted so far.
func (w *world) told(front http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		told := ask(front, r)
		told.passOn(rw)
		fmt.Fprintf(w.out, "%s %s: %s", r.Method, r.URL.Path, told)
		for _, kind := range services.Kinds() {
			if n := w.services.Done("", kind); n > 0 {
				fmt.Fprintf(w.out, ", %ss so far: %d", kind, n)
			}
		}
		fmt.Fprintln(w.out)
	})
}

// relaying begins to invoke the function relay with what is written to the outbox from now on,
// until the world ends. The stream loses the event that has the text lost, unless that is empty.
func (w *world) relaying(ctx context.Context, lost string) (f *function, mapping *streams.Pump, err error) {
	f = w.function(relay, relayTimeout)
	mapping = &streams.Pump{
		Endpoint: w.endpoint, Table: table(messages), Latest: true, Filter: outbox.StreamFilter,
		BatchSize: 1, Poll: 50 * time.Millisecond, // one message at a time, so that a story knows which of them dies
		Invoke: func(ctx context.Context, event []byte) ([]byte, error) {
			if lost != "" && bytes.Contains(event, []byte(lost)) {
				return nil, nil // for the mapping that is a success
			}
			return f.invoke(ctx, event)
		},
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mapping.Run(ctx) }()
	w.closers = append(w.closers, func() error {
		stop()
		return <-ended
	})
	return f, mapping, mapping.Idle(ctx)
}

// drainEachMinute delivers what the relay has put off, as a schedule does.
func (w *world) drainEachMinute(ctx context.Context) {
	drain := w.function("drain", drainTimeout)
	for tick := time.NewTicker(time.Minute); ; {
		if _, err := drain.invoke(ctx, []byte("{}")); err != nil && ctx.Err() == nil {
			fmt.Fprintln(w.out, "the drain has failed:", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}
