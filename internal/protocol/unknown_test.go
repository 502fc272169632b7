package protocol_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// A client that retries must not look like an outcome that has become unknown again and again.
func TestAnObserverTellsWhoMadeARecordUnknownFromWhoMetIt(t *testing.T) {
	uncertain := fails(idempotent.Uncertain(errCard))
	type row struct {
		opts []idempotent.Option
		do   func(ctx context.Context, o order) (receipt, error)
		put  func(r *store.Record) // what another process left, nil for nothing
		want []report.Settlement
	}
	each(t, map[string]row{
		"uncertain execution": {
			do: uncertain, want: []report.Settlement{report.Unknown, "", ""},
		},
		"crash that is refused": {
			opts: []idempotent.Option{unrepeatable()}, put: crashed,
			want: []report.Settlement{report.Unknown, "", ""},
		},
		"crash that a resolver knows nothing of": {
			opts: []idempotent.Option{resolves(idempotent.StillUnknown[receipt](), nil)}, put: crashed,
			want: []report.Settlement{report.Unknown, report.StillUnknown, report.StillUnknown},
		},
		"resolver that fails": {
			opts: []idempotent.Option{resolves(idempotent.StillUnknown[receipt](), errors.New("provider down"))},
			put:  unknown,
			want: []report.Settlement{report.StillUnknown, report.StillUnknown},
		},
		"resolver that knows": {
			opts: []idempotent.Option{resolves(idempotent.Executed(receipt{1, 5}), nil)},
			put:  unknown,
			want: []report.Settlement{report.Completed, ""},
		},
		"execution after a resolver, uncertain again": {
			opts: []idempotent.Option{resolves(idempotent.Untouched[receipt](), nil)}, do: uncertain,
			want: []report.Settlement{report.Unknown, report.Unknown},
		},
	}, func(t *testing.T, tc row) {
		s := newShop(t, tc.opts...).doing(tc.do)
		if tc.put != nil {
			s.put(tc.put)
		}
		for i, want := range tc.want {
			_, _ = s.handle(5)
			assert.Equal(t, want, s.event().Settlement, "delivery %d", i+1)
			time.Sleep(time.Minute)
		}
	})
}

func TestAResolverThatPanicsLeavesTheRecordUnknownAsItWas(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithResolver(
			func(context.Context, idempotent.Execution, order) (resolution, error) {
				panic("boom")
			}))
		s.put(crashed)
		for _, want := range []report.Settlement{report.Unknown, report.StillUnknown} {
			assert.Panics(t, func() { _, _ = s.handle(5) })
			assert.Equal(t, want, s.event().Settlement)
		}
	})
}

// What is recorded of other effects says nothing about the one that the resolver was asked about.
func TestAResolverThatPanicsReleasesNoRecordWithSteps(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t, idempotent.WithResolver(
				func(context.Context, idempotent.Execution, order) (resolution, error) {
					fails()
					return idempotent.StillUnknown[receipt](), nil
				}))
			s.do = func(ctx context.Context, _ order) (receipt, error) {
				_, err := take(ctx, "first")
				require.NoError(t, err)
				return receipt{}, idempotent.Uncertain(errCard)
			}
			s.mustFail(5, errCard)
			for range 2 {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					_, _ = s.handle(5)
				}()
				<-ended
				assert.Equal(t, report.StillUnknown, s.event().Settlement)
				assert.Equal(t, store.StatusUnknown, s.mustRecord().Status)
			}
			assertExecuted(t, s, 1)
		})
	}
}

func TestWhoMadeARecordUnknownKnowsItThoughTheReplyWasLost(t *testing.T) {
	each(t, map[string]storetest.Fault{
		"the caller repeats":      storetest.LoseReply,
		"applied, never answered": storetest.HangAfter,
	}, func(t *testing.T, fault storetest.Fault) {
		lost := false
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op != storetest.OpSwap || lost {
				return storetest.Pass
			}
			lost = true
			return fault
		}, unrepeatable())
		s.put(crashed)
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		require.True(t, lost)
		assert.Equal(t, report.Unknown, s.event().Settlement)
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		assert.Empty(t, s.event().Settlement, "the next one met it")
	})
}

// How long a record waits for somebody must not begin anew each time that a client retries.
func TestARecordWaitsSinceItBecameUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		answer := idempotent.StillUnknown[receipt]()
		s := newShop(t, idempotent.WithResolver(
			func(context.Context, idempotent.Execution, order) (resolution, error) { return answer, nil }))
		s.put(crashed)
		since := time.Now()
		for range 3 {
			s.mustFail(5, idempotent.ErrUnknownOutcome)
			assert.True(t, since.Equal(s.mustRecord().AttentionAt))
			time.Sleep(time.Hour)
		}
		answer = idempotent.Untouched[receipt]()
		s.do = fails(idempotent.Uncertain(errCard))
		s.mustFail(5, errCard)
		assert.True(t, s.mustRecord().AttentionAt.Equal(time.Now()), "another execution, another uncertainty")
	})
}

func TestAnObserverLearnsTheDerivedKeysThatWereHandedOut(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	keys := map[string]string{}
	s.do = func(ctx context.Context, _ order) (receipt, error) {
		for _, name := range []string{"refund", "charge", "charge"} {
			keys[name] = idempotent.DerivedKey(ctx, name)
		}
		return receipt{}, nil
	}
	s.mustHandle(5)
	assert.Equal(t, []report.NamedKey{{Name: "charge", Key: keys["charge"]}, {Name: "refund", Key: keys["refund"]}},
		s.event().DerivedKeys)
	s.mustHandle(5)
	assert.Empty(t, s.event().DerivedKeys, "a replay hands out none")

	other := newShop(t)
	other.mustHandle(5)
	assert.Nil(t, other.event().DerivedKeys, "nobody asked")
}

// The keys are wanted most where the execution died.
func TestAnObserverLearnsTheDerivedKeysOfAnExecutionThatPanicked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := ""
	s.do = func(ctx context.Context, _ order) (receipt, error) {
		key = idempotent.DerivedKey(ctx, "charge")
		panic("boom")
	}
	assert.Panics(t, func() { _, _ = s.handle(5) })
	assert.Equal(t, []report.NamedKey{{Name: "charge", Key: key}}, s.event().DerivedKeys)
}

// The keys are those of the record, whose fingerprint a handler without one of its own takes over.
func TestTheDerivedKeysOfATakeoverAreThoseOfTheRecord(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		beside := idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython, Prefix: "p",
			AllCallers: true,
		})
		s.handler = idempotent.Wrap(s.charge, s.store, beside, idempotent.WithKeyPath("id"),
			idempotent.WithObserver(s.events.see))
		about, err := s.handler.Describe(t.Context(), order{ID: "o-1", Amount: 5})
		require.NoError(t, err)
		key := ""
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			key = idempotent.DerivedKey(ctx, "charge")
			return receipt{}, nil
		}
		s.put(func(r *store.Record) {
			crashed(r)
			r.Key, r.Fingerprint = about.RecordKey, "of a payload validation"
		})
		s.mustHandle(5)
		assert.Equal(t, []report.NamedKey{{Name: "charge", Key: key}}, s.event().DerivedKeys)
	})
}

// Of two deliveries that find one crash at the same time, one makes it UNKNOWN and the other meets
// it so.
func TestTwoDeliveriesThatRefuseOneCrashAreToldApart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), nil, unrepeatable())
		s.put(crashed)
		other := s.sandbox(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSwap { // it has looked, and the first one is faster
				time.Sleep(time.Millisecond)
				_, err := s.handle(5)
				assert.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
			}
			return storetest.Pass
		}, unrepeatable())
		other.mustFail(5, idempotent.ErrUnknownOutcome)
		assert.Equal(t, report.Unknown, s.event().Settlement)
		assert.Empty(t, other.event().Settlement)
	})
}
