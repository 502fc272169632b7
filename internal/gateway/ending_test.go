package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var errDownstream = errors.New("downstream failed")

// doing is what a handler does.
type doing = func(ctx context.Context) (reply, error)

// noting is a handler that cannot return an error: it notes errors, and answers.
func noting(r reply, errs ...error) doing {
	return func(ctx context.Context) (reply, error) {
		for _, err := range errs {
			idempotent.Mark(ctx, err)
		}
		return r, nil
	}
}

// telling are the two ways in which a handler tells of an error beside its response.
func telling(r reply, err error) map[string]doing {
	return map[string]doing{
		"returned": func(context.Context) (reply, error) { return r, err }, "noted": noting(r, err),
	}
}

// errorsOfAHandler are an error of each mark, and one without a mark.
func errorsOfAHandler() []error {
	return []error{
		errDownstream, idempotent.NotExecuted(errDownstream), idempotent.Terminal(errDownstream),
		idempotent.Uncertain(errDownstream),
	}
}

// The status of a response and an error beside it decide what becomes of the record. The client
// gets the response.
func TestResponseAndErrorBesideItDecideTheRecord(t *testing.T) {
	unrepeatable := []idempotent.Option{idempotent.WithEffects(idempotent.Unrepeatable)}
	all, refusals := []int{201, 404, 429, 502}, []int{401, 403, 429}
	const again, replay, never = "again", "replay", "409 unknown-outcome" // what the next delivery gets
	everyDoor(t, func(t *testing.T, d door) {
		for name, c := range map[string]struct {
			statuses []int
			err      error
			opts     []idempotent.Option
			settled  report.Settlement
			reason   string
			next     string
		}{
			"not executed": {all, idempotent.NotExecuted(errDownstream), unrepeatable, report.Released, "", again},
			"final":        {all, idempotent.Terminal(errDownstream), nil, report.Completed, "", replay},
			"uncertain":    {all, idempotent.Uncertain(errDownstream), nil, report.Unknown, "uncertain", never},
			"uncertain, unrepeatable": {
				all, idempotent.Uncertain(errDownstream), unrepeatable, report.Unknown, "uncertain", never,
			},
			"unmarked":               {all, errDownstream, nil, report.Released, "", again},
			"unmarked, unrepeatable": {all, errDownstream, unrepeatable, report.Unknown, "error", never},
			"none":                   {[]int{201, 404}, nil, nil, report.Completed, "", replay},
			// A wrong password must not block the key for a month.
			"nothing happened":               {refusals, nil, nil, report.Released, "", again},
			"nothing happened, unrepeatable": {refusals, nil, unrepeatable, report.Released, "", again},
			"status that says nothing of the sort": {
				[]int{408, 409, 423, 425, 500, 503}, nil, unrepeatable, report.Unknown, "", never,
			},
		} {
			for _, status := range c.statuses {
				answer := reply{Status: status, Headers: map[string]string{"X": "1"}, Body: "sorry"}
				for how, do := range telling(answer, c.err) {
					if how == "returned" && c.err == errDownstream {
						continue // Lambda takes the error and drops the response
					}
					a := d.open(t, c.opts...)
					a.do = do
					first := a.send(ask{key: "k"})
					assert.Equal(t, report.Executed, a.event().Outcome)
					assert.Equal(t, c.settled, a.event().Settlement, "%s, %s: %d", name, how, status)
					if c.err != nil {
						require.ErrorIs(t, a.event().Err, errDownstream, "the observer gets the error")
					} else {
						require.NoError(t, a.event().Err)
					}
					if c.reason != "" {
						assert.Equal(t, c.reason, a.event().Reason)
					}
					executed := int64(1)
					switch c.next {
					case again:
						assert.Equal(t, answer, first, "it promises no replay")
						assert.Equal(t, answer, a.send(ask{key: "k"}))
						executed = 2
					case replay:
						assert.Equal(t, answer, first.unmarked())
						r := a.send(ask{key: "k"})
						assert.True(t, r.replayed(), "whatever its status")
						assert.Equal(t, answer, r.unmarked())
					default:
						assert.Equal(t, answer, first)
						a.gets(ask{key: "k"}, c.next)
					}
					a.assertExecuted(executed)
				}
			}
		}
	})
	for _, status := range []int{403, 500} { // what the user stores outweighs the status
		for _, d := range []door{doors()[0], doors()[5]} {
			a := d.open(t, idempotent.WithStoreIf(func(r responseV2) bool { return r.StatusCode == status }))
			a.answers(reply{Status: status})
			assert.False(t, a.send(ask{key: "k"}).replayed())
			assert.True(t, a.send(ask{key: "k"}).replayed())
		}
	}
}

func TestErrorWithoutAResponseIsAnError(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, err := range errorsOfAHandler() {
			for name, do := range telling(reply{}, err) {
				a := d.open(t)
				a.do = do
				_, err := a.try(ask{key: "k"})
				assert.Same(t, errDownstream, err, "%s: the mark is stripped", name)
			}
		}
		a := d.open(t)
		a.returns(reply{Status: 200, Body: "ignored by Lambda"}, errDownstream)
		for range 2 {
			_, err := a.try(ask{key: "k"})
			assert.Same(t, errDownstream, err)
			assert.Equal(t, report.Released, a.event().Settlement)
		}
		a.assertExecuted(2)
	})
}

// A handler answers as it likes after its commit. The answer that it committed counts, whatever it
// notes then; after a commit that failed, only what it calls final is stored. A client that may
// retry is told so: a handler need not translate the error of its commit.
func TestAnswerAfterACommit(t *testing.T) {
	committed := reply{Status: 201, Headers: map[string]string{"X": "1"}, Body: "charged"}
	own := reply{Status: 409, Headers: map[string]string{}, Body: "sold out"}
	everyDoor(t, func(t *testing.T, d door) {
		for _, err := range errorsOfAHandler() {
			a := d.committing(t, calls.Pass, committed, func(ctx context.Context, fault error) (reply, error) {
				require.NoError(t, fault)
				return noting(committed, err)(ctx)
			}, idempotent.WithEffects(idempotent.Unrepeatable))
			a.assertAnswers(committed, report.Completed, errDownstream)
		}
		fails := func(then func(ctx context.Context, fault error) (reply, error)) *api {
			return d.committing(t, calls.Deny, reply{Status: 201}, then)
		}
		a := fails(func(ctx context.Context, _ error) (reply, error) {
			return noting(own, idempotent.Terminal(errDownstream))(ctx)
		})
		a.assertAnswers(own, report.Completed, errDownstream)
		a = fails(func(ctx context.Context, fault error) (reply, error) { return noting(own, fault)(ctx) })
		a.assertAnswers(own, report.Released, idempotent.ErrCommitFailed)

		a = fails(func(_ context.Context, fault error) (reply, error) {
			return reply{}, fmt.Errorf("order: %w", fault)
		})
		r := a.send(ask{key: "k"})
		assertProblem(t, r, 503, "commit-failed")
		assert.NotEmpty(t, r.Headers["Retry-After"])
		e := a.event()
		assert.Equal(t, report.CommitFailed, e.Outcome)
		assert.Equal(t, report.Released, e.Settlement)
		assert.ErrorIs(t, e.Err, idempotent.ErrCommitFailed)
		assert.ErrorContains(t, e.Err, "order: ")
		assert.ErrorIs(t, e.Err, calls.ErrInjected)

		// The first client of a failure that is called final gets what every other one gets.
		a = fails(func(_ context.Context, fault error) (reply, error) { return reply{}, idempotent.Terminal(fault) })
		_, first := a.try(ask{key: "k"})
		require.ErrorIs(t, first, idempotent.ErrCommitFailed)
		assert.Equal(t, report.Completed, a.event().Settlement)
		_, again := a.try(ask{key: "k"})
		require.ErrorContains(t, again, first.Error())
		a.assertExecuted(1)
	})
}

// assertAnswers checks that the client gets an answer, which is replayed if it was completed, and
// the observer an error.
func (a *api) assertAnswers(want reply, settled report.Settlement, err error) {
	a.t.Helper()
	assert.Equal(a.t, want, a.send(ask{key: "k"}).unmarked())
	assert.Equal(a.t, report.Executed, a.event().Outcome)
	assert.Equal(a.t, settled, a.event().Settlement)
	require.ErrorIs(a.t, a.event().Err, err)
	r := a.send(ask{key: "k"})
	assert.Equal(a.t, settled == report.Completed, r.replayed())
	assert.Equal(a.t, want, r.unmarked())
}

// A handler that notes the error of its lost lease has crashed, as one that returns it.
func TestNotedLossOfTheLeaseReleasesNothing(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = noting(reply{Status: 500}, errors.New("first"), fmt.Errorf("step: %w", idempotent.ErrLeaseLost))
		assert.Equal(t, 500, a.send(ask{key: "k"}).Status)
		record, found := a.record()
		require.True(t, found)
		assert.Equal(t, store.StatusInProgress, record.Status)
		assert.Empty(t, record.Reason)
	})
}

// A router that is protected itself, around a handler that tells of an error: the response is the
// answer, and the error counts for both.
func TestResponseAndErrorOfAnInnerHTTPHandler(t *testing.T) {
	t.Parallel()
	for _, says := range []func(context.Context) (reply, error){
		noting(reply{Status: 502}, errDownstream),
		noting(reply{Status: 502}, idempotent.Uncertain(errDownstream)),
		telling(reply{Status: 502}, idempotent.Uncertain(errDownstream))["returned"],
	} {
		inner := idempotent.Wrap(func(ctx context.Context, _ requestV2) (responseV2, error) {
			r, err := says(ctx)
			return respond[responseV2](r), err
		}, memory.New())
		out, got := inner.Handle(t.Context(), ask{key: "k-1"}.v2())
		require.NoError(t, got)
		assert.Equal(t, 502, out.StatusCode)

		for name, route := range map[string]func(context.Context, requestV2) (responseV2, error){
			"direct": inner.Handle,
			"wrapped": func(ctx context.Context, in requestV2) (responseV2, error) {
				out, err := inner.Handle(ctx, in)
				return out, fmt.Errorf("inner: %w", err)
			},
		} {
			var event report.Delivery
			router := idempotent.Wrap(route, memory.New(), idempotent.WithEffects(idempotent.Unrepeatable),
				idempotent.WithObserver(func(_ context.Context, e report.Delivery) { event = e }))
			out, got = router.Handle(t.Context(), ask{key: "k-2-" + name}.v2())
			require.NoError(t, got, name)
			assert.Equal(t, 502, out.StatusCode)
			assert.Equal(t, report.Unknown, event.Settlement)
			require.ErrorIs(t, event.Err, errDownstream)
		}
	}
}

// What a handler would not store, a resolver cannot store either: the client would get a failure of
// the moment for as long as the retention.
func TestResolvedResponseIsStoredWithoutCookiesAndMarked(t *testing.T) {
	t.Parallel()
	found := responseV2{Body: "found", Cookies: []string{"a=1"}}
	var seen seenEvents
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{}, idempotent.Uncertain(errDownstream)
	}, memory.New(), idempotent.WithObserver(seen.see), idempotent.WithResolver(
		func(context.Context, idempotent.Execution, requestV2) (idempotent.Resolution[responseV2], error) {
			return idempotent.Executed(found), nil
		}))
	_, err := h.Handle(t.Context(), ask{key: "k"}.v2())
	require.ErrorIs(t, err, errDownstream)
	for _, found.StatusCode = range []int{0, 429, 500, 503} {
		r, err := h.Handle(t.Context(), ask{key: "k"}.v2())
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, r.StatusCode, found.StatusCode)
		last := seen.seen[len(seen.seen)-1]
		require.Equal(t, report.StillUnknown, last.Settlement)
		require.ErrorContains(t, last.Err, "resolver: its result is not one that is stored")
	}
	found.StatusCode = http.StatusPaymentRequired
	for range 2 {
		r, err := h.Handle(t.Context(), ask{key: "k"}.v2())
		require.NoError(t, err)
		assert.Equal(t, http.StatusPaymentRequired, r.StatusCode)
		assert.Equal(t, "found", r.Body)
		assert.Empty(t, r.Cookies)
		assert.True(t, read(r).replayed())
	}
}

// What a handler makes of the end of its context says nothing of the effect.
func TestAnInterruptedExecutionIsNoRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := doors()[0]
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = func(ctx context.Context) (reply, error) {
			<-ctx.Done()
			return reply{Status: 429}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.through(ctx, ask{key: "k"})
		require.NoError(t, err)
		assert.Equal(t, report.Unknown, a.event().Settlement)
		assert.Equal(t, "interrupted", a.event().Reason)
	})
}
