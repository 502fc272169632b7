package e2e_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

const (
	// tortureVariable is how long the random kills go on, as a Go duration.
	tortureVariable = "IDEMPOTENT_TORTURE"
	tortureDefault  = 8 * time.Second
	// tortureLimit is when an order that was killed again and again must have its answer.
	tortureLimit = 2 * time.Minute
)

// Clients place orders while the processes that serve them are killed at random and the network fails at random. When it is
// over, every order has one charge and one answer.
func TestRandomKillsLeaveOneChargePerOrder(t *testing.T) {
	t.Parallel()
	const sandboxes, clients = 4, 10
	s := newShop(t, sandboxes)
	s.timeout = time.Second
	s.provider.before, s.provider.after = doze, doze
	s.proxy.SetRule(sometimes)
	end := time.Now().Add(tortureTime(t))

	var wg sync.WaitGroup
	kills := 0
	wg.Go(func() {
		for ; time.Now().Before(end); kills++ {
			time.Sleep(rand.N(150 * time.Millisecond))
			assert.NoError(t, s.sandboxes[rand.N(sandboxes)].Kill())
		}
		s.proxy.SetRule(nil)
	})
	var mu sync.Mutex
	answers := make(map[order][]answer)
	for range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				o := newOrder(t)
				all := s.insistFor(o, tortureLimit)
				assert.Equal(t, http.StatusCreated, all[len(all)-1].status)
				s.proxy.Forget() // it would grow without end
				mu.Lock()
				answers[o] = all
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	stored := s.recordsByAmount()
	require.Len(t, stored, len(answers), "records")
	for o, all := range answers {
		s.assertCharged(o, stored[o.amount], append(all, s.post(o)))
	}
	assert.Len(t, s.provider.distinctKeys(), len(answers), "one key downstream per order")
	t.Logf("%d kills, %d orders, %d requests to the provider", kills, len(answers), len(s.provider.keys()))
}

func tortureTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(tortureVariable)
	if text == "" {
		return tortureDefault
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, tortureVariable)
	return d
}

// doze makes a charge take its time, so that kills hit it.
func doze() { time.Sleep(rand.N(60 * time.Millisecond)) }

// sometimes gives one request in thirty a fault.
func sometimes(wire.Request) wire.Fault {
	if rand.N(30) > 0 {
		return wire.Pass()
	}
	return faults[rand.N(len(faults))]
}

// recordsByAmount finds the record of each order by the amount in its answer.
func (s *shop) recordsByAmount() map[int64]record {
	s.t.Helper()
	found := make(map[int64]record)
	for _, r := range s.records() {
		var body struct{ Amount int64 }
		require.NoError(s.t, json.Unmarshal([]byte(r.response(s.t).Body), &body))
		assert.NotContains(s.t, found, body.Amount, "two records of one order")
		found[body.Amount] = r
	}
	return found
}
