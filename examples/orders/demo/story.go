package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
)

// story sends orders as a client does, kills the functions meanwhile, prints what comes back and checks it.
type story struct {
	out     io.Writer
	records *sandbox.Records
	tables  rows.Tables
	orders  []*purchase
	// relaying, and the mail, are there if there are messages.
	relaying *relaying
	mail     *sandbox.Server
	servers  []*sandbox.Server
	// drained: the drain has run.
	drained bool
}

// tell plays all scenes, up to the first that goes wrong.
func (s *story) tell(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	s.introduce()
	s.header("who is killed (SIGKILL)")
	if err := s.each(ctx, s.first); err != nil {
		return err
	}
	if err := s.pause(ctx); err != nil {
		return err
	}
	s.header("sent again, to another process")
	if err := s.each(ctx, s.resume); err != nil {
		return err
	}
	if err := s.drain(ctx); err != nil {
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

// first sends an order, and kills a function when its moment has come. If that was the order's function, the order is sent again at once.
func (s *story) first(ctx context.Context, o *purchase) (err error) {
	if o.sandbox, err = s.startOrders(ctx, o); err != nil {
		return err
	}
	if o.kills == "" {
		a := o.send(ctx)
		return errors.Join(a.Is(o.status()), s.delivered(ctx, o), s.row(ctx, o, o.what, a.String()), s.settled(ctx, o))
	}
	died := s.killAtMoment(o)
	defer o.services.watch.onMoment(nil)
	a := o.send(ctx)
	select {
	case d := <-died:
		if err := errors.Join(d.err, s.killed(ctx, o, a, d.how)); err != nil || o.kills != orders {
			return err
		}
		return s.atOnce(ctx, o)
	case <-time.After(longest):
		return errors.Join(s.row(ctx, o, o.what, a.String()), fmt.Errorf("the function %s was not killed: the moment did not come", o.kills))
	}
}

// death is how a process ended.
type death struct {
	how string
	err error
}

// killAtMoment kills the function of an order's plot when its moment comes.
func (s *story) killAtMoment(o *purchase) <-chan death {
	died := make(chan death, 1)
	o.services.watch.onMoment(func() {
		kill := o.sandbox.Kill
		if o.kills == relay {
			kill = s.relaying.kill
		}
		how, err := kill()
		died <- death{how, err}
	})
	return died
}

// killed checks what a client got whose order was interrupted.
func (s *story) killed(ctx context.Context, o *purchase, a sandbox.Answer, how string) error {
	if o.kills == orders {
		o.sandbox = nil
		if a.Err == nil {
			return fmt.Errorf("a killed function answered with status %d", a.Status)
		}
	} else if err := a.Is(o.status()); err != nil {
		return fmt.Errorf("the client of a living function: %w", err)
	}
	if o.answered() {
		if err := errors.Join(s.delivered(ctx, o), s.settled(ctx, o)); err != nil {
			return err
		}
	}
	return s.row(ctx, o, o.what, a.String()+" ("+how+")")
}

// atOnce sends an order to another process, while the lease of the one that was killed lasts.
func (s *story) atOnce(ctx context.Context, o *purchase) (err error) {
	if o.sandbox, err = s.startOrders(ctx, o); err != nil {
		return err
	}
	a := o.send(ctx)
	if o.answered() {
		return a.Replays(sandbox.Answer{Status: o.status(), Body: a.Body}) // nobody knows the first one
	}
	o.wait, err = a.Wait(longest)
	return err
}

// pause waits as long as the clients were told to.
func (s *story) pause(ctx context.Context) error {
	wait := time.Duration(0)
	for _, o := range s.orders {
		wait = max(wait, o.wait)
	}
	fmt.Fprintf(s.out, "\nSent again at once, each client is told to wait: 409 Conflict, Retry-After: %d at most.%s After these %v:\n\n",
		wait/time.Second, s.committed(), wait)
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
	if o.answered() {
		what = "has its answer"
	}
	err := errors.Join(again.Is(o.status()), s.delivered(ctx, o), s.row(ctx, o, what, again.String()), s.settled(ctx, o))
	if err != nil {
		return err
	}
	return errors.Join(o.send(ctx).Replays(again), s.settled(ctx, o))
}

// drain delivers what the stream has lost.
func (s *story) drain(ctx context.Context) (err error) {
	if !s.tables.Kept() {
		return nil
	}
	fmt.Fprintln(s.out, "\nThe stream has lost a message. The function drain, which a schedule invokes, finds it in the index of the outbox:")
	fmt.Fprintln(s.out)
	process, err := s.start(ctx, drain, s.mail.URL, s.records.Endpoint)
	if err != nil {
		return err
	}
	_, err = process.Invoke(ctx, []byte("{}"))
	if err := errors.Join(err, process.Stop()); err != nil {
		return fmt.Errorf("the drain: %w", err)
	}
	s.drained = true
	s.header("the drain runs")
	return s.each(ctx, func(ctx context.Context, o *purchase) error {
		if !o.lost {
			return nil
		}
		return errors.Join(s.row(ctx, o, "delivered", ""), s.settled(ctx, o))
	})
}

// messages is how many messages of an order are to reach the mail.
func (s *story) messages(o *purchase) int {
	if o.declined || !s.tables.Kept() || o.lost && !s.drained {
		return 0
	}
	return 1
}

// patience is how long a message may take that the relay is killed with.
const patience = 30 * time.Second

// delivered waits until the message of an order is, if it is one of those that the stream hands over, and until nobody delivers it once more.
func (s *story) delivered(ctx context.Context, o *purchase) error {
	if s.messages(o) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := s.relaying.mapping.Idle(ctx); err != nil {
			return fmt.Errorf("its message is not delivered: %w", err)
		}
		pending, err := s.tables.Pending(ctx, o.email())
		if err != nil {
			return err
		}
		if pending == 0 {
			return s.relaying.mapping.Idle(ctx) // what is repeated is not pending
		}
	}
}

// settled checks that an order has come to its end: its effects, its row and its message, if there are some.
func (s *story) settled(ctx context.Context, o *purchase) error {
	want := 1
	if o.declined || !s.tables.Kept() {
		want = 0
	}
	count, err := s.tables.Count(ctx, o.email())
	if err == nil && count != want {
		err = fmt.Errorf("there are %d rows, want %d", count, want)
	}
	return errors.Join(o.done(s.messages(o)), err)
}
