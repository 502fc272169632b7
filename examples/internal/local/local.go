// Package local runs a function of the examples on this machine behind a local front, so that curl reaches it. Its environment:
//
//	PORT                       the port on 127.0.0.1, 3000 if empty
//	STORE                      where the records are: memory (default), or dynamodb for DynamoDB Local
//	AWS_ENDPOINT_URL_DYNAMODB  with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE          with STORE=dynamodb, the table; it is created if it is not there
//
// and what the function itself reads. It ends when it is interrupted or terminated, after the requests in flight are answered.
package local

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

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
)

// Function is what runs.
type Function struct {
	// Route is the only one of its API, such as "POST /charges".
	Route string
	// Handler makes the function from the environment and a store. It may say what else is to be known of this run, as whole sentences.
	Handler func(ctx context.Context, getenv func(string) string, records *localstore.Opened) (h lambda.Handler, known string, err error)
	// Try says what to send to a URL such as "http://127.0.0.1:3000".
	Try func(url string) string
}

// Main runs a function until the process is told to end.
func Main(f Function) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait
	if err := Run(ctx, os.Getenv, os.Stdout, f); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

// Run serves a function until ctx ends.
func Run(ctx context.Context, getenv func(string) string, out io.Writer, f Function) (err error) {
	records, err := localstore.Open(ctx, localstore.FromEnvironment(getenv))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	handler, known, err := f.Handler(ctx, getenv, records)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", cmp.Or(getenv("PORT"), "3000")))
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if known != "" {
		known = " " + known
	}
	fmt.Fprintf(out, "%s is served at %s, the idempotency records are %s.%s Try:\n\n%s\nCtrl-C ends it.\n\n",
		f.Route, url, records.Settings, known, f.Try(url))
	return serve(ctx, listener, &front.Front{Function: handler, Routes: []string{f.Route}})
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
