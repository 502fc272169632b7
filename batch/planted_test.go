package batch_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

// enough histories of a source find each planted mistake.
const enough = 10_000

// Each rule is seen to be broken, by mistakes of somebody who writes the loop over a batch by hand.
func TestEveryMistakeIsFound(t *testing.T) {
	t.Parallel()
	for name, mistake := range plantedMistakes {
		for _, source := range mistake.sources {
			t.Run(name+" of "+source, func(t *testing.T) {
				t.Parallel()
				for seed := range enough {
					h := histories.Example(seed)
					h.Source = source
					if w := h.play(t, mistake.in); w.broken != nil &&
						strings.HasPrefix(w.broken.Error(), mistake.rule) {
						return
					}
				}
				t.Error("nobody misses the guard")
			})
		}
	}
}

// planted is a mistake, the rule that it breaks, and the sources on which it is one.
type planted struct {
	rule    string
	sources []string
	in      func(i *invocation)
}

const (
	onlyDone = "only what is done is acknowledged"
	notNamed = "what is done in a batch is not named"
	ofEvent  = "an answer names records of the event"
	ofLease  = "the visibility is that of the lease"
)

var (
	everywhere = []string{standard, fifo, kinesis, dynamoDB}
	queues     = everywhere[:2]
	inOrder    = everywhere[1:]
	streams    = everywhere[2:]
)

var plantedMistakes = map[string]planted{
	"what is in progress is acknowledged":   drops(everywhere, outcome(report.RecordInProgress)),
	"what failed is acknowledged":           drops(everywhere, outcome(report.RecordFailed)),
	"a panic is a success":                  drops(everywhere, outcome(report.RecordPanicked)),
	"poison is dropped":                     drops(everywhere, outcome(report.RecordPoison)),
	"what was not begun is acknowledged":    drops(queues, outcome("")),
	"what has no key is acknowledged":       drops(everywhere, failure(idempotent.ErrMissingKey)),
	"an unknown outcome is acknowledged":    drops(everywhere, failure(idempotent.ErrUnknownOutcome)),
	"everything comes again":                adds(notNamed, func(report.BatchProblem) bool { return true }),
	"a final failure comes again":           adds(notNamed, outcome(report.RecordTerminal)),
	"what a function has taken comes again": adds(notNamed, outcome(report.RecordPoison)),
	"a function always fails": {"every record ends", everywhere, func(i *invocation) {
		i.hand = func(context.Context, []string) ([]string, error) { return nil, errDown }
	}},
	"an answer has an empty identifier": names(ofEvent, everywhere, func(*invocation, []string) string { return "" }),
	"an answer names what is not there": names(ofEvent, everywhere, func(*invocation, []string) string { return "c9" }),
	"an answer names the first failure only": names(onlyDone, queues, func(_ *invocation, again []string) string {
		return again[0]
	}),
	"an answer names the highest number": names(onlyDone, streams, func(_ *invocation, again []string) string {
		return again[len(again)-1]
	}),
	"numbers are compared as texts": names(onlyDone, streams, func(i *invocation, again []string) string {
		return slices.MinFunc(again, func(a, b string) int {
			return strings.Compare(strconv.Itoa(i.number(a)), strconv.Itoa(i.number(b)))
		})
	}),
	"the error of a function is ignored": {onlyDone, everywhere, func(i *invocation) {
		i.takes = func(at, name string) error { _ = i.take(at, name); return nil }
	}},
	"a function is not waited for": {onlyDone, everywhere, func(i *invocation) {
		i.takes = func(at, name string) error {
			time.AfterFunc(time.Second, func() {
				defer func() { _ = recover() }()
				_ = i.take(at, name)
			})
			return nil
		}
	}},
	"a function gets what it is not for": onFailure("a function gets what it is for", everywhere,
		func(i *invocation, name string) { _ = i.take(atPoison, name) }),
	"a message that failed is set aside": onFailure(ofLease, queues,
		func(i *invocation, name string) { _ = i.setVisibility([]string{name}, time.Minute) }),
	"a group goes on after a failure": {"a group keeps its order", inOrder, oneByOne},
	"a message runs twice in a batch": {"a message runs once in a batch", []string{standard}, oneByOne},
	"copies run at once": {"copies run one after the other", everywhere, func(i *invocation) {
		hand := i.hand
		i.hand = func(ctx context.Context, names []string) ([]string, error) {
			var all sync.WaitGroup
			for _, name := range names[1:] {
				all.Go(func() { _, _ = hand(ctx, []string{name}) })
			}
			defer all.Wait()
			return hand(ctx, names[:1])
		}
	}},
	"records begin near the deadline": {"nothing is begun without the time for it", everywhere, func(i *invocation) {
		hand := i.hand
		i.hand = func(ctx context.Context, names []string) ([]string, error) {
			return hand(context.WithoutCancel(ctx), names)
		}
	}},
	"a message comes back under the lease": {ofLease, queues, func(i *invocation) {
		i.sets = func(names []string, _ time.Duration) error { return i.setVisibility(names, time.Second) }
	}},
	"the rest of a group comes back earlier": {ofLease, []string{fifo}, func(i *invocation) {
		i.sets = func(names []string, after time.Duration) error { return i.setVisibility(names[:1], after) }
	}},
}

// oneByOne hands over each record of a batch by itself.
func oneByOne(i *invocation) {
	hand := i.hand
	i.hand = func(ctx context.Context, names []string) (again []string, _ error) {
		for _, name := range names {
			failed, err := hand(ctx, []string{name})
			if err != nil {
				failed = []string{name}
			}
			again = append(again, failed...)
		}
		return slices.Compact(again), nil
	}
}

// answers lets the answer of an invocation be another one.
func (i *invocation) answers(with func(failed []string) []string) {
	hand := i.hand
	i.hand = func(ctx context.Context, names []string) ([]string, error) {
		failed, err := hand(ctx, names)
		return with(failed), err
	}
}

// drops lets an answer forget records.
func drops(sources []string, what func(report.BatchProblem) bool) planted {
	return planted{onlyDone, sources, func(i *invocation) {
		i.answers(func(failed []string) []string {
			return slices.DeleteFunc(failed, func(name string) bool { return what(i.problem(name)) })
		})
	}}
}

// adds lets an answer for a queue name more records.
func adds(rule string, what func(report.BatchProblem) bool) planted {
	return planted{rule, queues, func(i *invocation) {
		i.answers(func(failed []string) []string {
			for _, name := range i.names {
				if what(i.problem(name)) && !slices.Contains(failed, name) {
					failed = append(failed, name)
				}
			}
			return failed
		})
	}}
}

// names lets an answer with failures be another one. It gets all records that come again.
func names(rule string, sources []string, with func(i *invocation, again []string) string) planted {
	return planted{rule, sources, func(i *invocation) {
		i.answers(func(failed []string) []string {
			again := slices.DeleteFunc(slices.Clone(i.names), func(name string) bool { return !i.problem(name).Again })
			if len(failed) == 0 || len(again) == 0 {
				return failed
			}
			return []string{with(i, again)}
		})
	}}
}

// onFailure does something with each record whose handler failed.
func onFailure(rule string, sources []string, do func(i *invocation, name string)) planted {
	return planted{rule, sources, func(i *invocation) {
		i.answers(func(failed []string) []string {
			for _, name := range failed {
				if i.problem(name).Outcome == report.RecordFailed {
					do(i, name)
				}
			}
			return failed
		})
	}}
}

func outcome(o report.BatchOutcome) func(report.BatchProblem) bool {
	return func(p report.BatchProblem) bool { return p.Outcome == o }
}

func failure(err error) func(report.BatchProblem) bool {
	return func(p report.BatchProblem) bool { return errors.Is(p.Err, err) }
}

// problem is what the report of an invocation says of a record, nothing if it has succeeded or was
// not begun.
func (i *invocation) problem(name string) report.BatchProblem {
	for _, p := range i.report.Problems {
		if i.named(p.ID) == name {
			return p
		}
	}
	return report.BatchProblem{}
}
