package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/faultstore"
	"github.com/go-idempotent/idempotent/memory"
)

// provider is a downstream that takes keys: it counts what was asked of it and what it did.
type provider struct {
	calls   int
	charges map[string]int64 // by derived key
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

var allFaults = map[string]faultstore.Fault{
	"refused": faultstore.Refuse, "denied": faultstore.Deny, "request lost": faultstore.LoseRequest,
	"reply lost": faultstore.LoseReply, "never answered": faultstore.HangBefore,
	"applied, never answered": faultstore.HangAfter, "dies before": faultstore.DieBefore, "dies after": faultstore.DieAfter,
}

// scenario is a first delivery that makes a known number of store calls without faults.
type scenario struct {
	name  string
	calls int
	opts  []idempotent.Option
	set   func(s *shop)
	do    func(p *provider) func(context.Context, order) (receipt, error)
}

func scenarios() []scenario {
	charge := func(p *provider) func(context.Context, order) (receipt, error) { return p.charge }
	none := func(*shop) {}
	fails := func(mark func(error) error) func(p *provider) func(context.Context, order) (receipt, error) {
		return func(p *provider) func(context.Context, order) (receipt, error) {
			return func(ctx context.Context, o order) (receipt, error) {
				if p.calls > 0 {
					return p.charge(ctx, o)
				}
				p.calls++
				return receipt{}, mark(errCard)
			}
		}
	}
	itself := func(err error) error { return err }
	return []scenario{
		{"first execution", 2, nil, none, charge},
		{"takeover", 3, nil, func(s *shop) {
			s.put(func(r *idempotent.Record) { r.Lease = r.Lease.Add(-time.Hour) })
		}, charge},
		{"expired record", 2, nil, func(s *shop) {
			s.put(func(r *idempotent.Record) { completed(r, `{}`); r.Expiry = time.Now() })
		}, charge},
		{"handler error", 2, nil, none, fails(itself)},
		{"terminal error", 2, nil, none, fails(idempotent.Terminal)},
		{"refuse", 2, []idempotent.Option{idempotent.WithCrashPolicy(idempotent.Refuse)}, none, charge},
	}
}

// Every store call of every scenario fails in every way; then the request comes again, at once and after the lease, and
// in the second recovery every call fails as well.
func TestEverySingleFailureAndEverySecondOne(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name+" without faults", func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShopOn(t, memory.New(), nil, sc.opts...)
				sc.set(s)
				s.do = sc.do(new(provider))
				_, _ = s.handle(5)
				assert.Len(t, s.store.Ops(), sc.calls, "the calls below are all of them")
			})
		})
		for call := range sc.calls {
			for first, fault := range allFaults {
				t.Run(fmt.Sprintf("%s, call %d %s", sc.name, call+1, first), func(t *testing.T) {
					inBubble(t, func(t *testing.T) { crash(t, sc, call+1, fault, 0, faultstore.Pass) })
				})
				for again := range 3 {
					for second, secondFault := range allFaults {
						t.Run(fmt.Sprintf("%s, call %d %s, then call %d %s", sc.name, call+1, first, again+1, second), func(t *testing.T) {
							inBubble(t, func(t *testing.T) { crash(t, sc, call+1, fault, again+1, secondFault) })
						})
					}
				}
			}
		}
	}
}

// crash plays one schedule of failures and checks the invariants after it.
func crash(t *testing.T, sc scenario, call int, fault faultstore.Fault, again int, secondFault faultstore.Fault) {
	p := new(provider)
	s := newShopOn(t, memory.New(), faultstore.OnCall(call, fault), sc.opts...)
	sc.set(s)
	s.do = sc.do(p)
	fired := func(s *shop) { assert.Equal(t, 1, s.store.Fired(), "the fault was done") }
	started := time.Now()

	first, firstErr := s.handle(5)
	fired(s)
	assert.LessOrEqual(t, time.Since(started), 12*time.Second)
	died := fault == faultstore.DieBefore || fault == faultstore.DieAfter
	lease := 13 * time.Second // of the 10 s that Lambda gives, the margin, and rounding

	if again > 0 {
		time.Sleep(lease)
		second := s.sandbox(faultstore.OnCall(again, secondFault), sc.opts...)
		second.do = sc.do(p)
		out, err := second.handle(5)
		died = died || secondFault == faultstore.DieBefore || secondFault == faultstore.DieAfter
		if firstErr == nil && err == nil {
			assert.Equal(t, first, out, "I2")
		}
		if err == nil {
			first, firstErr = out, nil
		}
	}

	// A delivery at once executes only if nobody may still be at it, and one after the lease is always settled (I4).
	for _, wait := range []time.Duration{0, lease, lease} {
		time.Sleep(wait)
		next := s.sandbox(nil, sc.opts...)
		next.do = sc.do(p)
		out, err := next.handle(5)
		assert.LessOrEqual(t, len(p.charges), 1, "I1: one effect")
		switch {
		case err == nil:
			if firstErr == nil && !died {
				assert.Equal(t, first, out, "I2: what one caller got, all callers get")
			}
			first, firstErr = out, nil
		case errors.Is(err, idempotent.ErrInProgress):
			assert.Zero(t, wait, "I4: no key stays blocked longer than its lease")
		case errors.Is(err, idempotent.ErrUnknownOutcome):
			assert.True(t, p.calls > 0 || died, "only what may have had an effect is unknown")
		default:
			var replayed *idempotent.ReplayedError
			require.True(t, errors.As(err, &replayed) || errors.Is(err, errCard), "%v", err)
		}
	}
	assert.LessOrEqual(t, p.calls, 3, "I7: executions that the caller could have been spared")
	if r := s.mustRecord(); r.Status == idempotent.StatusInProgress {
		t.Errorf("the record is left in progress: %+v", r)
	}
}
