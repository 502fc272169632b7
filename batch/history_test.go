package batch_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
)

// Whatever queues and streams hand over, a function keeps the rules of I12, see docs/guarantees.md:
// in random histories, which together lead to all that the rules are about. One that fails is
// shortened, and told line by line.
func TestEveryHistoryKeepsTheRules(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for range 30 { // times the 100 histories, or as many as -rapid.checks says
		rapid.Check(t, func(rt *rapid.T) {
			w := histories.Draw(rt, "history").play(t)
			for what, n := range w.seen {
				seen[what] += n
			}
			if w.broken != nil {
				rt.Fatalf("%v, in\n  %s", w.broken, strings.Join(w.story, "\n  "))
			}
		})
	}
	t.Log(seen)
	must := []string{
		"delivery: executed", "delivery: replayed", "delivery: in progress", "delivery: mismatch",
		"delivery: missing key",
		"delivery: panicked", "delivery: store unavailable", "delivery: unknown outcome", "a takeover", "no answer",
		"the mapping gives up", "a batch is halved", "the queue gives up", "the visibility is changed",
	}
	for at, all := range faults {
		must = append(append(must, "fault of "+at), all...)
	}
	for ending := range endings {
		must = append(must, "the handler "+ending)
	}
	for _, what := range must {
		assert.Positive(t, seen[what], what)
	}
}

// history is what a queue or a stream hands over to a function, how its handlers end, and what goes
// wrong.
type history struct {
	Source string
	Sent   []sent
	// Batch is how many records a batch has at most, Concurrency how many groups of it run at once.
	Batch, Concurrency int
	// Visibility is the timeout of a queue. Limit is how often it hands over a message before it
	// gives it up, or how often a stream repeats a batch before it does: 0 for ever. Bisects: a
	// stream halves a batch that has failed as a whole.
	Visibility time.Duration
	Limit      int
	Bisects    bool
	// Terminal, Poison and Visible are the functions of the configuration that there are.
	Terminal, Poison, Visible bool
	Polls                     []poll
	Faults                    []fault
}

const (
	standard = "a standard queue"
	fifo     = "a FIFO queue"
	kinesis  = "Kinesis"
	dynamoDB = "a stream of a table"
)

func (h history) stream() bool { return h.Source == kinesis || h.Source == dynamoDB }

// sent is a record. The first letter of its name is its group. Its handler runs so, and from then
// on it succeeds at once. A record without a key is poison, and so is one with the key of another
// record and another amount.
type sent struct {
	Name, Key string
	Amount    int
	Runs      []run
}

func (s sent) group() string { return s.Name[:1] }

type run struct {
	Takes time.Duration
	Ends  string
}

const succeeds, failsForEver = "succeeds", "fails for ever"

var endings = map[string]func() error{
	succeeds:             func() error { return nil },
	failsForEver:         func() error { return idempotent.Terminal(errDeclined) },
	"fails":              func() error { return errDown },
	"is not sure":        func() error { return idempotent.Uncertain(errDown) },
	"panics":             func() error { panic(errDown) },
	"ends its goroutine": func() error { runtime.Goexit(); return nil },
}

// poll is a batch that is handed over, some time after the one before.
type poll struct {
	After time.Duration
	Pick  pick
}

// fault is what goes wrong the n-th time that somebody comes to a point.
type fault struct {
	At, Is string
	Nth    int
}

const (
	atCall       = "a call of the store"
	atHandler    = "a handler"
	atTerminal   = "the function for final failures"
	atPoison     = "the function for poison"
	atVisibility = "the function for the visibility"
	atAnswer     = "the answer"

	lost       = "is lost"
	replyLost  = "is done, and reported as failed"
	refused    = "fails for good"
	hangs      = "is done, and hangs or panics"
	diesBefore = "the process dies before"
	diesAfter  = "the process dies after"
	late       = "is reported as failed, and done later"
)

// faults are what may go wrong at each point.
var faults = map[string][]string{
	atCall:       {lost, replyLost, refused, hangs, diesBefore, diesAfter},
	atHandler:    {diesAfter},
	atTerminal:   {refused, hangs, diesBefore, diesAfter},
	atPoison:     {refused, hangs, diesBefore, diesAfter},
	atVisibility: {refused, replyLost, hangs, diesAfter, late, late},
	atAnswer:     {lost},
}

var ofStore = map[string]calls.Fault{
	lost: calls.LoseRequest, replyLost: calls.LoseReply, refused: calls.Deny, hangs: calls.HangAfter,
	diesBefore: calls.DieBefore, diesAfter: calls.DieAfter,
}

// histories are random ones, small enough to be understood. What would come again for ever is given
// up some time.
var histories = rapid.Custom(func(t *rapid.T) history {
	h := history{
		Source: one(t, standard, fifo, kinesis, dynamoDB), Batch: one(t, 1, 2, 3, 4, 5), Concurrency: one(t, 0, 1, 2),
		Visibility: one(t, time.Minute, 5*time.Second, 5*time.Second), Limit: one(t, 0, 1, 2, 3),
		Bisects:  one(t, false, true),
		Terminal: one(t, false, true), Poison: one(t, false, true), Visible: one(t, false, true, true),
	}
	amounts := map[string]int{"": -1}
	for n := range one(t, 1, 2, 3, 4) {
		s := sent{
			Name: one(t, "a", "b") + string(rune('1'+n)), Key: one(t, "k1", "k1", "k2", "k2", "k3", "k4", "k5", ""),
			Amount: one(t, 5, 5, 5, 5, 5, 6),
		}
		for range one(t, 0, 1, 2) {
			s.Runs = append(s.Runs, run{
				one(t, 0, time.Second, 3*time.Second, 8*time.Second, 9500*time.Millisecond, 12*time.Second),
				one(t, slices.Sorted(maps.Keys(endings))...),
			})
		}
		if other := amounts[s.Key]; other != 0 && other != s.Amount && !h.Poison {
			h.Limit = max(h.Limit, 1)
		}
		amounts[s.Key] = s.Amount
		h.Sent = append(h.Sent, s)
	}
	for range one(t, 1, 2, 3, 4, 5) {
		h.Polls = append(h.Polls, poll{
			one(t, 0, time.Second, 4*time.Second, 6*time.Second, 40*time.Second),
			one(t, ordinary, ordinary, twiceInOne, inFlight, inFlight, acknowledged),
		})
	}
	for range one(t, 0, 1, 2, 3, 4) {
		f := fault{At: one(t, atCall, atHandler, atAnswer, atTerminal, atPoison, atVisibility, atVisibility), Nth: 1}
		if f.At == atCall {
			f.Nth = one(t, 1, 2, 3, 5, 8)
		}
		f.Is = one(t, faults[f.At]...)
		h.Visible = h.Visible || f.At == atVisibility
		h.Faults = append(h.Faults, f)
	}
	return h
})

func one[T any](t *rapid.T, of ...T) T { return rapid.SampledFrom(of).Draw(t, "one") }
