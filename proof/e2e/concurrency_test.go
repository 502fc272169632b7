package e2e_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASecondSandboxIsToldToWaitWhileTheFirstOneRuns(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	o := newOrder(t)
	gate := s.provider.hold(&s.provider.before)
	began := time.Now()
	first := s.reach(gate, o)
	lease := time.UnixMilli(s.record().Lease)
	assert.WithinRange(t, lease, began.Add(s.lease()), time.Now().Add(s.lease()), "the deadline and the margin")
	s.proxy.Forget()

	second := s.post(o)
	assertProblem(t, second, http.StatusConflict, "in-progress")
	wait := retryAfter(t, second)
	assert.Positive(t, wait)
	assert.LessOrEqual(t, wait, time.Until(lease)+2*time.Second, "until the lease ends, rounded up")
	exchanges := s.proxy.Exchanges()
	require.Len(t, exchanges, 1)
	assert.True(t, exchanges[0].Refused())
	assert.Equal(t, "INPROGRESS", s.record().Status)

	gate.Open()
	answers := []answer{<-first, second, s.post(o)}
	assert.Equal(t, http.StatusCreated, answers[0].status, answers[0])
	assert.True(t, answers[2].replayed())
	assert.Len(t, s.provider.keys(), 1)
	s.assertCharged(o, s.record(), answers)
}

func TestManyClientsWithOneKeyGetOneAnswer(t *testing.T) {
	t.Parallel()
	const clients = 60
	s := newShop(t, 4)
	o := newOrder(t)
	all := s.insistTogether(o, clients)
	assert.Len(t, s.provider.keys(), 1, "one execution")
	s.assertCharged(o, s.record(), all)
	executed := 0
	for _, a := range all {
		if a.ok() && !a.replayed() {
			executed++
		}
	}
	assert.Equal(t, 1, executed, "all but one answer are replays")
}

// insistTogether lets many clients send one order at once until each has its final answer, and
// returns all answers.
func (s *deployment) insistTogether(o purchase, clients int) []answer {
	s.t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []answer
	for range clients {
		wg.Go(func() {
			answers := s.insist(o)
			assert.Equal(s.t, http.StatusCreated, answers[len(answers)-1].status)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, answers...)
		})
	}
	wg.Wait()
	return all
}
