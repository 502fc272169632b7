package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// provider is a downstream that takes keys: it counts what was asked of it and what it did.
type provider struct {
	calls   int
	charges map[string]int64 // by derived key
	begun   map[string]int   // effects in steps, by name
}

// step is a step whose effect the provider counts. What is recorded of it never begins again.
func (p *provider) step(ctx context.Context, s *shop, name string, err error,
	opts ...idempotent.StepOption[string],
) error {
	_, err = idempotent.Step(ctx, name, func(context.Context) (string, error) {
		if r, found := s.record(); found && r.Steps[name].Kind != store.StepStarted {
			assert.NotContains(s.t, r.Steps, name, "I8: it is recorded")
		}
		if p.begun == nil {
			p.begun = map[string]int{}
		}
		p.begun[name]++
		return name, err
	}, opts...)
	return err
}

func (p *provider) charge(ctx context.Context, o order) (receipt, error) {
	p.calls++
	key := idempotent.DerivedKey(ctx, "charge")
	if p.charges == nil {
		p.charges = map[string]int64{}
	}
	if _, done := p.charges[key]; !done {
		p.charges[key] = int64(len(p.charges) + 1)
	}
	return receipt{Charge: p.charges[key], Amount: o.Amount}, nil
}

// crashFaults are what happens from call number n on, in the order of the table.
var crashFaults = []crashFault{
	{"throttled", onCall(calls.Refuse)},
	{"request lost", onCall(calls.LoseRequest)},
	{"never answered", onCall(calls.HangBefore)},
	{"reply lost", onCall(calls.LoseReply)},
	{"applied, never answered", onCall(calls.HangAfter)},
	{"denied", onCall(calls.Deny)},
	{"reply lost, then denied", func(n int) rule {
		return either(calls.OnCall(n, calls.LoseReply), calls.OnCall(n+1, calls.Deny))
	}},
	{"dies before", onCall(calls.DieBefore)},
	{"dies after", onCall(calls.DieAfter)},
}

type crashFault struct {
	name string
	rule func(n int) rule
}

func (f crashFault) kills() bool { return strings.HasPrefix(f.name, "dies") }

func onCall(fault calls.Fault) func(n int) rule {
	return func(n int) rule { return calls.OnCall(n, fault) }
}

// noFault passes everything.
var noFault = crashFault{rule: onCall(calls.Pass)}

// leaseOfCrashes is after every lease: the 10 s that Lambda gives, the margin, and rounding.
const leaseOfCrashes = 13 * time.Second

// scenario is a first delivery: what it finds, and what its handler does.
type scenario struct {
	name string
	opts []idempotent.Option
	set  func(s *shop)
	do   func(s *shop, p *provider) func(context.Context, order) (receipt, error)
	// final is what every later delivery is answered, if that is an error.
	final error
	// once: no effect in a step begins twice.
	once bool
}

func scenarios() []scenario {
	none := func(*shop) {}
	crashed := func(s *shop) { s.put(crashed) }
	charge := func(_ *shop, p *provider) func(context.Context, order) (receipt, error) { return p.charge }
	// failsFirst fails in the first execution, with a charge or without; later ones charge.
	failsFirst := func(charges bool, mark func(error) error) func(*shop, *provider) func(context.Context,
		order) (receipt, error) {
		return func(_ *shop, p *provider) handler {
			return func(ctx context.Context, o order) (receipt, error) {
				if p.calls > 0 {
					return p.charge(ctx, o)
				}
				if charges {
					_, _ = p.charge(ctx, o)
				} else {
					p.calls++
				}
				return receipt{}, mark(errCard)
			}
		}
	}
	itself := func(err error) error { return err }
	resolver := resolves(idempotent.Executed(receipt{Charge: 1, Amount: 5}), nil)
	unrepeatable := []idempotent.Option{unrepeatable()}
	inSteps := func(between func(p *provider) error, opts ...idempotent.StepOption[string]) func(*shop,
		*provider) handler {
		return func(s *shop, p *provider) handler {
			return func(ctx context.Context, o order) (receipt, error) {
				p.calls++
				if err := p.step(ctx, s, "reserve", nil, opts...); err != nil {
					return receipt{}, err
				}
				if err := between(p); err != nil {
					return receipt{}, err
				}
				err := p.step(ctx, s, "charge", nil, opts...)
				return receipt{Charge: 1, Amount: o.Amount}, err
			}
		}
	}
	goesOn := func(*provider) error { return nil }
	failsOnce := func(p *provider) error {
		if p.calls == 1 {
			return errCard
		}
		return nil
	}
	reserved := func(s *shop) { s.put(crashedWith(2, "", "reserve")) } // its mark, and its result
	return []scenario{
		{name: "first execution", set: none, do: charge},
		{name: "takeover", set: crashed, do: charge},
		{name: "expired record", set: func(s *shop) {
			s.put(func(r *store.Record) { completed(r, `{}`); r.Expiry = time.Now() })
		}, do: charge},
		{name: "replay", set: func(s *shop) {
			s.put(func(r *store.Record) { completed(r, `{"charge":1,"amount":5}`) })
		}, do: charge},
		{name: "in progress", set: func(s *shop) { s.put(func(*store.Record) {}) }, do: charge},
		{name: "another request", opts: []idempotent.Option{amountFingerprint()}, set: func(s *shop) {
			_, err := s.sandbox(nil, amountFingerprint()).handle(6)
			require.NoError(s.t, err)
		}, do: charge, final: idempotent.ErrMismatch},
		{name: "handler error", set: none, do: failsFirst(false, itself)},
		{name: "terminal error", set: none, do: failsFirst(false, idempotent.Terminal)},
		{name: "uncertain error", set: none, do: failsFirst(true, idempotent.Uncertain)},
		{name: "lost lease", set: none, do: func(s *shop, p *provider) handler {
			return func(ctx context.Context, o order) (receipt, error) {
				if p.calls == 0 { // someone else has completed in the meantime, with the same derived key
					s.change(func(r *store.Record) {
						r.Owner = "someone"
						completed(r, `{"charge":1,"amount":5}`)
					})
				}
				return p.charge(ctx, o)
			}
		}},
		{name: "first execution, `Unrepeatable`", opts: unrepeatable, set: none, do: charge},
		{
			name: "crashed record, `Unrepeatable`", opts: unrepeatable, set: crashed, do: charge,
			final: idempotent.ErrUnknownOutcome,
		},
		{name: "two steps", set: none, do: inSteps(goesOn)},
		{name: "two steps, `AtMostOnce`", set: none, do: inSteps(goesOn, once()), once: true},
		{name: "two steps, `Unrepeatable`", opts: unrepeatable, set: none, do: inSteps(goesOn), once: true},
		{name: "error between two steps", set: none, do: inSteps(failsOnce)},
		{name: "crash between two steps", set: reserved, do: inSteps(goesOn)},
		{
			name: "crash between two steps, `Unrepeatable`", opts: unrepeatable, set: reserved,
			do: inSteps(goesOn), once: true,
		},
		{
			name: "terminal error of a step", set: none,
			do: func(s *shop, p *provider) handler {
				return func(ctx context.Context, _ order) (receipt, error) {
					p.calls++
					return receipt{}, p.step(ctx, s, "charge", idempotent.Terminal(errCard))
				}
			},
		},
		{name: "takeover, resolver", opts: []idempotent.Option{resolver}, set: crashed, do: charge},
	}
}

// Every store call of every scenario fails in every way; then the request comes again, at once and
// after the lease. What comes of it is the table of the documentation.
func TestEverySingleFailure(t *testing.T) {
	var table crashTable
	for _, sc := range scenarios() {
		for n, op := range callsOf(t, sc) {
			for _, f := range crashFaults {
				t.Run(fmt.Sprintf("%s, call %d %s", sc.name, n+1, f.name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						soon := begin(t, sc, n+1, f)
						soon.again(0)
						soon.again(leaseOfCrashes)
						soon.again(0)
						soon.end(2)
						later := begin(t, sc, n+1, f)
						later.again(leaseOfCrashes)
						later.again(0)
						later.end(2)
						table.add(sc.name, n+1, op, f.name, soon, later)
					})
				})
			}
		}
	}
	table.compare(t)
}

// Every store call of the recovery fails as well.
func TestEverySecondFailure(t *testing.T) {
	var schedules atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, sc := range scenarios() {
			for n := range callsOf(t, sc) {
				for _, f := range crashFaults {
					t.Run(fmt.Sprintf("%s, call %d %s", sc.name, n+1, f.name), func(t *testing.T) {
						inBubble(t, func(t *testing.T) { schedules.Add(failAgain(t, sc, n+1, f)) })
					})
				}
			}
		}
	})
	t.Log(schedules.Load(), "schedules with two failures")
}

// failAgain plays every second failure after one, and returns how many there are.
func failAgain(t *testing.T, sc scenario, n int, fault crashFault) (schedules int64) {
	for _, wait := range []time.Duration{0, leaseOfCrashes} {
		clean := begin(t, sc, n, fault)
		clean.again(wait)
		for m := range clean.last.store.Ops() {
			for _, second := range crashFaults {
				schedules++
				c := begin(t, sc, n, fault)
				c.against(wait, m+1, second)
				for _, wait := range []time.Duration{0, leaseOfCrashes, leaseOfCrashes} {
					c.again(wait)
				}
				c.end(3)
			}
		}
	}
	return schedules
}

// callsOf returns the store calls of a scenario without faults.
func callsOf(t *testing.T, sc scenario) (ops []calls.Op) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { ops = begin(t, sc, 0, noFault).last.store.Ops() })
	require.NotEmpty(t, ops, "%s asks the store", sc.name)
	return ops
}

// crash is a schedule of failures that is played.
type crash struct {
	t        *testing.T
	scenario scenario
	provider *provider
	first    *shop
	last     *shop // of the last delivery
	died     bool
	// got is what a caller got before, if there was anything.
	got      *receipt
	answered []string
}

// begin plays the first delivery, whose call number n (0 for none) meets a fault.
func begin(t *testing.T, sc scenario, n int, fault crashFault) *crash {
	t.Helper()
	c := &crash{t: t, scenario: sc, provider: new(provider)}
	c.first = newShopOn(t, memory.New(), nil, sc.opts...)
	sc.set(c.first)
	c.deliver(n, fault)
	return c
}

// again delivers the request after a while without a fault. At once it executes only if nobody may
// still be at it; after the lease it is always settled (I4).
func (c *crash) again(wait time.Duration) {
	c.t.Helper()
	time.Sleep(wait)
	err := c.deliver(0, noFault)
	switch {
	case err == nil:
	case c.scenario.final != nil:
		assert.ErrorIs(c.t, err, c.scenario.final)
	case errors.Is(err, idempotent.ErrInProgress):
		assert.Zero(c.t, wait, "I4: no key stays blocked longer than its lease")
	case errors.Is(err, idempotent.ErrUnknownOutcome):
		assert.True(c.t, c.provider.calls > 0 || c.died, "only what may have had an effect is unknown")
	default:
		var replayed *idempotent.ReplayedError
		assert.True(c.t, errors.As(err, &replayed) || errors.Is(err, errCard), "%v", err)
	}
}

// against is again with a fault of call number n.
func (c *crash) against(wait time.Duration, n int, fault crashFault) {
	c.t.Helper()
	time.Sleep(wait)
	_ = c.deliver(n, fault)
}

func (c *crash) deliver(n int, fault crashFault) error {
	c.t.Helper()
	s := c.first.sandbox(fault.rule(n), c.scenario.opts...)
	s.do = c.scenario.do(s, c.provider)
	c.last = s
	started := time.Now()
	out, err := s.handle(5)
	assert.LessOrEqual(c.t, time.Since(started), 12*time.Second)
	if n > 0 {
		assert.Positive(c.t, s.store.Fired(), "the fault was done")
	}
	assert.LessOrEqual(c.t, len(c.provider.charges), 1, "I1: one effect")
	for name, times := range c.provider.begun {
		assert.True(c.t, !c.scenario.once || times == 1, "I8: %s begins %d times", name, times)
	}

	c.died = c.died || fault.kills()
	e := s.event()
	answered := string(e.Outcome)
	if e.Settlement != "" {
		answered += ", " + string(e.Settlement)
	}
	switch {
	case fault.kills():
		answered = "–"
	case err == nil:
		if c.got != nil {
			assert.Equal(c.t, *c.got, out, "I2: what one caller got, all callers get")
		}
		c.got = &out
	}
	c.answered = append(c.answered, answered)
	return err
}

// end checks what holds after every schedule.
func (c *crash) end(most int) {
	c.t.Helper()
	assert.LessOrEqual(c.t, c.provider.calls, most, "I7: executions that the caller could have been spared")
	r := c.first.mustRecord()
	assert.NotEqual(c.t, store.StatusInProgress, r.Status, "the record is left in progress: %+v", r)
}
