package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
)

// story sends orders as a client does, kills the function meanwhile, prints what comes back and checks it.
type story struct {
	out     io.Writer
	records *sandbox.Records
	tables  rows.Tables
	orders  []*purchase
}

// purchase is what a client wants: one request, however often it is sent.
type purchase struct {
	number   int
	what     string // says when the function is killed
	declined bool
	key      string

	services *services
	server   *sandbox.Server
	sandbox  *sandbox.Sandbox
	wait     time.Duration
}

// plots are the orders, each with the moment in which its function is killed.
var plots = []struct {
	what     string
	at       moment
	declined bool
}{
	{"not at all", moment{}, false},
	{"before the reservation", moment{counting.Reservation, false}, false},
	{"after the reservation, before its answer", moment{counting.Reservation, true}, false},
	{"between reservation and charge", moment{counting.Charge, false}, false},
	{"after the charge, before its answer", moment{counting.Charge, true}, false},
	{"between refusal and cancellation", moment{counting.Cancellation, false}, true},
	{"after the cancellation, before its answer", moment{counting.Cancellation, true}, true},
}

// tell plays all scenes, up to the first that goes wrong.
func (s *story) tell(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	s.introduce()
	s.header("the function is killed (SIGKILL)")
	if err := s.each(ctx, s.first); err != nil {
		return err
	}
	if err := s.each(ctx, s.atOnce); err != nil {
		return err
	}
	if err := s.pause(ctx); err != nil {
		return err
	}
	s.header("sent again, to another process")
	if err := s.each(ctx, s.resume); err != nil {
		return err
	}
	return s.sumUp(ctx)
}

func (s *story) each(ctx context.Context, scene func(context.Context, *purchase) error) error {
	for _, o := range s.orders {
		if err := scene(ctx, o); err != nil {
			return fmt.Errorf("order %d: %w", o.number, err)
		}
	}
	return nil
}

// open gives each order services of its own, so that they count what one order does.
func (s *story) open(ctx context.Context) error {
	run := rand.Text()[:8] // the records of an earlier run may still be there
	for i, p := range plots {
		services := &services{Services: counting.New(), at: p.at}
		server, err := sandbox.Listen(ctx, services)
		if err != nil {
			return err
		}
		s.orders = append(s.orders, &purchase{
			number: i + 1, what: p.what, declined: p.declined, key: fmt.Sprintf("order-%d-%s", i+1, run), services: services, server: server,
		})
	}
	return nil
}

func (s *story) close() (err error) {
	for _, o := range s.orders {
		if o.sandbox != nil {
			err = errors.Join(err, o.sandbox.Stop())
		}
		err = errors.Join(err, o.server.Close())
	}
	return err
}

// start starts the function for an order.
func (s *story) start(ctx context.Context, o *purchase) (err error) {
	o.sandbox, err = sandbox.Start(ctx, append(s.records.Variables(), rows.OrdersVariable+"="+s.tables.Orders, rows.OutboxVariable+"="+s.tables.Outbox, servicesVariable+"="+o.server.URL)...)
	return err
}

// first sends an order, and kills the function when its moment has come.
func (s *story) first(ctx context.Context, o *purchase) error {
	if err := s.start(ctx, o); err != nil {
		return err
	}
	if o.services.at.kind == "" {
		a := o.send(ctx)
		return errors.Join(s.row(ctx, o, o.what, a.String()), a.Is(o.status()), s.settled(ctx, o))
	}
	type death struct {
		how string
		err error
	}
	died := make(chan death, 1)
	o.services.onMoment(func() {
		how, err := o.sandbox.Kill()
		died <- death{how, err}
	})
	defer o.services.onMoment(nil)
	a := o.send(ctx)
	select {
	case d := <-died:
		o.sandbox = nil
		if a.Err == nil {
			return fmt.Errorf("a killed function answered with status %d", a.Status)
		}
		return errors.Join(s.row(ctx, o, o.what, a.String()+" ("+d.how+")"), d.err)
	case <-time.After(longest):
		return errors.Join(s.row(ctx, o, o.what, a.String()), errors.New("the function was not killed: the moment did not come"))
	}
}

// atOnce sends an order whose function was killed to another process, while the lease lasts.
func (s *story) atOnce(ctx context.Context, o *purchase) (err error) {
	if o.sandbox != nil {
		return nil // nobody killed it
	}
	if err := s.start(ctx, o); err != nil {
		return err
	}
	o.wait, err = o.send(ctx).Wait(longest)
	return err
}

// pause waits as long as the clients were told to.
func (s *story) pause(ctx context.Context) error {
	wait := time.Duration(0)
	for _, o := range s.orders {
		wait = max(wait, o.wait)
	}
	fmt.Fprintf(s.out, "\nSent again at once, each client is told to wait: 409 Conflict, Retry-After: %d at most. After these %v:\n\n", wait/time.Second, wait)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resume sends an order again, and then once more.
func (s *story) resume(ctx context.Context, o *purchase) error {
	again := o.send(ctx)
	what := "goes on"
	if o.number == 1 {
		what = "has its answer"
	}
	if err := errors.Join(s.row(ctx, o, what, again.String()), again.Is(o.status()), s.settled(ctx, o)); err != nil {
		return err
	}
	return errors.Join(o.send(ctx).Replays(again), s.settled(ctx, o))
}

func (o *purchase) body() string {
	source := "tok_visa"
	if o.declined {
		source = payments.DeclinedSource
	}
	return fmt.Sprintf(`{"sku":"A-%d","quantity":2,"amount":1999,"currency":"usd","source":%q,"email":%q}`, o.number, source, o.email())
}

// email is an address that no other order has, so that its rows can be counted.
func (o *purchase) email() string { return o.key + "@example.com" }

func (o *purchase) send(ctx context.Context) sandbox.Answer {
	return sandbox.Post(ctx, o.sandbox.URL+"/orders", o.key, o.body())
}

func (o *purchase) status() int {
	if o.declined {
		return 402
	}
	return 201
}

// settled checks that an order has come to its end: its effects, and its row if rows are kept.
func (s *story) settled(ctx context.Context, o *purchase) error {
	want := 1
	if o.declined || !s.tables.Kept() {
		want = 0
	}
	count, err := s.tables.Count(ctx, o.email())
	if err == nil && count != want {
		err = fmt.Errorf("there are %d rows, want %d", count, want)
	}
	return errors.Join(o.done(), err)
}

// done checks that each effect of an order happened once, and what the services were asked for: twice only for an effect whose
// answer nobody got, and then with the same key.
func (o *purchase) done() error {
	want := [4]int{1, 1, 0, 0}
	if o.declined {
		want = [4]int{1, 0, 0, 1}
	}
	if got := o.services.done(); got != want {
		return fmt.Errorf("there are %v effects, want %v", got, want)
	}
	for _, e := range o.services.Effects() {
		calls := 1
		if o.services.at == (moment{e.Kind, true}) {
			calls = 2
		}
		if e.Calls != calls {
			return fmt.Errorf("the service was asked for the %s %d times with its key, want %d", e.Kind, e.Calls, calls)
		}
	}
	return nil
}
