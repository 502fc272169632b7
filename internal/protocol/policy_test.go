package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// How an execution ends, for every way to end and all effects.
func TestEndingsByMarkAndEffects(t *testing.T) {
	overrun := untilItEnds(func(ctx context.Context) error { return fmt.Errorf("calling downstream: %w", ctx.Err()) })
	lost := func(ctx context.Context, _ order) (receipt, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(idempotent.ErrLeaseLost)
		return receipt{}, context.Cause(ctx)
	}
	foreign := fails(fmt.Errorf("calling downstream: %w", context.DeadlineExceeded))
	late := untilItEnds(func(context.Context) error { return errors.New("rpc error: code = DeadlineExceeded") })
	lateResult := untilItEnds(func(context.Context) error { return nil })
	skip := idempotent.WithStoreIf(func(receipt) bool { return false })
	unrepeatable := []idempotent.Option{unrepeatable()}
	unrepeatableSkip := append([]idempotent.Option{skip}, unrepeatable...)
	resolves := []idempotent.Option{resolves(idempotent.StillUnknown[receipt](), nil)}
	const released = store.Status("")

	for name, tc := range map[string]struct {
		do     handler
		opts   []idempotent.Option
		status store.Status
		reason string
	}{
		"error":               {fails(errCard), nil, released, ""},
		"error, unrepeatable": {fails(errCard), unrepeatable, store.StatusUnknown, "error"},
		"error, resolver":     {fails(errCard), resolves, released, ""},

		"NotExecuted, unrepeatable": {fails(idempotent.NotExecuted(errCard)), unrepeatable, released, ""},
		"Terminal":                  {fails(idempotent.Terminal(errCard)), nil, store.StatusCompleted, "terminal"},
		"Uncertain":                 {fails(idempotent.Uncertain(errCard)), nil, store.StatusUnknown, "uncertain"},
		"Uncertain, wrapped": {
			fails(fmt.Errorf("charge: %w", idempotent.Uncertain(errCard))), nil, store.StatusUnknown, "uncertain",
		},
		"the most cautious mark decides": {
			fails(idempotent.NotExecuted(idempotent.Uncertain(errCard))), nil, store.StatusUnknown, "uncertain",
		},

		"own deadline":                     {overrun, nil, released, ""},
		"own deadline, unrepeatable":       {overrun, unrepeatable, store.StatusUnknown, "interrupted"},
		"own deadline, resolver":           {overrun, resolves, store.StatusUnknown, "interrupted"},
		"lost, of another context":         {lost, nil, store.StatusInProgress, ""},
		"lost, unrepeatable":               {lost, unrepeatable, store.StatusInProgress, ""},
		"another's deadline, resolver":     {foreign, resolves, released, ""},
		"another's deadline, unrepeatable": {foreign, unrepeatable, store.StatusUnknown, "error"},

		"own deadline, in other words":               {late, nil, released, ""},
		"own deadline, in other words, resolver":     {late, resolves, store.StatusUnknown, "interrupted"},
		"own deadline, in other words, unrepeatable": {late, unrepeatable, store.StatusUnknown, "interrupted"},
		"own deadline, not stored, unrepeatable": {
			lateResult, unrepeatableSkip, store.StatusUnknown, "interrupted",
		},
		"own deadline, stored, unrepeatable": {lateResult, unrepeatable, store.StatusCompleted, ""},

		"panic":                    {panics("boom"), nil, released, ""},
		"panic, unrepeatable":      {panics("boom"), unrepeatable, store.StatusUnknown, "panic"},
		"panic, resolver":          {panics("boom"), resolves, store.StatusUnknown, "panic"},
		"not stored":               {fails(nil), []idempotent.Option{skip}, released, ""},
		"not stored, unrepeatable": {fails(nil), unrepeatableSkip, store.StatusUnknown, "not-stored"},
		"stored":                   {fails(nil), unrepeatable, store.StatusCompleted, ""},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t, tc.opts...).doing(tc.do)
			s.survive(5)
			r := s.mustLeave(tc.status, tc.reason)
			if r.Status == store.StatusUnknown {
				assert.GreaterOrEqual(t, time.Until(r.Expiry), protocol.DefaultUnknownRetention-time.Second)
				assert.Equal(t, tc.reason, s.event().Reason)
				time.Sleep(48 * time.Hour)
				s.sandbox(nil, tc.opts...).mustFail(5, idempotent.ErrUnknownOutcome, "it outlives the usual retention")
				assertExecuted(t, s, 1)
			}
		})
	}
}

// codedError is an error type that retry rules know by name.
type codedError struct{ code string }

func (e codedError) Error() string { return "failed with " + e.code }

func TestMarksNeverReachTheCaller(t *testing.T) {
	wrapped := fmt.Errorf("charge: %w", idempotent.Terminal(errCard))
	each(t, map[string]struct{ returned, want error }{
		"NotExecuted":                {idempotent.NotExecuted(errCard), errCard},
		"Terminal":                   {idempotent.Terminal(errCard), errCard},
		"Uncertain":                  {idempotent.Uncertain(errCard), errCard},
		"two marks":                  {idempotent.Terminal(idempotent.NotExecuted(errCard)), errCard},
		"the handler's own wrapping": {wrapped, wrapped},
	}, func(t *testing.T, tc struct{ returned, want error }) {
		s := newShop(t).doing(fails(tc.returned))
		s.mustReturn(5, tc.want)
		assert.Equal(t, tc.returned, s.event().Err, "the observer sees the mark")
	})
}

func TestMarkOfNilIsNil(t *testing.T) {
	t.Parallel()
	require.NoError(t, idempotent.NotExecuted(nil))
	require.NoError(t, idempotent.Terminal(nil))
	require.NoError(t, idempotent.Uncertain(nil))
}

func TestResolverSettlesWhatCrashedAndWhatIsUnknown(t *testing.T) {
	still := deliveryCase{err: idempotent.ErrUnknownOutcome, left: store.StatusUnknown, outcome: report.UnknownOutcome}
	panicked := deliveryCase{
		panics: "boom", left: store.StatusUnknown, reason: store.ReasonPanic, outcome: report.Panicked,
	}
	down := errors.New("provider down")
	for name, tc := range map[string]struct {
		answer resolution
		err    error
		of     deliveryCase
	}{
		"executed": {idempotent.Executed(receipt{77, 5}), nil, deliveryCase{
			got: receipt{77, 5}, left: store.StatusCompleted, outcome: report.Resolved,
		}},
		"untouched": {untouched, nil, deliveryCase{
			got: receipt{1, 5}, runs: 1, left: store.StatusCompleted, outcome: report.Executed,
		}},
		"still unknown": {idempotent.StillUnknown[receipt](), nil, still},
		"zero":          {resolution{}, nil, still},
		"failed":        {untouched, down, still},
		"panics":        {of: panicked},
	} {
		for reason, change := range map[string]func(r *store.Record){"crashed": crashed, "uncertain": unknown} {
			asked, of, in := 0, tc.of, (*shop)(nil)
			of.set = func(s *shop) { in = s }
			resolver := func(ctx context.Context, x idempotent.Execution, o order) (resolution, error) {
				asked++
				r := in.mustHold(store.StatusInProgress, map[string]string{"uncertain": "uncertain"}[reason])
				assert.True(t, r.Lease.After(time.Now()), "it runs under the lease of a takeover")
				assert.Equal(t, 2, x.Attempt)
				assert.True(t, x.Recovered)
				assert.Equal(t, x.DerivedKey("charge"), idempotent.DerivedKey(ctx, "charge"))
				assert.Equal(t, int64(5), o.Amount)
				if of.panics != nil {
					panic(of.panics)
				}
				return tc.answer, tc.err
			}
			of.opts, of.put = []idempotent.Option{idempotent.WithResolver(resolver)}, change
			if errors.Is(of.err, idempotent.ErrUnknownOutcome) {
				of.reason = reason // that was seen stays
			}
			of.then = func(s *shop, _ error) {
				if tc.err != nil {
					require.ErrorIs(s.t, s.event().Err, tc.err, "the observer learns why")
				}
				if of.left == store.StatusCompleted {
					s.mustGet(5, of.got)
				}
				assert.Equal(s.t, 1, asked, "a settled record is not asked about")
			}
			of.deliver(t, name+" "+reason)
		}
	}
}

// The lease ends while the handler runs on, someone refuses in its place, and then the result
// comes, and takes the attention away.
func TestCompletedResultAtTheVeryEndOfItsUnknownStateStillCounts(t *testing.T) {
	for _, works := range []time.Duration{15 * time.Second, 30 * time.Second} {
		deliveryCase{
			opts: []idempotent.Option{unrepeatable()}, rule: noRenewal,
			do: after(func(s *shop) {
				time.Sleep(works)
				s.sandbox(nil, unrepeatable()).mustFail(5, idempotent.ErrUnknownOutcome)
				require.NotEmpty(s.t, s.mustRecord().Attention)
			}, returns(receipt{1, 5})),
			runs: 1, left: store.StatusCompleted,
			then: func(s *shop, _ error) {
				r := s.mustRecord()
				assert.Empty(s.t, r.Attention)
				assert.True(s.t, r.AttentionAt.IsZero())
				s.mustGet(5, receipt{1, 5})
				assertExecuted(s.t, s, 1)
			},
		}.deliver(t, works.String())
	}
}

func TestCauseOfTheHandlersContextIsAnInterruption(t *testing.T) {
	each(t, map[string]func(context.Context) error{
		"cause": context.Cause,
		"error": context.Context.Err,
	}, func(t *testing.T, returned func(context.Context) error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newShop(t, unrepeatable()).doing(after(func(*shop) { cancel(errCard) }, untilItEnds(returned)))
		s.mustFailWith(ctx, errAny)
		assert.Equal(t, "interrupted", s.mustRecord().Reason)
	})
}

// Without a deadline, the lease of the resolver is renewed, until somebody else has it. Else the
// next delivery asks again.
func TestAResolverThatComesBackTooLateExecutesNothing(t *testing.T) {
	for name, tc := range map[string]deliveryCase{
		"at the deadline":          {left: store.StatusUnknown, reason: store.ReasonCrashed},
		"after its lease was lost": {within: forever, left: store.StatusInProgress},
	} {
		var in *shop
		tc.set = func(s *shop) { in = s }
		tc.opts = []idempotent.Option{asking(func(ctx context.Context) resolution {
			if tc.within == forever {
				in.change(func(r *store.Record) { r.Owner, r.Lease = "someone else", time.Now().Add(time.Hour) })
			}
			<-ctx.Done()
			assert.Equal(in.t, tc.within == forever, errors.Is(context.Cause(ctx), idempotent.ErrLeaseLost))
			return untouched
		})}
		tc.put, tc.err = crashed, idempotent.ErrUnknownOutcome
		tc.then = func(s *shop, _ error) {
			assert.Equal(s.t, tc.within == forever, s.mustRecord().Owner == "someone else")
		}
		tc.deliver(t, name)
	}
}
