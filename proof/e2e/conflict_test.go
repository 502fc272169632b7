package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// Other writers are in the way of the commit, some times, in each position. It is sent again, and nobody notices.
func TestACommitThatMeetsConflictsIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, because := range []struct {
		item int
		code string
	}{
		{0, "TransactionConflict"},
		{1, "TransactionConflict"},
		{0, "ProvisionedThroughputExceeded"},
		{1, "ThrottlingError"},
	} {
		t.Run(fmt.Sprintf("%s of item %d", because.code, because.item), func(t *testing.T) {
			t.Parallel()
			const times = 4
			w, c := newWarehouse(t, 1), newCart(t)
			w.proxy.SetRule(func(r wire.Request) wire.Fault {
				if r.Operation == commit && r.Nth <= times {
					return wire.Cancel(because.item, because.code)
				}
				return wire.Pass()
			})
			first := w.post(c)
			require.Equal(t, http.StatusCreated, first.status, first)
			assert.Len(t, w.proxy.Faults(), times)
			for n := range times {
				assert.JSONEq(t, string(w.sent(n+1).Body), string(w.sent(n+2).Body), "every repetition is the same, its token included")
			}
			w.assertOrdered(c, []answer{first, w.post(c)})
			assert.Equal(t, once, w.askedFor())
		})
	}
}

// They are in the way until the time is over: the client gets 503, nothing is written, and a retry goes on at once.
func TestACommitThatMeetsOnlyConflictsFailsAndTheRetryGoesOn(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 1), newCart(t)
	w.timeout = 3 * time.Second
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		if r.Operation == commit {
			return wire.Conflict()
		}
		return wire.Pass()
	})
	first := w.post(c)
	assertNotWritten(t, first)
	assert.Greater(t, len(w.proxy.Faults()), 2, "it was tried until the time was over")
	assert.Empty(t, w.rows())
	assert.Equal(t, "released", w.record().Reason)
	tried := w.sent(1)

	w.proxy.SetRule(nil)
	w.assertCopyIsRefused(tried)
	again := w.post(c)
	require.Equal(t, http.StatusCreated, again.status, again)
	w.assertCopyIsRefused(tried)
	w.assertOrdered(c, []answer{first, again, w.post(c)})
	assert.Equal(t, once, w.askedFor())
}

// While a commit is under way, DynamoDB refuses the puts of duplicates because of it. They look instead of putting again, which would be
// in the way of the commit, and their clients are told to wait.
func TestDuplicatesThatMeetARunningCommitAreToldToWait(t *testing.T) {
	t.Parallel()
	w, c, first, gate := held(t, 3)
	w.proxy.Forget()
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		switch r.Operation {
		case "PutItem":
			return wire.Conflict()
		case commit: // the first one is sent again if the duplicates take longer than its client waits
			return delayed(gate)
		default:
			return wire.Pass()
		}
	})
	const duplicates = 12
	for range duplicates {
		a := w.post(c)
		assertProblem(t, a, http.StatusConflict, "in-progress")
		assert.Positive(t, retryAfter(t, a))
	}
	counts := map[string]int{}
	for _, operation := range w.proxy.Operations() {
		counts[operation]++
	}
	delete(counts, commit)
	assert.Equal(t, map[string]int{"PutItem": duplicates, "GetItem": duplicates}, counts, "one put and one look each")

	gate.Open()
	a := <-first
	require.Equal(t, http.StatusCreated, a.status, a)
	replay := w.post(c) // its put still meets a conflict
	assert.True(t, replay.replayed(), replay)
	w.assertOrdered(c, []answer{a, replay})
	assert.Equal(t, once, w.askedFor())
}

// Many duplicates hammer the key while the commit meets conflicts, and so do they. They neither starve it nor get an outage.
func TestDuplicatesThatHammerTheKeyDoNotStarveTheCommit(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 6), newCart(t)
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		switch {
		case r.Operation == commit && r.Nth <= 5:
			return wire.Conflict()
		case r.Operation == "PutItem" && r.Nth > 1 && r.Nth%2 == 0:
			return wire.Conflict()
		default:
			return wire.Pass()
		}
	})
	answers := w.insistTogether(c, 60)
	commits := 0
	for _, x := range w.proxy.Exchanges() {
		if x.Operation == commit {
			commits++
		}
	}
	assert.Equal(t, 6, commits, "five met a conflict")
	for _, a := range answers {
		assert.Contains(t, []int{http.StatusCreated, http.StatusConflict}, a.status, a)
	}
	w.assertOrdered(c, answers)
	assert.Equal(t, once, w.askedFor())
}
