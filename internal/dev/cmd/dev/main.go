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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/testkit/services"
)

func main() {
	w := new(world)
	if err := w.start(context.Background(), os.Args[1:]); err != nil {
		w.fail(err)
	}
}

// fail ends this process, and tells what the functions wrote.
func (w *world) fail(err error) {
	for _, f := range w.functions {
		fmt.Fprintf(os.Stderr, "The function %s wrote:\n%s\n", filepath.Base(f.Bootstrap), f.Logs())
	}
	fmt.Fprintln(os.Stderr, "FAILED:", err)
	os.Exit(1)
}

// example is a function behind an HTTP API.
type example struct {
	function, path string
	// relays: messages leave with its commits.
	relays bool
	tell   func(*story)
	// body is what to send, with a source.
	body, says string
}

const orders = "orders"

func examples() map[string]example {
	return map[string]example{"apigw-charge": {
		function: "apigw-charge", path: "/charges", tell: tellOfCharges,
		body: `{"amount":1999,"currency":"usd","source":"%s","metadata":{"order":9007199254740993}}`,
		says: "Sent again it is replayed; with another amount it is refused (422); without the key, too (400).",
	}, orders: {
		function: orders, path: "/orders", tell: tellOfOrders, relays: true,
		body: `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"%s","email":"a@example.com"}`,
		says: "Sent again it is replayed, and nothing happens twice.",
	}}
}

func (w *world) start(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "table" {
		return dynamo.CreateTable(ctx, dynamolocal.Client(args[2]), args[1])
	}
	plays := map[string]func(context.Context, *world, example) error{"run": run, "demo": demo}
	if len(args) != 3 || plays[args[0]] == nil || examples()[args[1]].function == "" {
		return errors.New("usage: dev run|demo apigw-charge|orders FOLDER, or dev table NAME ENDPOINT")
	}
	if err := w.open(ctx, args[2]); err != nil {
		return err
	}
	return plays[args[0]](ctx, w, examples()[args[1]])
}

func (x example) route() string { return "POST " + x.path }

func (x example) front(f *lambdaruntime.Sandbox) *lambdaruntime.Front {
	return &lambdaruntime.Front{Invoke: f.Invoke, Route: x.route()}
}

// run serves an example until a signal comes, and the relay and the drain of the orders beside it.
func run(ctx context.Context, w *world, x example) error {
	interrupted, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	const timeout = 29 * time.Second // API Gateway waits for a second more at most
	function := w.function(x.function, timeout)
	if x.relays {
		if err := w.relaying(ctx, ""); err != nil {
			return err
		}
		go w.drainEachMinute(ctx)
	}
	url, err := listen("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"), w.told(x.front(function)))
	if err != nil {
		return err
	}
	try := func(key, source string) {
		const curl = "  curl -i %s%s -H 'Content-Type: application/json' -H 'Idempotency-Key: %s' \\\n    -d '%s'\n"
		fmt.Printf(curl, url, x.path, key, fmt.Sprintf(x.body, source))
	}
	fmt.Printf("%s is served at %s, the idempotency records are %s. Try:\n\n", x.route(), url, w.where)
	try("order-2", "tok_visa")
	fmt.Printf("%s A card that is declined (402):\n", x.says)
	try("order-3", services.DeclinedSource)
	fmt.Print("\nCtrl-C ends it.\n\n")
	<-interrupted.Done()
	return nil
}

// told prints what became of each request, and how often the services have acted so far.
func (w *world) told(front http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		told := ask(front, r)
		told.passOn(rw)
		fmt.Printf("%s %s: %s", r.Method, r.URL.Path, told)
		done := w.services.Done("")
		for _, kind := range services.Kinds() {
			if done[kind] > 0 {
				fmt.Printf(", %ss so far: %d", kind, done[kind])
			}
		}
		fmt.Println()
	})
}

// drainEachMinute delivers what the relay has put off, as a schedule does.
func (w *world) drainEachMinute(ctx context.Context) {
	drain := w.function("drain", drainTimeout)
	for ; ; time.Sleep(time.Minute) {
		if _, err := drain.Invoke(ctx, []byte("{}")); err != nil {
			fmt.Println("the drain has failed:", err)
		}
	}
}
