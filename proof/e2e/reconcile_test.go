package e2e_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/operate"
)

// settled is a shop whose charges are not to be repeated, and the functions that ask the provider about those of which nobody knows.
type settled struct {
	*shop

	reconcile *deployment
}

// newSettled has as many functions that ask as it says, which run at once.
func newSettled(t *testing.T, sandboxes, asking int) *settled {
	t.Helper()
	p := newProvider(t)
	environment := []string{"PAYMENTS_URL=" + p.URL, "EFFECTS=unrepeatable"}
	s := &settled{shop: &shop{deploy(t, sandboxes, charging, lambdaruntime.Function{Name: "charge", Environment: environment}), p}}
	s.timeout = 4 * time.Second
	s.reconcile = launch(t, asking, settling, lambdaruntime.Function{Name: "reconcile", Environment: append([]string{
		"IDEMPOTENCY_TABLE=" + s.table, "OPERATION=charge", "FIRST_PAUSE=1s", "LONGEST_PAUSE=1s", "MAX_TRIES=1000",
	}, environment...)})
	return s
}

// run invokes a function that asks, and reports what it did, and false if it was killed.
func (s *settled) run() (r operate.Reconciliation, ended bool) {
	payload, err := s.reconcile.invoke(context.Background(), []byte(`{}`))
	if err != nil {
		assert.ErrorAs(s.t, err, new(*lambdaruntime.FunctionError))
		return r, false
	}
	assert.NoError(s.t, json.Unmarshal(payload, &r))
	return r, true
}

// open counts the records that somebody has to settle, also those that are asked about: whoever asks may be dead.
func (s *settled) open() (n int) {
	s.t.Helper()
	for _, item := range s.items() {
		if text(item["attention"]) != "" {
			n++
		}
	}
	return n
}

// killed sends orders and kills the function while the provider has them, before or after it has charged.
func (s *settled) killed(n int) (all []order) {
	s.t.Helper()
	for len(all) < n {
		hold := s.provider.holdAfter
		if len(all) >= n/2 { // not in turns: what is held before its effect comes by there when it is let go
			hold = s.provider.holdBefore
		}
		gate := hold(s.t)
		o := newOrder(s.t)
		first := s.begin(o)
		arrived(s.t, gate)
		s.kill()
		gate.Open()
		<-first
		s.provider.letGo()
		all = append(all, o)
	}
	return all
}

// unanswered sends orders whose charges the provider refuses, or does not answer in time after it has charged.
func (s *settled) unanswered(n int) (all []order) {
	s.t.Helper()
	for len(all) < n {
		o := newOrder(s.t)
		if len(all)%2 == 0 {
			s.provider.failOnce()
		}
		s.provider.lose(len(all)%2 != 0)
		answers := s.insist(o) // a store that is slow to answer may need more than one
		require.True(s.t, answers[len(answers)-1].resultLost())
		all = append(all, o)
	}
	s.provider.lose(false)
	return all
}

// A hundred charges of which nobody knows: their function was killed, or got no answer. The clients of some ask again and again, those of
// others have given up. Two functions ask the provider meanwhile, and are killed at random, and for a time it fails, is silent and lies.
func TestAHundredChargesOfWhichNobodyKnowsAreSettled(t *testing.T) {
	t.Parallel()
	s := newSettled(t, 4, 2)
	all := append(s.unanswered(60), s.killed(40)...)
	for _, o := range all[60:] { // one retry after the lease makes a crash known; see the sweep for those that have none
		require.Eventually(t, func() bool { return s.post(o).resultLost() }, 30*time.Second, 100*time.Millisecond)
	}
	require.Equal(t, len(all), s.open())

	s.provider.questionsWith(s.provider.misbehave)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					s.run()
				}
			}
		})
	}
	var mu sync.Mutex
	answers := map[order][]answer{}
	for i, o := range all {
		if i%5 < 2 {
			continue // its client has given up
		}
		wg.Go(func() {
			got := s.untilCharged(o)
			mu.Lock()
			defer mu.Unlock()
			answers[o] = got
		})
	}
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(500*time.Millisecond + rand.N(500*time.Millisecond)) {
		assert.NoError(t, s.reconcile.sandboxes[rand.N(2)].Kill())
	}
	s.provider.questionsWith(nil)
	assert.Eventually(t, func() bool { return s.open() == 0 }, time.Minute, 200*time.Millisecond, "something stays stuck")
	close(stop)
	wg.Wait()

	for _, o := range all { // also of those who had given up
		answers[o] = append(answers[o], s.untilCharged(o)...)
	}
	stored := s.recordsByAmount()
	require.Len(t, stored, len(all))
	for _, o := range all {
		s.assertCharged(o, stored[o.amount], charged(answers[o]))
	}
	assert.Len(t, s.provider.charges(0), len(all))
	assert.Len(t, s.provider.distinctKeys(), len(all), "one key downstream per order")
	assert.Empty(t, s.provider.besideQuestions(), "a client has executed beside a question")
}

// untilCharged sends an order until it has its charge.
func (s *settled) untilCharged(o order) (all []answer) {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(patience + rand.N(patience)) {
		a := s.post(o)
		all = append(all, a)
		if a.ok() || !assert.Less(s.t, time.Since(began), 90*time.Second, "the key is blocked: %v", a) {
			return all
		}
	}
}

// charged are the answers with a charge.
func charged(all []answer) (found []answer) {
	for _, a := range all {
		if a.ok() {
			found = append(found, a)
		}
	}
	return found
}
