package idempotent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestAResultAboveTheBoundIsSentAndNeverExecutedAgain(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, opts := range map[string][]idempotent.Option{
			"by default": nil, "repeatable": {idempotent.WithEffects(idempotent.Repeatable)}, "unrepeatable": {idempotent.WithEffects(idempotent.Unrepeatable)},
		} {
			a := d.open(t, append(opts, idempotent.WithMaxResult(1000))...)
			a.answers(reply{Status: 201, Body: strings.Repeat("x", 1000)})
			first := a.send(ask{key: "k"})
			assert.Equal(t, 201, first.Status, name)
			assert.Len(t, first.Body, 1000, name)
			assert.NotContains(t, first.Headers, "Idempotency-Key-Expires", "%s: it is not stored", name)
			assert.Equal(t, report.Unknown, a.event().Settlement, name)
			assert.Equal(t, "result-lost", a.event().Reason, name)
			require.ErrorContains(t, a.event().StoreErr, "WithMaxResult")
			r, found := a.record()
			require.True(t, found)
			assert.Equal(t, store.StatusUnknown, r.Status, name)
			assert.Empty(t, r.Result)

			assertProblem(t, a.send(ask{key: "k"}), 409, "unknown-outcome")
			a.assertExecuted(1)
		}
	})
}

func TestAResultAtTheBoundIsStored(t *testing.T) {
	t.Parallel()
	const text = `{"charge":1,"amount":5}`
	for bound, stored := range map[int]bool{len(text): true, len(text) - 1: false} {
		s := newShop(t, idempotent.WithMaxResult(bound))
		_, err := s.handle(5)
		require.NoError(t, err)
		assert.Equal(t, stored, s.mustRecord().Status == store.StatusCompleted, bound)
	}
	problems := problemsOf(t, func() { newShop(t, idempotent.WithMaxResult(0)) })
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "WithMaxResult")
}

// A wrong password must not block the key for a month.
func TestAResponseThatMeansThatNothingHappenedReleases(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, opts := range map[string][]idempotent.Option{
			"unrepeatable": {idempotent.WithEffects(idempotent.Unrepeatable)}, "unknown on error": {idempotent.WithErrorPolicy(idempotent.UnknownOnError)},
			"by default": nil,
		} {
			for _, status := range []int{401, 403, 429} {
				a := d.open(t, opts...)
				a.answers(reply{Status: status, Body: "no"})
				assert.Equal(t, status, a.send(ask{key: "k"}).Status)
				assert.Equal(t, report.Released, a.event().Settlement, "%s: %d", name, status)
				a.answers(reply{Status: 201, Body: "yes"})
				assert.Equal(t, "yes", a.send(ask{key: "k"}).Body)
			}
		}
		for _, status := range []int{408, 409, 423, 425, 500, 503} {
			a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
			a.answers(reply{Status: status})
			a.send(ask{key: "k"})
			assert.Equal(t, report.Unknown, a.event().Settlement, "%d says nothing of the sort", status)
		}
		// A mark outweighs the status, and so does what the user stores.
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = func(context.Context) (reply, error) { return reply{Status: 429}, idempotent.Uncertain(errCard) }
		a.send(ask{key: "k"})
		assert.Equal(t, report.Unknown, a.event().Settlement)
		a = d.open(t, idempotent.WithHTTP(idempotent.HTTP{StoreStatus: func(int) bool { return true }}))
		a.answers(reply{Status: 403})
		a.send(ask{key: "k"})
		assert.Equal(t, report.Completed, a.event().Settlement)
	})
}

// What a handler makes of the end of its context says nothing of the effect.
func TestAnInterruptedExecutionIsNoRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
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
