package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// marking is a handler that cannot return an error: it notes errors, and answers.
func marking(r reply, errs ...error) func(context.Context) (reply, error) {
	return func(ctx context.Context) (reply, error) {
		for _, err := range errs {
			idempotent.Mark(ctx, err)
		}
		return r, nil
	}
}

// says are the two ways in which a handler tells of an error beside its response.
func says(r reply) map[string]func(err error) func(context.Context) (reply, error) {
	return map[string]func(err error) func(context.Context) (reply, error){
		"returned": func(err error) func(context.Context) (reply, error) {
			return func(context.Context) (reply, error) { return r, err }
		},
		"noted": func(err error) func(context.Context) (reply, error) { return marking(r, err) },
	}
}

func TestMarkBesideAResponseDecidesTheRecordAndTheClientGetsTheResponse(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, status := range []int{201, 404, 429, 502} {
			answer := reply{Status: status, Headers: map[string]string{"X": "1"}, Body: "sorry"}
			for name, says := range says(answer) {
				a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
				a.do = says(idempotent.NotExecuted(errDownstream))
				assert.Equal(t, answer, a.send(ask{key: "k"}), name)
				require.ErrorIs(t, a.event().Err, errDownstream, "the observer gets the error")
				assert.Equal(t, report.Executed, a.event().Outcome)
				assert.Equal(t, report.Released, a.event().Settlement, "under either policy")
				assert.Equal(t, answer, a.send(ask{key: "k"}), name)
				a.assertExecuted(2)

				a = d.open(t)
				a.do = says(idempotent.Terminal(errDownstream))
				assert.Equal(t, answer, a.send(ask{key: "k"}).unmarked(), name)
				require.ErrorIs(t, a.event().Err, errDownstream)
				assert.Equal(t, report.Completed, a.event().Settlement)
				r := a.send(ask{key: "k"})
				assert.True(t, r.replayed(), "whatever its status")
				assert.Equal(t, answer, r.unmarked(), name)
				a.assertExecuted(1)

				a = d.open(t)
				a.do = says(idempotent.Uncertain(errDownstream))
				assert.Equal(t, answer, a.send(ask{key: "k"}), name)
				require.ErrorIs(t, a.event().Err, errDownstream)
				assert.Equal(t, "uncertain", a.event().Reason)
				record, _ := a.record()
				assert.Equal(t, store.StatusUnknown, record.Status)
				a.gets(ask{key: "k"}, "409 unknown-outcome")
				a.assertExecuted(1)
			}
		}
	})
}

func TestNotedErrorWithoutAMarkFailsTheExecutionAndItsResponseIsSent(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, status := range []int{201, 429, 502} {
			answer := reply{Status: status, Body: "sorry"}
			a := d.open(t)
			a.do = marking(answer, errDownstream)
			assert.Equal(t, answer, a.send(ask{key: "k"}), "it is sent, and promises no replay")
			assert.Equal(t, report.Released, a.event().Settlement)
			require.ErrorIs(t, a.event().Err, errDownstream)
			_, found := a.record()
			assert.False(t, found, "it is not stored")
			assert.False(t, a.send(ask{key: "k"}).replayed())
			a.assertExecuted(2)

			a = d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
			a.do = marking(answer, errDownstream)
			assert.Equal(t, answer, a.send(ask{key: "k"}))
			assert.Equal(t, "error", a.event().Reason, "the policy decides")
			a.gets(ask{key: "k"}, "409 unknown-outcome")
			a.assertExecuted(1)
		}
	})
}

func TestErrorWithoutAResponseIsAnError(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, err := range []error{
			errDownstream, idempotent.NotExecuted(errDownstream), idempotent.Terminal(errDownstream),
			idempotent.Uncertain(errDownstream),
		} {
			for name, says := range says(reply{}) {
				a := d.open(t)
				a.do = says(err)
				_, err := a.try(ask{key: "k"})
				assert.Same(t, errDownstream, err, "%s: the mark is stripped", name)
			}
		}
	})
}

func TestNilIsNoError(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		a.do = marking(reply{Status: 201}, nil)
		a.send(ask{key: "k"})
		assert.Equal(t, report.Completed, a.event().Settlement)
		assert.NoError(t, a.event().Err)
		assert.True(t, a.send(ask{key: "k"}).replayed())
	})
	idempotent.Mark(t.Context(), nil)
}

func TestUnprotectedHandlerNotesNothing(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, tc := range []struct {
			q    ask
			opts []idempotent.Option
			want report.Outcome
		}{
			{ask{method: "GET"}, nil, report.Unprotected},
			{ask{method: "PUT"}, nil, report.Unprotected},
			{ask{key: "k"}, []idempotent.Option{exempting("/charges")}, report.Unprotected},
			{ask{key: "k"}, []idempotent.Option{idempotent.WithDisabled(true)}, report.Disabled},
		} {
			a := d.open(t, tc.opts...)
			a.do = marking(reply{Status: 502}, idempotent.Uncertain(errDownstream))
			assert.Equal(t, reply{Status: 502}, a.send(tc.q))
			assert.Equal(t, tc.want, a.event().Outcome)
			assert.NoError(t, a.event().Err)
			a.assertNoIO()
		}
	})
	idempotent.Mark(idempotent.Unprotected(t.Context()), errDownstream) // a job
}

// A handler that notes the error of its lost lease has crashed, as one that returns it.
func TestNotedLossOfTheLeaseReleasesNothing(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = marking(reply{Status: 500}, errors.New("first"), fmt.Errorf("step: %w", idempotent.ErrLeaseLost))
		assert.Equal(t, 500, a.send(ask{key: "k"}).Status)
		record, found := a.record()
		require.True(t, found)
		assert.Equal(t, store.StatusInProgress, record.Status)
		assert.Empty(t, record.Reason)
	})
}

// The committed answer counts, whatever the handler noted then. An error stands beside it.
func TestErrorThatIsNotedAfterACommitStandsBesideTheAnswer(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, err := range []error{
			errDownstream, idempotent.NotExecuted(errDownstream), idempotent.Terminal(errDownstream),
			idempotent.Uncertain(errDownstream),
		} {
			committed := reply{Status: 201, Headers: map[string]string{"X": "1"}, Body: "charged"}
			a := d.committing(t, nil, committed, func(ctx context.Context, fault error) (reply, error) {
				require.NoError(t, fault)
				idempotent.Mark(ctx, err)
				return committed, nil
			}, idempotent.WithEffects(idempotent.Unrepeatable))
			assert.Equal(t, committed, a.send(ask{key: "k"}).unmarked())
			e := a.event()
			assert.Equal(t, report.Executed, e.Outcome)
			assert.Equal(t, report.Completed, e.Settlement)
			require.ErrorIs(t, e.Err, errDownstream)
			r := a.send(ask{key: "k"})
			assert.True(t, r.replayed())
			assert.Equal(t, committed, r.unmarked())
			a.assertExecuted(1)
		}
	})
}

// TestAFinalAnswerAfterAFailedCommitIsStored: what a handler calls final is stored, also if its
// commit has failed.
func TestAFinalAnswerAfterAFailedCommitIsStored(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		final := reply{Status: 409, Headers: map[string]string{}, Body: "sold out"}
		a := d.committing(t, errRegister, reply{Status: 201}, func(ctx context.Context, fault error) (reply, error) {
			require.Error(t, fault)
			idempotent.Mark(ctx, idempotent.Terminal(errDownstream))
			return final, nil
		})
		assert.Equal(t, final, a.send(ask{key: "k"}).unmarked())
		assert.Equal(t, report.Completed, a.event().Settlement)
		r := a.send(ask{key: "k"})
		assert.True(t, r.replayed())
		assert.Equal(t, final, r.unmarked())
		a.assertExecuted(1)
	})
}

// A handler that notes that its commit has failed answers as it likes; nothing of it is stored.
func TestNotedFailureOfACommitIsAnsweredByTheHandler(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		own := reply{Status: 500, Body: "later"}
		a := d.committing(t, errRegister, reply{Status: 201}, func(ctx context.Context, fault error) (reply, error) {
			require.Error(t, fault)
			idempotent.Mark(ctx, fault)
			return own, nil
		})
		assert.Equal(t, own, a.send(ask{key: "k"}))
		require.ErrorIs(t, a.event().Err, idempotent.ErrCommitFailed)
		assert.Equal(t, report.Released, a.event().Settlement)
	})
}

// A router that is protected itself, around a handler that tells of an error: the response is the
// answer, and the error counts for both.
func TestResponseAndErrorOfAnInnerHTTPHandler(t *testing.T) {
	t.Parallel()
	for _, says := range []func(context.Context) (reply, error){
		marking(reply{Status: 502}, errDownstream),
		marking(reply{Status: 502}, idempotent.Uncertain(errDownstream)),
		says(reply{Status: 502})["returned"](idempotent.Uncertain(errDownstream)),
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
