package protocol_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// A client that retries must not look like an outcome that has become unknown again and again.
func TestAnObserverTellsWhoMadeARecordUnknownFromWhoMetIt(t *testing.T) {
	still, unsure := idempotent.StillUnknown[receipt](), fails(idempotent.Uncertain(errCard))
	asked := func(r resolution, err error) []idempotent.Option { return []idempotent.Option{resolves(r, err)} }
	type row struct {
		deliveryCase
		want []report.Settlement
	}
	each(t, map[string]row{
		"uncertain execution": {deliveryCase{do: unsure}, []report.Settlement{report.Unknown, "", ""}},
		"crash that is refused": {
			deliveryCase{opts: []idempotent.Option{unrepeatable()}, put: crashed},
			[]report.Settlement{report.Unknown, "", ""},
		},
		"crash that a resolver knows nothing of": {
			deliveryCase{opts: asked(still, nil), put: crashed},
			[]report.Settlement{report.Unknown, report.StillUnknown, report.StillUnknown},
		},
		"resolver that fails": {
			deliveryCase{opts: asked(still, errors.New("provider down")), put: unknown},
			[]report.Settlement{report.StillUnknown, report.StillUnknown},
		},
		"resolver that panics": {
			deliveryCase{
				opts: []idempotent.Option{asking(func(context.Context) resolution { panic("boom") })}, put: crashed,
			},
			[]report.Settlement{report.Unknown, report.StillUnknown},
		},
		"resolver that knows": {
			deliveryCase{opts: asked(idempotent.Executed(receipt{1, 5}), nil), put: unknown},
			[]report.Settlement{report.Completed, ""},
		},
		"execution after a resolver, uncertain again": {
			deliveryCase{opts: asked(untouched, nil), do: unsure}, []report.Settlement{report.Unknown, report.Unknown},
		},
	}, func(t *testing.T, tc row) {
		s := tc.shop(t)
		for i, want := range tc.want {
			s.survive(5)
			assert.Equal(t, want, s.event().Settlement, "delivery %d", i+1)
			time.Sleep(time.Minute)
		}
	})
}

// What is recorded of other effects says nothing about the one that the resolver was asked about.
func TestAResolverThatPanicsReleasesNoRecordWithSteps(t *testing.T) {
	each(t, map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit}, func(t *testing.T,
		fails func(),
	) {
		s := newShop(t, asking(func(context.Context) resolution { fails(); return resolution{} }))
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			_, err := take(ctx, "first")
			require.NoError(t, err)
			return receipt{}, idempotent.Uncertain(errCard)
		}
		s.mustFail(5, errCard)
		for range 2 {
			var group sync.WaitGroup
			group.Go(func() { s.survive(5) })
			group.Wait()
			assert.Equal(t, report.StillUnknown, s.event().Settlement)
			assert.Equal(t, store.StatusUnknown, s.mustRecord().Status)
		}
		assertExecuted(t, s, 1)
	})
}

// How long a record waits for somebody must not begin anew each time that a client retries.
func TestARecordWaitsSinceItBecameUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		answer := idempotent.StillUnknown[receipt]()
		s := newShop(t, asking(func(context.Context) resolution { return answer }))
		s.put(crashed)
		since := time.Now()
		for range 3 {
			s.mustFail(5, idempotent.ErrUnknownOutcome)
			assert.True(t, since.Equal(s.mustRecord().AttentionAt))
			time.Sleep(time.Hour)
		}
		answer, s.do = untouched, fails(idempotent.Uncertain(errCard))
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

	other.doing(func(ctx context.Context, _ order) (receipt, error) {
		idempotent.DerivedKey(ctx, "charge")
		panic("boom")
	})
	assert.Panics(t, func() { _, _ = other.handler.Handle(t.Context(), order{ID: "o-2"}) })
	assert.Len(t, other.event().DerivedKeys, 1, "they are wanted most where the execution died")
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
		other := s.sandbox(func(c calls.Call) calls.Fault {
			if c.Op == calls.Swap { // it has looked, and the first one is faster
				time.Sleep(time.Millisecond)
				_, err := s.handle(5)
				assert.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
			}
			return calls.Pass
		}, unrepeatable())
		other.mustFail(5, idempotent.ErrUnknownOutcome)
		assert.Equal(t, report.Unknown, s.event().Settlement)
		assert.Empty(t, other.event().Settlement)
	})
}
