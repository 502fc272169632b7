package protocol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// newUncertain is a shop whose first execution has been uncertain.
func newUncertain(t *testing.T, opts ...idempotent.Option) *shop {
	t.Helper()
	s := newShop(t, opts...).doing(uncertain)
	s.mustFail(5, errAny)
	return s
}

// ask is reconcile as it comes, with a resolver that answers this.
func (s *shop) ask(found finding) idempotent.Reconciled {
	s.t.Helper()
	return s.reconcile(answers(found, nil), idempotent.Reconciling{})
}

func uncertain(ctx context.Context, _ order) (receipt, error) {
	idempotent.DerivedKey(ctx, "charge")
	return receipt{}, idempotent.Uncertain(errors.New("no answer"))
}

type (
	finding  = resolution
	resolver = func(context.Context, idempotent.Execution) (finding, error)
)

// What a resolver may have found.
var charged7, untouched = idempotent.Executed(receipt{7, 5}), idempotent.Untouched[receipt]()

func answers(f finding, err error) resolver {
	return func(context.Context, idempotent.Execution) (finding, error) { return f, err }
}

func (s *shop) reconcile(r resolver, how idempotent.Reconciling) idempotent.Reconciled {
	s.t.Helper()
	done, err := s.handler.Reconcile(s.t.Context(), s.recordKey(), r, how)
	require.NoError(s.t, err)
	return done
}

func TestAResolverSettlesWhatNoClientRetries(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	before := s.mustRecord()
	require.Equal(t, store.StatusUnknown, before.Status)

	var asked idempotent.Execution
	done := s.reconcile(func(ctx context.Context, x idempotent.Execution) (finding, error) {
		asked = x
		require.Equal(t, x.DerivedKey("charge"), idempotent.DerivedKey(ctx, "charge"))
		held := s.mustRecord()
		require.Equal(t, store.StatusInProgress, held.Status, "it is asked under a claim")
		require.NotEqual(t, before.Owner, held.Owner)
		require.Equal(t, before.Attention, held.Attention, "the index finds it should the process die")
		require.Equal(t, held.Lease, held.AttentionAt)
		require.Equal(t, []string{"charge"}, held.Derived)
		s.mustFail(5, idempotent.ErrInProgress, "a client waits")
		return charged7, nil
	}, idempotent.Reconciling{})
	require.Equal(t, report.ReconcileCompleted, done.Outcome)
	require.Equal(t, "shop", asked.Operation)
	require.Equal(t, s.recordKey(), asked.RecordKey)
	require.True(t, asked.Recovered)
	require.Equal(t, before.CreatedAt, asked.CreatedAt)
	require.Equal(t, []report.NamedKey{{Name: "charge", Key: asked.DerivedKey("charge")}}, done.DerivedKeys)
	after := s.mustRecord()
	require.Empty(t, after.Attention)
	require.Zero(t, after.AttentionAt)
	require.Empty(t, after.Derived)
	require.Equal(t, "reconciliation", after.SettledBy)

	s.mustGet(5, receipt{7, 5})
	assertExecuted(t, s, 1)
}

var errAway = errors.New("the provider is away")

// A resolver that does not listen to its context keeps its claim for as long as it runs.
func TestNobodyIsAskedBesideAResolverThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newUncertain(t)
		before := s.mustRecord().Expiry
		ended := make(chan idempotent.Reconciled)
		go func() {
			done, err := s.handler.Reconcile(t.Context(), s.recordKey(),
				func(context.Context, idempotent.Execution) (finding, error) {
					time.Sleep(5 * time.Minute)
					return charged7, nil
				}, idempotent.Reconciling{})
			assert.NoError(t, err)
			ended <- done
		}()
		for range 29 {
			time.Sleep(10 * time.Second)
			require.False(t, s.mustRecord().Expiry.Before(before), "a renewal shortens nothing either")
			done := s.reconcile(func(context.Context, idempotent.Execution) (finding, error) {
				t.Error("it is asked twice at a time")
				return finding{}, nil
			}, idempotent.Reconciling{})
			require.Equal(t, report.ReconcileBusy, done.Outcome)
			require.False(t, done.Until.Before(time.Now()))
			s.mustFail(5, idempotent.ErrInProgress)
		}
		require.Equal(t, report.ReconcileCompleted, (<-ended).Outcome, "what it found late is true all the same")
		assertExecuted(t, s, 1)
	})
}

func TestBadQuestionsAreRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	s := newShop(t).doing(uncertain)
	type how = idempotent.Reconciling
	key, some := s.recordKey(), answers(finding{}, nil)
	for want, q := range map[string]struct {
		key string
		r   resolver
		how how
	}{
		`of operation "refund"`:                {"refund#x", some, how{}},
		`of operation ""`:                      {"", some, how{}},
		"the resolver is nil":                  {key, nil, how{}},
		"Timeout: 1ms is not from 1s to 14m0s": {key, some, how{Timeout: time.Millisecond}},
		"Timeout: 15m0s is not":                {key, some, how{Timeout: 15 * time.Minute}},
		"FirstPause: 1ms is less":              {key, some, how{FirstPause: time.Millisecond}},
		"LongestPause: 1s is less":             {key, some, how{FirstPause: time.Minute, LongestPause: time.Second}},
		"MaxTries: -1 is negative":             {key, some, how{MaxTries: -1}},
	} {
		_, err := s.handler.Reconcile(t.Context(), q.key, q.r, q.how)
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, new(*idempotent.ConfigError))
	}
}

func TestARecordThatNeedsNobodyIsLeftAlone(t *testing.T) {
	t.Parallel()
	never := func(context.Context, idempotent.Execution) (finding, error) {
		t.Error("there is nothing to ask")
		return finding{}, nil
	}
	s := newShop(t)
	require.Equal(t, report.ReconcileClosed, s.reconcile(never, idempotent.Reconciling{}).Outcome,
		"there is no record")
	s.assertGone("and none is made")
	s.mustHandle(5)
	before := s.mustRecord()
	require.Equal(t, report.ReconcileClosed, s.reconcile(never, idempotent.Reconciling{}).Outcome)
	require.Equal(t, before, s.mustRecord())
}

// newStopped is a shop whose handler has recorded one step of two, and has failed; with begun, the
// second one may have begun.
func newStopped(t *testing.T, begun bool) *shop {
	t.Helper()
	s := newShop(t).doing(func(ctx context.Context, o order) (receipt, error) {
		reserved, err := take(ctx, "reserve")
		if err != nil {
			return receipt{}, err
		}
		assert.Equal(t, "reserve", reserved)
		first, err := shopIn(ctx).executed.Load() == 1, errors.New("declined for now")
		if begun {
			err = idempotent.Uncertain(err)
		}
		if first {
			return receipt{}, failIn(ctx, "charge", err, once())
		}
		_, err = take(ctx, "charge", once())
		return receipt{7, o.Amount}, err
	})
	s.mustFail(5, errAny)
	return s
}

func TestAnOrderThatStoppedHalfWayIsAskedAboutAndStaysOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newStopped(t, false)
		how := idempotent.Reconciling{OnlyDue: true, MaxTries: 2}
		untouched := answers(untouched, nil)
		require.Equal(t, report.ReconcileClosed, s.reconcile(untouched, how).Outcome, "its client may still come")
		time.Sleep(store.ReleasedWait)
		done := s.reconcile(func(ctx context.Context, x idempotent.Execution) (finding, error) {
			held := s.mustRecord()
			require.Equal(t, store.ReasonAsked, held.Reason)
			s.mustFail(5, idempotent.ErrInProgress, "the resolver may undo what was done: nobody goes on meanwhile")
			_, err := idempotent.Step(ctx, "undo", func(context.Context) (string, error) { return "", nil })
			require.ErrorIs(t, err, idempotent.ErrStepRefused)
			return untouched(ctx, x)
		}, how)
		require.Equal(t, report.ReconcileReleased, done.Outcome)
		require.Equal(t, 1, done.Tries)
		require.True(t, done.Next.After(time.Now()))
		time.Sleep(time.Until(done.Next))
		require.Equal(t, report.ReconcileGivenUp, s.reconcile(untouched, how).Outcome,
			"nobody finishes it: a person has to know")
		s.mustGet(5, receipt{7, 5})
		require.Empty(t, s.mustRecord().Attention)
	})
}

func TestAStepThatMayHaveBegunIsReleasedWithTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newStopped(t, true)
		require.Equal(t, store.StatusUnknown, s.mustRecord().Status)
		require.Equal(t, store.StepStarted, s.mustRecord().Steps["charge"].Kind)
		done := s.ask(untouched)
		require.Equal(t, report.ReconcileReleased, done.Outcome)
		require.WithinDuration(t, time.Now().Add(store.ReleasedWait), done.Next, time.Second, "its client may come")
		held := s.mustRecord()
		require.Contains(t, held.Steps, "reserve")
		require.NotContains(t, held.Steps, "charge")
		require.Zero(t, held.Tries)
		s.mustGet(5, receipt{7, 5})
	})
}

// Steps that are recorded, and the memory of an unknown outcome, are kept for as long as without a
// question: an effect whose record has gone is repeated.
func TestARecordIsKeptForAsLongAsWithoutAQuestion(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*shop{
		"unknown":              newShop(t).doing(uncertain),
		"released with a step": newStopped(t, false),
	} {
		if name == "unknown" {
			s.mustFail(5, errAny)
		}
		long := s.change(func(r *store.Record) {
			r.Steps = nil // they stay
			// as a handler with a longer retention leaves it, or an operator
			r.Expiry = r.Expiry.Add(90 * 24 * time.Hour)
		})
		for _, f := range []finding{{}, untouched} {
			s.reconcile(answers(f, nil), idempotent.Reconciling{})
			require.False(t, s.mustRecord().Expiry.Before(long.Expiry), name)
		}
	}
}

func TestAHandlerThatIsTurnedOffSettlesNothing(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	_, err := s.sandbox(nil, idempotent.WithDisabled(true)).handler.Reconcile(t.Context(), s.recordKey(),
		answers(charged7, nil), idempotent.Reconciling{})
	require.ErrorContains(t, err, "WithDisabled: the protection is turned off")
	require.Equal(t, store.StatusUnknown, s.mustRecord().Status)
}

// A zero response is a typical mistake, and would be replayed for a day.
func TestAResponseThatIsNotStoredIsNoResult(t *testing.T) {
	t.Parallel()
	s := memory.New()
	h := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{}, idempotent.Uncertain(errors.New("no answer"))
	}, s, idempotent.WithOperation("charge"))
	req := events.APIGatewayV2HTTPRequest{
		RouteKey: "POST /charges", RawPath: "/charges",
		Headers: map[string]string{"idempotency-key": "k-1"},
	}
	req.RequestContext.HTTP.Method, req.RequestContext.HTTP.Path = "POST", "/charges"
	d, err := h.Describe(t.Context(), req)
	require.NoError(t, err)
	_, _ = h.Handle(t.Context(), req)
	ask := func(status int) idempotent.Reconciled {
		done, err := h.Reconcile(t.Context(), d.RecordKey,
			func(context.Context, idempotent.Execution) (idempotent.Resolution[events.APIGatewayV2HTTPResponse],
				error,
			) {
				return idempotent.Executed(events.APIGatewayV2HTTPResponse{
					StatusCode: status, Body: "{}",
					Cookies: []string{"session=1"},
				}), nil
			}, idempotent.Reconciling{})
		require.NoError(t, err)
		return done
	}
	for _, status := range []int{0, 429, 500, 503} {
		done := ask(status)
		require.Equal(t, report.ReconcileScheduled, done.Outcome, status)
		require.ErrorContains(t, done.Err, "not one that is stored")
	}
	require.Equal(t, report.ReconcileCompleted, ask(201).Outcome)
	out, err := h.Handle(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 201, out.StatusCode)
	require.Empty(t, out.Cookies, "cookies are not stored")
}

func TestAQuestionWhoseClaimWasTakenChangesNothing(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]finding{
		"nobody knows": {}, "executed": charged7, "untouched": untouched,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUncertain(t)
			var taken store.Record
			done := s.reconcile(func(context.Context, idempotent.Execution) (finding, error) {
				taken = s.change(func(r *store.Record) { r.Owner = "somebody else" })
				return found, nil
			}, idempotent.Reconciling{})
			require.Equal(t, report.ReconcileElsewhere, done.Outcome)
			require.Equal(t, taken.Owner, s.mustRecord().Owner)

			s = newUncertain(t)
			done = s.reconcile(func(context.Context, idempotent.Execution) (finding, error) {
				s.delete()
				return found, nil
			}, idempotent.Reconciling{})
			require.Equal(t, report.ReconcileElsewhere, done.Outcome)
			s.assertGone("what is deleted stays deleted")
		})
	}
}
