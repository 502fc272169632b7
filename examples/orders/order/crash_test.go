package order_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/storetest"
)

// calls of the store that an order makes: the claim, one for each of its two steps, the completion. One that is declined has a step more.
const calls = 4

// later is a sandbox that meets a record whose lease has ended.
func later(t *testing.T, w *town, records *memory.Store) *function {
	t.Helper()
	return newFunction(t, w, records, idempotent.WithClock(func() time.Time { return time.Now().Add(time.Minute) }))
}

// asked is how often a service was asked for each step: to reserve, to charge, to cancel.
func (w *town) asked() [3]int {
	return [3]int{len(w.about("STOCK POST")), len(w.about("PAYMENTS POST")), len(w.about("STOCK DELETE"))}
}

// The process dies at each call of the store. What was recorded by then is not asked for again; of the rest, each is asked for with
// one key.
func TestAfterACrashTheRetryGoesOnBehindTheLastRecordedStep(t *testing.T) {
	t.Parallel()
	for _, order := range []struct {
		name, body string
		status     int
		done       [4]int
		calls      int
	}{
		{"ordered", body, 201, [4]int{1, 1, 0, 0}, calls},
		{"declined", declined, 402, [4]int{1, 0, 0, 1}, calls + 1},
	} {
		for call := 1; call <= order.calls; call++ {
			for name, fault := range map[string]storetest.Fault{"before": storetest.DieBefore, "after": storetest.DieAfter} {
				t.Run(order.name+" "+name+" call "+strconv.Itoa(call), func(t *testing.T) {
					t.Parallel()
					w, records := newTown(t), memory.New()
					event := post("k", order.body)
					dies := storetest.NewFaulty(records, storetest.OnCall(call, fault))
					dying := newFunction(t, w, dies)
					dying.timeout = time.Second
					lost, err := dying.invoke(event)
					require.Equal(t, 1, dies.Fired())

					var recovered events.APIGatewayV2HTTPResponse
					if call < order.calls || fault == storetest.DieBefore {
						recovered = later(t, w, records).answers(order.status, event)
					}
					again := newFunction(t, w, records).answers(order.status, event)
					require.True(t, replayed(again))
					require.Equal(t, order.done, w.done())
					if recovered.Body != "" {
						require.Equal(t, recovered.Body, again.Body)
					}
					if err == nil && lost.StatusCode == order.status {
						require.Equal(t, lost.Body, again.Body, "what the dying process would have answered")
					}
					require.Equal(t, expected(order.calls, call, fault), w.asked())
				})
			}
		}
	}
}

// expected is how often each step was asked for, if the process died at one of the calls.
func expected(calls, call int, fault storetest.Fault) (asked [3]int) {
	for i := range calls - 2 { // neither the claim nor the completion is a step
		asked[i] = 1
		if call == i+2 && fault == storetest.DieBefore {
			asked[i] = 2 // it had its effect, and nobody recorded it
		}
	}
	return asked
}

// A store that loses a reply, or fails once, does not make anything happen twice, and the client has an answer at once.
func TestAStoreThatFailsOnceRepeatsNothing(t *testing.T) {
	t.Parallel()
	for call := 1; call <= calls; call++ {
		t.Run(strconv.Itoa(call), func(t *testing.T) {
			t.Parallel()
			w, records := newTown(t), memory.New()
			f := newFunction(t, w, storetest.NewFaulty(records, storetest.OnCall(call, storetest.LoseReply)))
			first := f.answers(201, post("k", body))
			again := newFunction(t, w, records).answers(201, post("k", body))
			require.Equal(t, first.Body, again.Body)
			require.Equal(t, [4]int{1, 1, 0, 0}, w.done())
			require.Equal(t, [3]int{1, 1, 0}, w.asked())
		})
	}
}

// A second crash, in the recovery of the first one.
func TestCrashAfterCrashEachStepIsRecordedOnce(t *testing.T) {
	t.Parallel()
	w, records, now := newTown(t), memory.New(), time.Now()
	event := post("k", body)
	// Each process claims, takes over, records one step, and dies before its next write.
	for crash, call := range []int{3, 4} {
		dies := storetest.NewFaulty(records, storetest.OnCall(call, storetest.DieBefore))
		at := now.Add(time.Duration(crash) * time.Minute)
		dying := newFunction(t, w, dies, idempotent.WithClock(func() time.Time { return at }))
		dying.timeout = time.Second
		_, _ = dying.invoke(event)
		require.Equal(t, 1, dies.Fired(), crash)
	}
	at := now.Add(10 * time.Minute)
	f := newFunction(t, w, records, idempotent.WithClock(func() time.Time { return at }))
	f.answers(201, event)
	require.Equal(t, 3, f.last.Attempt)
	require.Equal(t, [4]int{1, 1, 0, 0}, w.done())
	require.Equal(t, [3]int{1, 2, 0}, w.asked())
	requests := w.about("PAYMENTS")
	require.Equal(t, requests[0], requests[1], "key and body")
}
