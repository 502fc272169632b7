package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/mail"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
	"github.com/go-idempotent/idempotent/outbox"
)

// What the environment of a sandbox says beside what the store and the tables need.
const (
	// functionVariable names its function, servicesVariable the services that it calls.
	functionVariable = "DEMO_FUNCTION"
	servicesVariable = "DEMO_SERVICES_URL"
)

// The functions.
const (
	orders = "orders"
	relay  = "relay"
	drain  = "drain"
)

// runFunction is a function in a process of its own.
func runFunction(ctx context.Context, name string) error {
	function, err := newFunction(name)
	if err != nil {
		return err
	}
	return sandbox.Serve(ctx, function)
}

func newFunction(name string) (http.Handler, error) {
	switch name {
	case orders:
		return newOrders()
	case relay:
		r, err := newRelay()
		if err != nil {
			return nil, err
		}
		return sandbox.Events(lambda.NewHandler(r.Stream), relayTimeout), nil
	case drain:
		// A message is left to the stream for a minute, by default. The story knows already that the stream has lost it.
		r, err := newRelay(outbox.WithGrace(0))
		if err != nil {
			return nil, err
		}
		return sandbox.Events(lambda.NewHandler(func(ctx context.Context) error {
			_, err := r.Drain(ctx)
			return err
		}), relayTimeout), nil
	default:
		return nil, fmt.Errorf("%s=%q is no function", functionVariable, name)
	}
}

func newOrders() (http.Handler, error) {
	services, err := order.Connect(func(name string) (*downstream.Client, error) {
		return downstream.New(name, os.Getenv(servicesVariable), order.Timeout)
	})
	if err != nil {
		return nil, err
	}
	handler := idempotent.Wrap(order.Handler(services, rows.Named(os.Getenv)), sandbox.AttachRecords(), order.Effects(),
		idempotent.WithTiming(idempotent.Timing{Margin: leaseMargin}))
	return &front.Front{Function: handler, Routes: []string{order.Route}, Timeout: invocationTimeout}, nil
}

func newRelay(opts ...outbox.RelayOption) (*outbox.Relay, error) {
	baseURL, err := url.Parse(os.Getenv(servicesVariable))
	if err != nil {
		return nil, err
	}
	client := localstore.FromEnvironment(os.Getenv).Client()
	return outbox.NewRelay(client, rows.Named(os.Getenv).Outbox, mail.At(baseURL), opts...), nil
}
