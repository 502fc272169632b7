// Command local runs the function apigw-charge on this machine behind a local front, so that curl reaches it:
//
//	go run ./examples/apigw-charge/local
//
// Its environment:
//
//	PORT                       the port on 127.0.0.1, 3000 if empty
//	STORE                      where the records are: memory (default), or dynamodb for DynamoDB Local
//	AWS_ENDPOINT_URL_DYNAMODB  with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE          with STORE=dynamodb, the table; it is created if it is not there
//	PAYMENTS_URL               the base URL of the payment provider; without it charges are only counted
//
// It ends when it is interrupted or terminated, after the requests in flight are answered.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait
	if err := run(ctx, os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, getenv func(string) string, out io.Writer) (err error) {
	store, err := localstore.Open(ctx, localstore.FromEnvironment(getenv))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	provider, err := newProvider(getenv("PAYMENTS_URL"))
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", cmp.Or(getenv("PORT"), "3000")))
	if err != nil {
		return err
	}
	introduce(out, listener.Addr(), store.Settings)

	handler := idempotent.Wrap(charge.Handler(provider.Provider), store.Store, charge.Effects(), idempotent.WithObserver(provider.report))
	return serve(ctx, listener, &front.Front{Function: handler, Routes: []string{charge.Route}})
}

// serve answers requests until ctx ends, then those that are in flight.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), front.DefaultTimeout+time.Second)
		defer cancel()
		stopped <- server.Shutdown(last)
	})
	err := server.Serve(listener)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err // it did not end because it was told to
	}
	return <-stopped
}

func introduce(out io.Writer, addr net.Addr, s localstore.Settings) {
	where := "in memory"
	if s.Endpoint != "" {
		where = fmt.Sprintf("in table %s at %s", s.Table, s.Endpoint)
	}
	fmt.Fprintf(out, `POST /charges is served at http://%[1]s, the idempotency records are %[2]s. Try:

  curl -i http://%[1]s/charges -H 'Content-Type: application/json' -H 'Idempotency-Key: order-1' \
    -d '{"amount":1999,"currency":"usd","source":"tok_visa","metadata":{"order":9007199254740993}}'

Sent again it is replayed; with another amount it is refused (422); without the key, too (400). A card that is declined (402):

  curl -i http://%[1]s/charges -H 'Content-Type: application/json' -H 'Idempotency-Key: order-2' \
    -d '{"amount":1999,"currency":"usd","source":"%[3]s"}'

Ctrl-C ends it.

`, addr, where, payments.DeclinedSource)
}
