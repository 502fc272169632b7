package protocol_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// stuck is a handler whose first execution ends as it is told, and its store.
type stuck struct {
	*idempotent.Handler[string, string]

	store *memory.Store
	ran   int
	ends  func(ctx context.Context) (string, error)
	key   string
}

func newStuck(t *testing.T, ends func(ctx context.Context) (string, error), opts ...idempotent.Option) *stuck {
	t.Helper()
	s := &stuck{store: memory.New(), ends: ends}
	s.Handler = idempotent.Wrap(func(ctx context.Context, _ string) (string, error) {
		s.ran++
		return s.ends(ctx)
	}, s.store, append([]idempotent.Option{
		idempotent.WithOperation("charge"), idempotent.WithKey(func(id string) (string, error) { return id, nil }),
	}, opts...)...)
	d, err := s.Describe(t.Context(), "order")
	require.NoError(t, err)
	s.key = d.RecordKey
	return s
}

// newUncertain is one whose first execution has been uncertain.
func newUncertain(t *testing.T, opts ...idempotent.Option) *stuck {
	t.Helper()
	s := newStuck(t, uncertain, opts...)
	s.mustFail(t, errAny)
	return s
}

// mustAnswer is what the next request gets.
func (s *stuck) mustAnswer(t *testing.T, want string) {
	t.Helper()
	out, err := s.Handle(t.Context(), "order")
	require.NoError(t, err)
	require.Equal(t, want, out)
}

// mustFail is the error that the next request gets.
func (s *stuck) mustFail(t *testing.T, want error) {
	t.Helper()
	_, err := s.Handle(t.Context(), "order")
	requireFails(t, err, want)
}

// ask is reconcile as it comes, with a resolver that answers this.
func (s *stuck) ask(t *testing.T, found finding) idempotent.Reconciled {
	t.Helper()
	return s.reconcile(t, answers(found, nil), idempotent.Reconciling{})
}

// change changes the record behind the back of everybody.
func (s *stuck) change(t *testing.T, next func(r *store.Record)) store.Record {
	t.Helper()
	held := s.record(t)
	r := held
	next(&r)
	mustSwap(t, s.store, held, r)
	return r
}

func (s *stuck) record(t *testing.T) store.Record {
	t.Helper()
	r, found, err := s.store.Get(t.Context(), s.key)
	require.NoError(t, err)
	require.True(t, found)
	return r
}

func uncertain(ctx context.Context) (string, error) {
	idempotent.DerivedKey(ctx, "charge")
	return "", idempotent.Uncertain(errors.New("no answer"))
}

type (
	finding  = idempotent.Resolution[string]
	resolver = func(context.Context, idempotent.Execution) (finding, error)
)

func answers(f finding, err error) resolver {
	return func(context.Context, idempotent.Execution) (finding, error) { return f, err }
}

func (s *stuck) reconcile(t *testing.T, r resolver, how idempotent.Reconciling) idempotent.Reconciled {
	t.Helper()
	done, err := s.Reconcile(t.Context(), s.key, r, how)
	require.NoError(t, err)
	return done
}

func TestAResolverSettlesWhatNoClientRetries(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	before := s.record(t)
	require.Equal(t, store.StatusUnknown, before.Status)

	var asked idempotent.Execution
	done := s.reconcile(t, func(ctx context.Context, x idempotent.Execution) (finding, error) {
		asked = x
		require.Equal(t, x.DerivedKey("charge"), idempotent.DerivedKey(ctx, "charge"))
		held := s.record(t)
		require.Equal(t, store.StatusInProgress, held.Status, "it is asked under a claim")
		require.NotEqual(t, before.Owner, held.Owner)
		require.Equal(t, before.Attention, held.Attention, "the index finds it should the process die")
		require.Equal(t, held.Lease, held.AttentionAt)
		require.Equal(t, []string{"charge"}, held.Derived)
		_, err := s.Handle(t.Context(), "order")
		require.ErrorIs(t, err, idempotent.ErrInProgress, "a client waits")
		return idempotent.Executed("ch_1"), nil
	}, idempotent.Reconciling{})
	require.Equal(t, report.ReconcileCompleted, done.Outcome)
	require.Equal(t, "charge", asked.Operation)
	require.Equal(t, s.key, asked.RecordKey)
	require.True(t, asked.Recovered)
	require.Equal(t, before.CreatedAt, asked.CreatedAt)
	require.Equal(t, []report.NamedKey{{Name: "charge", Key: asked.DerivedKey("charge")}}, done.DerivedKeys)
	after := s.record(t)
	require.Empty(t, after.Attention)
	require.Zero(t, after.AttentionAt)
	require.Empty(t, after.Derived)
	require.Equal(t, "reconciliation", after.SettledBy)

	s.mustAnswer(t, "ch_1")
	require.Equal(t, 1, s.ran)
}

func TestWhatWasNotExecutedExecutesAtTheNextRequest(t *testing.T) {
	t.Parallel()
	s := newUncertain(t, unrepeatable())
	done := s.ask(t, idempotent.Untouched[string]())
	require.Equal(t, report.ReconcileReleased, done.Outcome)
	require.Zero(t, done.Next)
	after := s.record(t)
	require.Equal(t, store.ReasonReleased, after.Reason)
	require.Empty(t, after.Attention)
	s.ends = func(context.Context) (string, error) { return "done", nil }
	s.mustAnswer(t, "done")
}

var errAway = errors.New("the provider is away")

func TestAQuestionNeverShortensTheTimeThatARecordHas(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	before := s.record(t).Expiry
	s.reconcile(t, func(context.Context, idempotent.Execution) (finding, error) {
		require.False(t, s.record(t).Expiry.Before(before), "should the process die, the record stays for as long")
		return finding{}, nil
	}, idempotent.Reconciling{})
	require.False(t, s.record(t).Expiry.Before(before))
}

// A resolver that does not listen to its context keeps its claim for as long as it runs.
func TestNobodyIsAskedBesideAResolverThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newUncertain(t)
		before := s.record(t).Expiry
		ended := make(chan idempotent.Reconciled)
		go func() {
			done, err := s.Reconcile(t.Context(), s.key, func(context.Context, idempotent.Execution) (finding, error) {
				time.Sleep(5 * time.Minute)
				return idempotent.Executed("ch_1"), nil
			}, idempotent.Reconciling{})
			assert.NoError(t, err)
			ended <- done
		}()
		for range 29 {
			time.Sleep(10 * time.Second)
			require.False(t, s.record(t).Expiry.Before(before), "a renewal shortens nothing either")
			done := s.reconcile(t, func(context.Context, idempotent.Execution) (finding, error) {
				t.Error("it is asked twice at a time")
				return finding{}, nil
			}, idempotent.Reconciling{})
			require.Equal(t, report.ReconcileBusy, done.Outcome)
			require.False(t, done.Until.Before(time.Now()))
			s.mustFail(t, idempotent.ErrInProgress)
		}
		require.Equal(t, report.ReconcileCompleted, (<-ended).Outcome, "what it found late is true all the same")
		require.Equal(t, 1, s.ran)
	})
}

func TestBadQuestionsAreRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	s := newStuck(t, uncertain)
	for want, q := range map[string]struct {
		key string
		r   resolver
		how idempotent.Reconciling
	}{
		`of operation "refund"`: {"refund#x", answers(finding{}, nil), idempotent.Reconciling{}},
		`of operation ""`:       {"", answers(finding{}, nil), idempotent.Reconciling{}},
		"the resolver is nil":   {s.key, nil, idempotent.Reconciling{}},
		"Timeout: 1ms is not from 1s to 14m0s": {
			s.key, answers(finding{}, nil),
			idempotent.Reconciling{Timeout: time.Millisecond},
		},
		"Timeout: 15m0s is not": {
			s.key, answers(finding{}, nil),
			idempotent.Reconciling{Timeout: 15 * time.Minute},
		},
		"FirstPause: 1ms is less": {
			s.key, answers(finding{}, nil),
			idempotent.Reconciling{FirstPause: time.Millisecond},
		},
		"LongestPause: 1s is less": {
			s.key, answers(finding{}, nil),
			idempotent.Reconciling{FirstPause: time.Minute, LongestPause: time.Second},
		},
		"MaxTries: -1 is negative": {s.key, answers(finding{}, nil), idempotent.Reconciling{MaxTries: -1}},
	} {
		_, err := s.Reconcile(t.Context(), q.key, q.r, q.how)
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
	s := newStuck(t, func(context.Context) (string, error) { return "done", nil })
	require.Equal(t, report.ReconcileClosed, s.reconcile(t, never, idempotent.Reconciling{}).Outcome,
		"there is no record")
	_, found, err := s.store.Get(t.Context(), s.key)
	require.NoError(t, err)
	require.False(t, found, "and none is made")
	_, err = s.Handle(t.Context(), "order")
	require.NoError(t, err)
	before := s.record(t)
	require.Equal(t, report.ReconcileClosed, s.reconcile(t, never, idempotent.Reconciling{}).Outcome)
	require.Equal(t, before, s.record(t))
}

// stopped is a handler that has recorded one step of two, and has failed; with begun, the second
// one may have begun.
func newStopped(t *testing.T, begun bool) *stuck {
	t.Helper()
	s := newStuck(t, nil)
	s.ends = func(ctx context.Context) (string, error) {
		reserved, err := idempotent.Step(ctx, "reserve", func(context.Context) (string, error) { return "r1", nil })
		if err != nil {
			return "", err
		}
		return idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
			switch {
			case s.ran > 1:
				return reserved + ", ch_1", nil
			case begun:
				return "", idempotent.Uncertain(errors.New("no answer"))
			default:
				return "", errors.New("declined for now")
			}
		}, idempotent.AtMostOnce[string](nil))
	}
	s.mustFail(t, errAny)
	return s
}

func TestAnOrderThatStoppedHalfWayIsAskedAboutAndStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStopped(t, false)
		how := idempotent.Reconciling{OnlyDue: true, MaxTries: 2}
		untouched := answers(idempotent.Untouched[string](), nil)
		require.Equal(t, report.ReconcileClosed, s.reconcile(t, untouched, how).Outcome, "its client may still come")
		time.Sleep(store.ReleasedWait)
		done := s.reconcile(t, func(ctx context.Context, x idempotent.Execution) (finding, error) {
			held := s.record(t)
			require.Equal(t, store.ReasonAsked, held.Reason)
			_, err := s.Handle(t.Context(), "order")
			require.ErrorIs(t, err, idempotent.ErrInProgress,
				"the resolver may undo what was done: nobody goes on meanwhile")
			_, err = idempotent.Step(ctx, "undo", func(context.Context) (string, error) { return "", nil })
			require.ErrorIs(t, err, idempotent.ErrStepRefused)
			return untouched(ctx, x)
		}, how)
		require.Equal(t, report.ReconcileReleased, done.Outcome)
		require.Equal(t, 1, done.Tries)
		require.True(t, done.Next.After(time.Now()))
		time.Sleep(time.Until(done.Next))
		require.Equal(t, report.ReconcileGivenUp, s.reconcile(t, untouched, how).Outcome,
			"nobody finishes it: a person has to know")
		s.mustAnswer(t, "r1, ch_1")
		require.Empty(t, s.record(t).Attention)
	})
}

func TestAStepThatMayHaveBegunIsReleasedWithTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStopped(t, true)
		require.Equal(t, store.StatusUnknown, s.record(t).Status)
		require.Equal(t, store.StepStarted, s.record(t).Steps["charge"].Kind)
		done := s.ask(t, idempotent.Untouched[string]())
		require.Equal(t, report.ReconcileReleased, done.Outcome)
		require.WithinDuration(t, time.Now().Add(store.ReleasedWait), done.Next, time.Second, "its client may come")
		held := s.record(t)
		require.Contains(t, held.Steps, "reserve")
		require.NotContains(t, held.Steps, "charge")
		require.Zero(t, held.Tries)
		s.mustAnswer(t, "r1, ch_1")
	})
}

// Steps that are recorded, and the memory of an unknown outcome, are kept for as long as without a
// question: an effect whose record has gone is repeated.
func TestARecordIsKeptForAsLongAsWithoutAQuestion(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*stuck{
		"unknown":              newStuck(t, uncertain),
		"released with a step": newStopped(t, false),
	} {
		if name == "unknown" {
			s.mustFail(t, errAny)
		}
		long := s.change(t, func(r *store.Record) {
			r.Steps = nil // they stay
			// as a handler with a longer retention leaves it, or an operator
			r.Expiry = r.Expiry.Add(90 * 24 * time.Hour)
		})
		for _, f := range []finding{{}, idempotent.Untouched[string]()} {
			s.reconcile(t, answers(f, nil), idempotent.Reconciling{})
			require.False(t, s.record(t).Expiry.Before(long.Expiry), name)
		}
	}
}

func TestAHandlerThatIsTurnedOffSettlesNothing(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	off := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil }, s.store,
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(id string) (string, error) { return id, nil }), idempotent.WithDisabled(true))
	_, err := off.Reconcile(t.Context(), s.key, answers(idempotent.Executed("ch_1"), nil), idempotent.Reconciling{})
	require.ErrorContains(t, err, "WithDisabled: the protection is turned off")
	require.Equal(t, store.StatusUnknown, s.record(t).Status)
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
		"nobody knows": {}, "executed": idempotent.Executed("ch_1"), "untouched": idempotent.Untouched[string](),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUncertain(t)
			var taken store.Record
			done := s.reconcile(t, func(context.Context, idempotent.Execution) (finding, error) {
				taken = s.change(t, func(r *store.Record) { r.Owner = "somebody else" })
				return found, nil
			}, idempotent.Reconciling{})
			require.Equal(t, report.ReconcileElsewhere, done.Outcome)
			require.Equal(t, taken.Owner, s.record(t).Owner)

			s = newUncertain(t)
			done = s.reconcile(t, func(context.Context, idempotent.Execution) (finding, error) {
				_, err := s.store.Delete(t.Context(), s.record(t))
				require.NoError(t, err)
				return found, nil
			}, idempotent.Reconciling{})
			require.Equal(t, report.ReconcileElsewhere, done.Outcome)
			_, there, err := s.store.Get(t.Context(), s.key)
			require.NoError(t, err)
			require.False(t, there, "what is deleted stays deleted")
		})
	}
}
