package main

import (
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// subject is a handler in one of the ways that are compared, and the client that delivers to it. It
// belongs to one goroutine.
type subject struct {
	name    string
	shop    *shop
	handler lambda.Handler
	event   *event
}

// way is how a handler is made idempotent, if it is.
type way struct {
	name string
	wrap func(s *shop, f *fake) lambda.Handler
}

var (
	unwrapped = way{"lambda.NewHandler alone", func(s *shop, _ *fake) lambda.Handler {
		return lambda.NewHandler(s.charge)
	}}
	handmade = way{"by hand", byHand}
	wrapped  = way{"wrapped", func(s *shop, f *fake) lambda.Handler {
		return idempotent.Wrap(s.charge, dynamo.New(f.client, records))
	}}
	// uncompressed trades write units for time.
	uncompressed = way{"wrapped, uncompressed", func(s *shop, f *fake) lambda.Handler {
		return idempotent.Wrap(s.charge, dynamo.New(f.client, records, dynamo.Config{NoCompression: true}))
	}}
)

// of returns a handler with this result.
func (w way) of(r result, f *fake) *subject {
	s := &shop{response: r.response}
	return &subject{name: w.name, shop: s, handler: w.wrap(s, f), event: newEvent()}
}

// deliver sends the event under a key, and looks at the answer only as far as it costs nothing.
func (s *subject) deliver(key uint64) ([]byte, error) {
	ctx, cancel := invocation()
	defer cancel()
	answer, err := s.handler.Invoke(ctx, s.event.withKey(key))
	return answer, answers(answer, err)
}

// executions delivers under n keys of their own, each of which has to execute.
func (s *subject) executions(n int) error {
	return s.repeat(n, n, freshKey)
}

// repeat delivers n times, and checks how often the handler ran.
func (s *subject) repeat(n, executions int, key func() uint64) error {
	before := s.shop.executed.Load()
	for range n {
		if _, err := s.deliver(key()); err != nil {
			return err
		}
	}
	if executed := s.shop.executed.Load() - before; executed != int64(executions) {
		return fmt.Errorf("%d deliveries executed %d times, not %d", n, executed, executions)
	}
	return nil
}

var errNotReplayed = errors.New("the handler ran again")

// rehearsedExecution rehearses a first execution, and returns those that are measured.
func (s *subject) rehearsedExecution(f *fake) (run func(n int) error, err error) {
	return s.executions, s.rehearsed(f, freshKey)
}

// rehearsedReplay executes once, rehearses a replay, and returns those that are measured.
func (s *subject) rehearsedReplay(f *fake) (run func(n int) error, err error) {
	key := freshKey()
	same := func() uint64 { return key }
	first, err := s.deliver(key)
	if err == nil {
		err = errors.Join(s.shop.check(first), s.rehearsed(f, same))
	}
	if err == nil && s.shop.executed.Load() != 1 {
		err = errNotReplayed
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return func(n int) error { return s.repeat(n, 0, same) }, nil
}

// rehearsed delivers once for the tape and once from it, and looks at both answers.
func (s *subject) rehearsed(f *fake, key func() uint64) error {
	once := func() error {
		answer, err := s.deliver(key())
		return errors.Join(err, s.shop.check(answer))
	}
	if err := errors.Join(f.rehearse(once), once()); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
