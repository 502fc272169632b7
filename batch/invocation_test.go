package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// invocation is one run of the function, in a process of its own.
type invocation struct {
	*world

	no       int
	names    []string
	deadline time.Time
	cancel   context.CancelFunc
	killed   bool
	failed   []string
	report   report.Batch
	// deliveries are those of record keys, endings those of handlers by the names of records. done
	// are the records that need not come again, because of what happened here.
	deliveries map[string]*delivery
	endings    map[string]string
	done       map[string]bool
}

// delivery is the last one of a record key in an invocation: whether it is under way, for which
// record its handler was called, whether that runs, and how it and those before were answered.
type delivery struct {
	inside, running bool
	of              string
	outcomes        []report.Outcome
}

// answered reports whether one of them was answered in one of these ways. Several records may have
// one key, and which of them a function of the configuration is told of is not said.
func (d *delivery) answered(ways ...report.Outcome) bool {
	return slices.ContainsFunc(d.outcomes, func(o report.Outcome) bool { return slices.Contains(ways, o) })
}

func (i *invocation) delivery(key string) *delivery {
	if i.deliveries[key] == nil {
		i.deliveries[key] = &delivery{}
	}
	return i.deliveries[key]
}

// dead reports whether nothing that the invocation does has an effect any more.
func (i *invocation) dead() bool { return i.killed || !time.Now().Before(i.deadline) }

// strike is what goes wrong now at a point, "" if nothing does. It ends the process if that is it.
func (i *invocation) strike(at string) string {
	nth := i.saw(at)
	for _, f := range i.Faults {
		if f.At != at || f.Nth != nth || i.calm {
			continue
		}
		i.saw("fault of " + at)
		i.saw(f.Is)
		if f.Is == diesBefore || f.Is == diesAfter {
			i.killed = true
			i.cancel()
		}
		return f.Is
	}
	return ""
}

// run is the goroutine of an invocation.
func (i *invocation) run() {
	ctx, cancel := context.WithDeadline(context.Background(), i.deadline)
	defer cancel()
	i.cancel = cancel
	failed, err := i.function()(ctx, i.names)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dead() {
		i.saw("no answer")
		i.source.ends(i, false)
		return
	}
	i.failed = failed
	i.sayf("invocation %d answers %v, %v", i.no, failed, err)
	i.check("an answer names records of the event, and never nothing", answerNamesRecords(i))
	if err == nil {
		i.check("only what is done is acknowledged", acknowledgedIsDone(i))
		i.check("what is done in a batch is not named", doneIsNotNamed(i))
	}
	i.source.ends(i, i.strike(atAnswer) == "" && err == nil)
}

// calls says what becomes of a call of the store.
func (i *invocation) calls(c calls.Call) calls.Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dead() {
		return calls.Deny
	}
	if key := c.Next.Key; c.Op == calls.Claim {
		i.check("nothing is begun without the time for it", nothingIsBegunLate(i, key))
		i.check("copies run one after the other", copiesTakeTurns(i, key))
		if d := i.delivery(key); !d.inside {
			d.inside, d.of = true, ""
		}
	}
	return ofStore[i.strike(atCall)]
}

// watched is the store of an invocation. It tells what is stored.
type watched struct {
	*memory.Store

	*invocation
}

func (s watched) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // nobody meets the record before it is noted
	held, done, err := s.Store.Swap(ctx, seen, next)
	switch name := s.delivery(next.Key).of; {
	case !done:
	case next.Status == store.StatusCompleted:
		s.check("one execution is committed", oneExecution(s.invocation, name))
		s.results[next.Key] = result{of: s.record(name), ends: s.endings[name]}
	case next.Owner != seen.Owner:
		s.saw("a takeover")
	}
	return held, done, err
}

// handle is the handler.
func (i *invocation) handle(name string) error {
	r, d := i.begin(name)
	time.Sleep(r.Takes)
	i.mu.Lock()
	d.running = false
	dead := i.dead() || i.strike(atHandler) != ""
	i.mu.Unlock()
	if dead {
		return errDied
	}
	return endings[r.Ends]()
}

func (i *invocation) begin(name string) (r run, d *delivery) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.check("a group keeps its order", groupKeepsItsOrder(i, name))
	i.check("a message runs once in a batch", runsOnce(i, name))
	i.check("one execution is committed", oneExecution(i, name))
	r, d = run{Ends: succeeds}, i.delivery(i.key(name))
	if nth := i.saw("the handler of " + name); nth <= len(i.record(name).Runs) && !i.calm {
		r = i.record(name).Runs[nth-1]
	}
	i.saw("the handler " + r.Ends)
	d.of, d.running, i.endings[name] = name, true, r.Ends
	return r, d
}

// answered notes that a delivery has ended.
func (i *invocation) answered(_ context.Context, r report.Delivery) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d := i.delivery(r.RecordKey)
	i.saw("delivery: " + string(r.Outcome))
	d.inside, d.outcomes = false, append(d.outcomes, r.Outcome)
	if d.of != "" && r.Outcome == report.Executed {
		_, stored := i.results[r.RecordKey]
		i.done[d.of] = i.endings[d.of] == succeeds || i.endings[d.of] == failsForEver && stored && !i.Terminal
	}
}

// take is the function of the configuration for final failures, or that for poison.
func (i *invocation) take(at, name string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.check("a function gets what it is for", functionGetsItsOwn(i, at, name))
	return i.changes(at, func() { i.took[name], i.done[name] = true, true })
}

// setVisibility is the function of the configuration for that.
func (i *invocation) setVisibility(names []string, after time.Duration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.check("the visibility is that of the lease, of messages that come again", visibilityIsThatOfTheLease(i, names, after))
	return i.changes(atVisibility, func() {
		q := i.source.(*queueModel) // streams have none
		q.change(names, i, after)
	})
}

// changes is how a function of the configuration ends.
func (i *invocation) changes(at string, change func()) error {
	if i.dead() {
		return errDied
	}
	f := i.strike(at)
	switch f {
	case "", replyLost, diesAfter:
		change()
	case late:
		time.AfterFunc(7*time.Second, func() {
			i.mu.Lock()
			defer i.mu.Unlock()
			change()
		})
	case hangs:
		panic(errDown)
	}
	if f != "" {
		return errDown
	}
	return nil
}

// function handles the records of one invocation, by their names. It returns those that its answer
// names.
type function func(ctx context.Context, names []string) (failed []string, err error)

// function is that of package batch.
func (i *invocation) function() function {
	var visible func(context.Context, []events.SQSMessage, time.Duration) error
	if i.Visible {
		visible = func(_ context.Context, all []events.SQSMessage, after time.Duration) error {
			var names []string
			for _, m := range all {
				names = append(names, m.Body)
			}
			return i.setVisibility(names, after)
		}
	}
	switch i.Source {
	case kinesis:
		return functionOf(i, batch.Kinesis[string], nameOfRecord, onShard, nil)
	case dynamoDB:
		return functionOf(i, batch.DynamoDB[string], nameOfChange, changes, nil)
	case fifo:
		return functionOf(i, batch.SQS[string], nameOfMessage, func(_ int, names ...string) events.SQSEvent {
			return inGroups(names...)
		}, visible)
	default:
		return functionOf(i, batch.SQS[string], nameOfMessage, func(_ int, names ...string) events.SQSEvent {
			return messages(names...)
		}, visible)
	}
}

func functionOf[R, E, A any](i *invocation,
	batches func(*idempotent.Handler[R, string], ...batch.Config[R]) func(context.Context, E) (A, error),
	name func(R) string, event func(first int, names ...string) E,
	visible func(context.Context, []events.SQSMessage, time.Duration) error,
) function {
	h := idempotent.Wrap(func(_ context.Context, r R) (string, error) { return "", i.handle(name(r)) },
		calls.NewFaulty(watched{i.records, i}, i.calls), operation(), idempotent.WithObserver(i.answered),
		idempotent.WithKey(func(r R) (string, error) { return i.record(name(r)).Key, nil }),
		idempotent.WithFingerprint(func(r R) (any, error) { return i.record(name(r)).Amount, nil }))
	c := batch.Config[R]{
		Concurrency: i.Concurrency, Visibility: visible,
		Observers: []func(context.Context, report.Batch){func(_ context.Context, r report.Batch) {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.report = r
		}},
	}
	takes := func(at string) func(context.Context, R, error) error {
		return func(_ context.Context, r R, _ error) error { return i.take(at, name(r)) }
	}
	if i.Terminal {
		c.Terminal = takes(atTerminal)
	}
	if i.Poison {
		c.Poison = takes(atPoison)
	}
	f := batches(h, c)
	return func(ctx context.Context, names []string) (failed []string, err error) {
		answer, err := f(ctx, event(i.number(names[0]), names...))
		text, broken := json.Marshal(answer)
		var form events.SQSEventResponse // as of every source
		if broken = errors.Join(broken, json.Unmarshal(text, &form)); broken != nil {
			panic(broken)
		}
		for _, one := range form.BatchItemFailures {
			failed = append(failed, i.named(one.ItemIdentifier))
		}
		return failed, err
	}
}
