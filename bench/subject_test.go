package main

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// responseOf is an answer without what the library adds for the client.
func responseOf(t *testing.T, answer []byte) response {
	t.Helper()
	var r response
	require.NoError(t, json.Unmarshal(answer, &r))
	delete(r.Headers, "Idempotent-Replayed")
	delete(r.Headers, "Idempotency-Key-Expires")
	return r
}

func TestAllWaysGiveTheSameAnswerAndAReplayDoesNotExecute(t *testing.T) {
	t.Parallel()
	for _, r := range results {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			alone := unwrapped.of(r.result, nil)
			answer, err := alone.deliver(1)
			require.NoError(t, err)
			require.NoError(t, alone.shop.check(answer))
			expected := responseOf(t, answer)

			ways := []*subject{wrapped.of(r.result, newFake())}
			if r.byHand {
				ways = append(ways, handmade.of(r.result, newFake()))
			}
			for _, s := range ways {
				for delivery := range 3 {
					answer, err := s.deliver(2)
					require.NoError(t, err)
					assert.Equal(t, expected, responseOf(t, answer), "%s, delivery %d", s.name, delivery+1)
				}
				assert.EqualValues(t, 1, s.shop.executed.Load(), s.name)
				for key := range uint64(3) {
					_, err := s.deliver(10 + key)
					require.NoError(t, err)
				}
				assert.EqualValues(t, 1+3, s.shop.executed.Load(), s.name)
			}
		})
	}
}

func TestTheAnswersThatArePlayedAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	for _, r := range results {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			c := newFake()
			first := wrapped.of(r.result, c)
			run, err := first.rehearsedExecution(c)
			require.NoError(t, err)
			require.NoError(t, run(3))
			assert.EqualValues(t, 2+3, first.shop.executed.Load())

			c = newFake()
			again := wrapped.of(r.result, c)
			run, err = again.rehearsedReplay(c)
			require.NoError(t, err)
			require.NoError(t, run(3))
			assert.EqualValues(t, 1, again.shop.executed.Load())
		})
	}
}

func TestResultsHaveTheirSize(t *testing.T) {
	t.Parallel()
	for _, r := range results {
		s := unwrapped.of(r.result, nil)
		answer, err := s.deliver(1)
		require.NoError(t, err)
		assert.Len(t, answer, r.size, r.name)
	}
	for size, r := range map[int]result{
		1 << 10: results[0].result, 100 << 10: results[2].result,
		5 << 20: results[5].result,
	} {
		assert.InEpsilon(t, size, r.size, 0.1, r.name)
	}
}

// TestTheMeasuredWorkIsChecked holds each check against a subject that does something else.
func TestTheMeasuredWorkIsChecked(t *testing.T) {
	t.Parallel()
	r := results[0].result
	assert.ErrorContains(t, unwrapped.of(r, nil).repeat(2, 0, freshKey), "2 deliveries executed 2 times, not 0")

	c := newFake()
	s := wrapped.of(r, c)
	_, err := s.rehearsedReplay(c)
	require.NoError(t, err)
	assert.ErrorContains(t, s.executions(2), "2 deliveries executed 0 times, not 2")

	_, err = unwrapped.of(r, nil).rehearsedReplay(newFake())
	assert.ErrorIs(t, err, errNotReplayed)

	other := unwrapped.of(results[1].result, nil)
	answer, err := other.deliver(1)
	require.NoError(t, err)
	assert.ErrorContains(t, s.shop.check(answer), "not what the handler returned")

	refuses := way{"refuses", func(*shop, *fake) lambda.Handler {
		return lambda.NewHandler(func() (response, error) { return response{StatusCode: 409}, nil })
	}}.of(r, nil)
	assert.ErrorContains(t, refuses.executions(1), `{"statusCode":409`)
}

func TestEveryKeyIsAnotherEvent(t *testing.T) {
	t.Parallel()
	e := newEvent()
	var in request
	for _, key := range []uint64{7, 1234567890123456} {
		require.NoError(t, json.Unmarshal(e.withKey(key), &in))
		assert.Contains(t, []string{"order-0000000000000007", "order-1234567890123456"}, in.Headers[keyHeader])
	}
	assert.Len(t, in.Headers, 21)
	assert.Len(t, in.Body, 500)
	assert.InDelta(t, 3000, len(e.payload), 100)
	assert.Equal(t, "user-1984", in.RequestContext.Authorizer.JWT.Claims["sub"])
	a, b := freshKey(), freshKey()
	assert.NotEqual(t, a, b)
}

func TestByHandARunningExecutionIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := newFake()
	s := handmade.of(results[0].result, c)
	m := &manual{client: c.client, table: records}
	_, err := c.client.PutItem(t.Context(), m.claim(t.Context(), "charge#order-0000000000000005", "another"))
	require.NoError(t, err)
	_, err = s.deliver(5)
	require.ErrorContains(t, err, `{"statusCode":409`)
	assert.Zero(t, s.shop.executed.Load())
}
