package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
)

// story sends requests as a client does, prints what comes back and checks it.
type story struct {
	out      io.Writer
	provider *watched
	// where says where the records are, variables tell a sandbox.
	where     string
	variables []string

	sandbox  *sandbox.Sandbox
	steps    int
	requests int

	// What was answered to the first and the third order, and how long the client was told to wait for the latter.
	charged, recovered answer
	wait               time.Duration
}

// tell plays all scenes, up to the first that goes wrong.
func (s *story) tell(ctx context.Context) (err error) {
	if s.sandbox, err = sandbox.Start(ctx, s.variables...); err != nil {
		return err
	}
	defer func() {
		if s.sandbox != nil {
			err = errors.Join(err, s.sandbox.Stop())
		}
	}()
	run := rand.Text()[:8] // the records of an earlier run may still be there
	first := order{"order-1", "order-1-" + run, 1999}
	second := order{"order-2", "order-2-" + run, 500}
	third := order{"order-3", "order-3-" + run, 4200}
	s.introduce()
	for _, scene := range []func() error{
		func() error { return s.firstCharge(ctx, first) },
		func() error { return s.sentAgain(ctx, first) },
		func() error { return s.otherBody(ctx, first) },
		func() error { return s.twoAtOnce(ctx, second) },
		func() error { return s.killed(ctx, third) },
		func() error { return s.refusedWhileLeased(ctx, third) },
		func() error { return s.recover(ctx, third) },
		func() error { return s.sentOnceMore(ctx, third) },
	} {
		if err := scene(); err != nil {
			return fmt.Errorf("step %d: %w", s.steps, err)
		}
	}
	return s.sumUp()
}

func (s *story) firstCharge(ctx context.Context, o order) error {
	s.charged = s.send(ctx, o)
	s.print("a first charge", o, s.charged.String())
	return errors.Join(s.charged.charges(o), s.provider.made(1))
}

func (s *story) sentAgain(ctx context.Context, o order) error {
	a := s.send(ctx, o)
	s.print("the client sends it again", o, a.beside(s.charged))
	return errors.Join(a.Replays(s.charged.Answer), s.provider.made(1))
}

func (s *story) otherBody(ctx context.Context, o order) error {
	o.amount++
	a := s.send(ctx, o)
	s.print("the same key with another amount", o, a.String())
	return errors.Join(a.Is(422), s.provider.made(1))
}

// twoAtOnce holds back the provider's answer until one of two concurrent requests has its own.
func (s *story) twoAtOnce(ctx context.Context, o order) error {
	answered := make(chan struct{})
	s.provider.onCharge(func(ctx context.Context) {
		select {
		case <-answered:
		case <-ctx.Done():
		}
	})
	defer s.provider.onCharge(nil)
	answers := make(chan answer, 2)
	for range 2 {
		s.requests++
		go func() { answers <- send(ctx, s.sandbox.URL, o) }()
	}
	early := <-answers
	close(answered)
	late := <-answers
	s.print("two at once: the one in the way", o, early.String())
	s.print("             the one that runs", o, late.String())
	_, err := early.Wait(longest)
	return errors.Join(err, late.charges(o), s.provider.made(2))
}

// killed kills the sandbox when the provider has charged and before it answers.
func (s *story) killed(ctx context.Context, o order) error {
	type death struct {
		how string
		err error
	}
	died := make(chan death, 1)
	s.provider.onCharge(func(context.Context) {
		how, err := s.sandbox.Kill()
		died <- death{how, err}
	})
	defer s.provider.onCharge(nil)
	a := s.send(ctx, o)
	select {
	case d := <-died:
		s.sandbox = nil
		s.print("killed after the charge", o, a.String()+" ("+d.how+")")
		if a.Err == nil {
			return fmt.Errorf("a killed sandbox answered with status %d", a.Status)
		}
		return errors.Join(d.err, s.provider.made(3))
	case <-time.After(invocationTimeout):
		s.print("killed after the charge", o, a.String())
		return errors.New("the sandbox was not killed: the provider was not asked to charge")
	}
}

func (s *story) refusedWhileLeased(ctx context.Context, o order) (err error) {
	if s.sandbox, err = sandbox.Start(ctx, s.variables...); err != nil {
		return err
	}
	a := s.send(ctx, o)
	s.print("sent again at once, to a new process", o, a.String())
	s.wait, err = a.Wait(longest)
	return errors.Join(err, s.provider.made(3))
}

func (s *story) recover(ctx context.Context, o order) error {
	select {
	case <-time.After(s.wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.recovered = s.send(ctx, o)
	s.print(fmt.Sprintf("sent again after these %v", s.wait), o, s.recovered.String())
	return errors.Join(s.recovered.charges(o), s.provider.made(3))
}

func (s *story) sentOnceMore(ctx context.Context, o order) error {
	a := s.send(ctx, o)
	s.print("sent once more", o, a.beside(s.recovered))
	return errors.Join(a.Replays(s.recovered.Answer), s.provider.made(3))
}

func (s *story) send(ctx context.Context, o order) answer {
	s.requests++
	return send(ctx, s.sandbox.URL, o)
}
