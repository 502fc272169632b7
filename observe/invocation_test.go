package observe_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/store"
)

const secretKey, secretPayload = "key-4711", "payload-4242"

type event struct{ Key, Payload string }

// function is a wrapped handler that EMF observes.
type function struct {
	out     writes
	inner   store.Store
	handler *idempotent.Handler[event, any]
	do      func(ctx context.Context) (any, error)
}

func newFunction(inner store.Store, rule func(calls.Call) calls.Fault, opts ...idempotent.Option) *function {
	f := &function{inner: inner}
	f.do = func(context.Context) (any, error) { return "result of " + secretPayload, nil }
	f.handler = idempotent.Wrap(func(ctx context.Context, _ event) (any, error) { return f.do(ctx) },
		calls.NewFaulty(inner, rule), append([]idempotent.Option{
			idempotent.WithOperation("charge"),
			idempotent.WithKey(func(e event) (string, error) { return e.Key, nil }),
			idempotent.WithFingerprint(func(e event) (any, error) { return e.Payload, nil }),
			idempotent.WithObserver(observe.EMF(&f.out)),
		}, opts...)...)
	return f
}

// deliver invokes the function with 10 s until its deadline, and gives the line about it.
func (f *function) deliver(t *testing.T, e event) document {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	before := len(f.out.calls)
	func() {
		defer func() { _ = recover() }()
		_, _ = f.handler.Handle(ctx, e)
	}()
	require.Len(t, f.out.calls, before+1, "one line for one invocation")
	line := f.out.calls[before]
	for _, secret := range []string{secretKey, secretPayload} {
		assert.NotContains(t, string(line), secret)
	}
	return read(t, line)
}

// onStatus does fault to the writes of records of a status.
func onStatus(status store.Status, fault calls.Fault) func(calls.Call) calls.Fault {
	return func(c calls.Call) calls.Fault {
		if c.Op == calls.Swap && c.Next.Status == status {
			return fault
		}
		return calls.Pass
	}
}

// throttles is a store of which a key gets too many requests.
type throttles struct{ store.Store }

func (throttles) Claim(context.Context, store.Record, time.Time) (store.Record, bool, error) {
	return store.Record{}, false, &store.Error{
		Op: "claim", Kind: store.FailureThrottled, Throttle: store.ThrottledKey, NotApplied: true,
		Err: errors.New("slow down"),
	}
}

// What really happens to a function, where it takes more than one part of a report to count it.
func TestInvocationsAndTheirMetrics(t *testing.T) {
	t.Parallel()
	good := event{secretKey, secretPayload}
	dying := func(f *function) { f.do = func(context.Context) (any, error) { panic(secretPayload) } }
	for name, tc := range map[string]struct {
		inner  store.Store // a new one if it is nil
		rule   func(calls.Call) calls.Fault
		opts   []idempotent.Option
		first  func(f *function) // prepares the first delivery
		second func(f *function) // prepares a second one, after an hour
		want   []string
	}{
		"crash": {
			rule: calls.OnOp(calls.Delete, calls.Deny), first: dying,
			want: []string{"Panicked", "CompletionFailed", "StoreError"},
		},
		"after a crash, failing again": {
			rule: calls.OnCall(2, calls.Deny), first: dying, second: func(*function) {},
			want: []string{"Takeover", "Panicked", "FailedRetry"},
		},
		"resolved after a crash": {
			rule: onStatus(store.StatusUnknown, calls.Deny), first: dying, second: func(*function) {},
			opts: []idempotent.Option{idempotent.WithResolver(
				func(context.Context, idempotent.Execution, event) (idempotent.Resolution[any], error) {
					return idempotent.Executed[any](secretPayload), nil
				})},
			want: []string{"Takeover", "Resolved", "Created"},
		},
		"completion lost": {
			rule: onStatus(store.StatusCompleted, calls.HangBefore),
			want: []string{"BecameUnknown", "CompletionFailed", "StoreError"},
		},
		"lease lost": {
			first: func(f *function) {
				f.do = func(ctx context.Context) (any, error) {
					x, _ := idempotent.FromContext(ctx)
					held, _, err := f.inner.Get(ctx, x.RecordKey)
					theirs := held
					theirs.Owner, theirs.Fingerprint = "thief", "1:other"
					_, swapped, swapErr := f.inner.Swap(ctx, held, theirs)
					assert.True(t, swapped)
					return 1, errors.Join(err, swapErr)
				}
			},
			want: []string{"LeaseLost"},
		},
		"hot key": {inner: throttles{memory.New()}, want: []string{"StoreError", "ThrottledKey"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if tc.inner == nil {
					tc.inner = memory.New()
				}
				f := newFunction(tc.inner, tc.rule, tc.opts...)
				if tc.first != nil {
					tc.first(f)
				}
				if tc.second != nil {
					f.deliver(t, good)
					time.Sleep(time.Hour)
					tc.second(f)
				}
				assert.ElementsMatch(t, tc.want, f.deliver(t, good).counts())
			})
		})
	}
}

func TestLatenciesAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFunction(memory.New(), func(calls.Call) calls.Fault { return calls.Slow })
		f.do = func(context.Context) (any, error) {
			time.Sleep(3 * time.Second)
			return "done", nil
		}
		d := f.deliver(t, event{secretKey, secretPayload})
		slow := float64(calls.SlowFor.Milliseconds())
		assert.InDelta(t, slow, d.members["ClaimLatency"], 0)
		assert.InDelta(t, slow, d.members["CompletionLatency"], 0)
		assert.InDelta(t, 3000, d.members["HandlerLatency"], 0)
		assert.InDelta(t, len(`"done"`), d.members["ResultBytes"], 0)
		assert.True(t, strings.HasPrefix(d.members["recordKey"].(string), "charge#"))
	})
}
