package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
)

// open gives each order services of its own, so that they count what one order does, and begins to relay messages.
func (s *story) open(ctx context.Context) error {
	run := rand.Text()[:8] // the records of an earlier run may still be there
	for _, p := range plots {
		if p.needsTables() && !s.tables.Kept() {
			continue
		}
		number := len(s.orders) + 1
		o := &purchase{
			plot: p, number: number, key: fmt.Sprintf("order-%d-%s", number, run),
			services: &services{counting.New(), &watch{at: p.at}},
		}
		s.orders = append(s.orders, o)
		if err := s.serve(ctx, o); err != nil {
			return err
		}
	}
	if !s.tables.Kept() {
		return nil
	}
	return s.openRelay(ctx)
}

// serve makes the services of an order reachable, and DynamoDB by a way of its own.
func (s *story) serve(ctx context.Context, o *purchase) error {
	server, err := listen(ctx, &o.servers, o.services)
	if err != nil {
		return err
	}
	o.variables = []string{servicesVariable + "=" + server.URL}
	if !s.tables.Kept() {
		return nil
	}
	way, err := newDatabase(s.records.Endpoint, func(call string, _ []byte) (counting.Kind, *watch) {
		if call != "TransactWriteItems" {
			return "", nil
		}
		return commit, o.services.watch
	})
	if err != nil {
		return err
	}
	server, err = listen(ctx, &o.servers, way)
	if err != nil {
		return err
	}
	o.variables = append(o.variables, "AWS_ENDPOINT_URL_DYNAMODB="+server.URL)
	return nil
}

func listen(ctx context.Context, servers *[]*sandbox.Server, h http.Handler) (*sandbox.Server, error) {
	server, err := sandbox.Listen(ctx, h)
	if err == nil {
		*servers = append(*servers, server)
	}
	return server, err
}

// openRelay begins to relay messages to a mail for all orders.
func (s *story) openRelay(ctx context.Context) (err error) {
	if s.mail, err = listen(ctx, &s.servers, ofOrder(s.about)); err != nil {
		return err
	}
	way, err := newDatabase(s.records.Endpoint, func(call string, input []byte) (counting.Kind, *watch) {
		if o := s.marked(input); call == "UpdateItem" && o != nil {
			return mark, o.watch
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	server, err := listen(ctx, &s.servers, way)
	if err != nil {
		return err
	}
	r := &relaying{start: func(ctx context.Context) (*sandbox.Sandbox, error) {
		return s.start(ctx, relay, s.mail.URL, server.URL)
	}}
	r.mapping, err = s.tables.Mapping(ctx, func(ctx context.Context, event []byte) ([]byte, error) {
		if s.loses(event) {
			return nil, nil // for the mapping that is a success
		}
		return r.invoke(ctx, event)
	})
	if err != nil {
		return err
	}
	s.relaying = r
	return r.begin(ctx)
}

// about finds the order that a text is about, nil if there is none.
func (s *story) about(text []byte) *services {
	for _, o := range s.orders {
		if bytes.Contains(text, []byte(o.email())) {
			return o.services
		}
	}
	return nil
}

// marked finds the order whose message a call is about: the mail knows its id already.
func (s *story) marked(input []byte) *services {
	for _, o := range s.orders {
		for _, e := range o.services.Effects() {
			if e.Kind == counting.Message && bytes.Contains(input, []byte(e.Key)) {
				return o.services
			}
		}
	}
	return nil
}

// loses reports whether the stream loses an event.
func (s *story) loses(event []byte) bool {
	for _, o := range s.orders {
		if o.lost && bytes.Contains(event, []byte(o.email())) {
			return true
		}
	}
	return false
}

// startOrders starts the function orders for an order.
func (s *story) startOrders(ctx context.Context, o *purchase) (*sandbox.Sandbox, error) {
	return sandbox.Start(ctx, append(s.variables(orders), o.variables...)...)
}

// start starts another function.
func (s *story) start(ctx context.Context, function, servicesURL, endpoint string) (*sandbox.Sandbox, error) {
	return sandbox.Start(ctx, append(s.variables(function), servicesVariable+"="+servicesURL, "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)...)
}

func (s *story) variables(function string) []string {
	return append(s.records.Variables(), functionVariable+"="+function,
		rows.OrdersVariable+"="+s.tables.Orders, rows.OutboxVariable+"="+s.tables.Outbox)
}

func (s *story) close() (err error) {
	if s.relaying != nil {
		err = s.relaying.close()
	}
	for _, o := range s.orders {
		err = errors.Join(err, o.close())
	}
	for _, server := range s.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}
