package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// story is an order that takes one of the ways through the protocol. Its calls are what faults and
// kills are put on.
type story struct {
	name string
	// size is that of the answer, in bytes.
	size int
	// prepare brings the shop to where the story begins.
	prepare func(s *shop, o order)
	// calls are those of the first delivery that follows, if nothing fails. The handler runs after
	// claim of them, or not at all if there are no more.
	calls []string
	claim int
	// faulty is the call, from 1 on, that gets the faults: each kind of call once in all stories.
	faulty int
	// status is how that delivery is answered, replayed tells whether with a stored answer.
	status   int
	replayed bool
}

// large is more than a record holds itself: such an answer is kept in parts.
const large = 20_000

var stories = []story{
	{
		name:    "first charge",
		prepare: func(*shop, order) {},
		calls:   []string{"PutItem", "UpdateItem"}, claim: 1, faulty: 2,
		status: http.StatusCreated,
	},
	{
		name: "replay", prepare: (*shop).charge,
		calls: []string{"PutItem"}, claim: 1, faulty: 1,
		status: http.StatusCreated, replayed: true,
	},
	{
		name:    "release",
		prepare: func(s *shop, _ order) { s.provider.failOnce("") },
		calls:   []string{"PutItem", "DeleteItem"}, claim: 1, faulty: 2,
		status: http.StatusBadGateway,
	},
	{
		name: "takeover",
		prepare: func(s *shop, o order) {
			s.crash(o)
			s.endLease()
		},
		calls: []string{"PutItem", "UpdateItem", "UpdateItem"}, claim: 2, faulty: 2,
		status: http.StatusCreated,
	},
	{
		name: "large charge", size: large,
		prepare: func(*shop, order) {},
		calls:   []string{"PutItem", "BatchWriteItem", "UpdateItem"}, claim: 1, faulty: 2,
		status: http.StatusCreated,
	},
	{
		name: "large replay", size: large, prepare: (*shop).charge,
		calls: []string{"PutItem", "BatchGetItem"}, claim: 2, faulty: 2,
		status: http.StatusCreated, replayed: true,
	},
}

// scenarios runs one for each call of a way and each variant.
func scenarios[V any](t *testing.T, way string, calls int, variants []V, run func(t *testing.T, n int, v V)) {
	t.Helper()
	for n := range calls {
		for _, v := range variants {
			t.Run(fmt.Sprintf("%s/%d/%v", way, n+1, v), func(t *testing.T) {
				t.Parallel()
				run(t, n, v)
			})
		}
	}
}

// begin starts a story in a shop of its own.
func (y story) begin(t *testing.T) (*shop, order) {
	t.Helper()
	s, o := newShop(t, 1), newLargeOrder(t, y.size)
	y.prepare(s, o)
	s.proxy.SetRule(nil)
	s.proxy.Forget()
	return s, o
}

// charge brings an order to its end.
func (s *shop) charge(o order) {
	s.t.Helper()
	require.Equal(s.t, http.StatusCreated, s.post(o).status)
}

func TestWithoutFaultsTheStoriesTakeTheirCalls(t *testing.T) {
	t.Parallel()
	for _, y := range stories {
		t.Run(y.name, func(t *testing.T) {
			t.Parallel()
			s, o := y.begin(t)
			a := s.post(o)
			require.Equal(t, y.status, a.status, a)
			assert.Equal(t, y.replayed, a.replayed())
			assert.Equal(t, y.calls, s.proxy.Operations())
			answers := append(s.insist(o), a)
			s.assertCharged(o, s.record(), answers)
		})
	}
}
