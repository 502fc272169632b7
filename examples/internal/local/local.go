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
	"sync"
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
	// Make makes what runs from the environment and a store.
	Make func(ctx context.Context, getenv func(string) string, records *localstore.Opened) (Made, error)
	// Try says what to send to a URL such as "http://127.0.0.1:3000".
	Try func(url string) string
}

// Made is a function that can be served.
type Made struct {
	Handler lambda.Handler
	// Known says what else is to be known of this run, as whole sentences, empty for nothing.
	Known string
	// Beside runs as long as the function is served, and ends with its context. The function is served once it is ready, and ends when it
	// ends. It may be nil.
	Beside func(ctx context.Context, ready func()) error
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
	made, err := f.Make(ctx, getenv, records)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", cmp.Or(getenv("PORT"), "3000")))
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	known := ""
	if made.Known != "" {
		known = " " + made.Known
	}
	return made.beside(ctx, func(ctx context.Context) error {
		fmt.Fprintf(out, "%s is served at %s, the idempotency records are %s.%s Try:\n\n%s\nCtrl-C ends it.\n\n",
			f.Route, url, records.Settings, known, f.Try(url))
		return serve(ctx, listener, &front.Front{Function: made.Handler, Routes: []string{f.Route}})
	})
}

// beside serves the function with what runs beside it.
func (m Made) beside(ctx context.Context, serve func(context.Context) error) error {
	if m.Beside == nil {
		return serve(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer cancel()
		ended <- m.Beside(ctx, sync.OnceFunc(func() { close(ready) }))
	}()
	select {
	case <-ready:
		err := serve(ctx)
		cancel()
		return errors.Join(err, <-ended)
	case err := <-ended:
		return err
	}
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
