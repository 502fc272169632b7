package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// timeout is that of the function.
const timeout = 10 * time.Second

var errDied = errors.New("the process has died")

// world is a history while it is played in fake time. Invocations run at the same time: the mutex
// guards what they share, and is never held while anything waits.
type world struct {
	history

	mu      sync.Mutex
	records *memory.Store
	source  source
	running sync.WaitGroup
	calm    bool // nothing goes wrong any more
	// results are what is stored, by record key, and keys are the record keys, by the keys of
	// records. took are the names of the records that a function of the configuration has taken.
	results map[string]result
	keys    map[string]string
	took    map[string]bool
	// seen counts what has happened, runs and points among it.
	seen   map[string]int
	story  []string
	began  time.Time
	broken error
}

// result is what the store keeps of an execution.
type result struct {
	of   sent
	ends string
}

// play plays a history. In the end nothing goes wrong any more, and everything is handed over time
// after time.
func (h history) play(t *testing.T) (w *world) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w = &world{
			history: h, records: memory.New(), began: time.Now(), results: map[string]result{},
			keys: map[string]string{}, took: map[string]bool{}, seen: map[string]int{},
		}
		q := &queueModel{world: w}
		byKey := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil }, memory.New(),
			operation(), idempotent.WithKey(func(key string) (string, error) { return key, nil }))
		for _, s := range h.Sent {
			d, _ := byKey.Describe(context.Background(), s.Key) // none without a key
			w.keys[s.Key] = d.RecordKey
			q.messages = append(q.messages, &message{sent: s})
		}
		if w.source = q; h.stream() {
			w.source = &shardModel{world: w}
		}
		for _, one := range h.Polls {
			time.Sleep(one.After)
			w.poll(one.Pick)
		}
		w.running.Wait()
		w.calmDown()
	})
	return w
}

// poll hands a batch over. It reports whether there was one.
func (w *world) poll(p pick) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := &invocation{
		world: w, deadline: time.Now().Add(timeout), deliveries: map[string]*delivery{},
		endings: map[string]string{}, done: map[string]bool{},
	}
	if i.names = w.source.next(p, i); len(i.names) == 0 {
		return false
	}
	i.no = w.saw("invocation")
	w.sayf("invocation %d gets %v", i.no, i.names)
	w.running.Go(i.run)
	return true
}

// calmDown hands over what there is. After a while an operator finds that what is unknown has not
// happened, and deletes the record.
func (w *world) calmDown() {
	w.calm = true
	for round := range 30 {
		time.Sleep(2 * max(w.Visibility, timeout+2*time.Second))
		for _, key := range w.keys {
			held, found, _ := w.records.Get(context.Background(), key)
			if found && round > 1 && held.Status == store.StatusUnknown {
				_, _ = w.records.Delete(context.Background(), held)
			}
		}
		for w.poll(ordinary) {
			w.running.Wait()
			if w.stream() {
				break // it would come again at once
			}
		}
	}
	w.check("every record ends once nothing goes wrong", everyRecordEnds(w))
}

func (w *world) sayf(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%v: ", time.Since(w.began))+fmt.Sprintf(format, args...))
}

// saw counts what has happened, this time included.
func (w *world) saw(what string) int {
	w.sayf("  %s", what)
	w.seen[what]++
	return w.seen[what]
}

func (w *world) index(name string) int {
	return slices.IndexFunc(w.Sent, func(s sent) bool { return s.Name == name })
}

func (w *world) record(name string) sent { return w.Sent[w.index(name)] }

// key is the record key of a record, empty if it has none.
func (w *world) key(name string) string { return w.keys[w.record(name).Key] }

// number is the sequence number of a record. They get longer: nobody may compare them as texts.
func (w *world) number(name string) int { return 98 + w.index(name) }

// named is the name of the record that an identifier of an answer or a report stands for, and the
// identifier if there is none.
func (w *world) named(id string) string {
	for _, s := range w.Sent {
		number := strconv.Itoa(w.number(s.Name))
		if slices.Contains([]string{"id-" + s.Name, "event-" + s.Name, number, "shardId-000000000000:" + number}, id) {
			return s.Name
		}
	}
	return id
}

// check notes that a rule of I12, see docs/guarantees.md, does not hold. A rule says what is wrong,
// and "" if nothing is.
func (w *world) check(rule, wrong string) {
	if wrong != "" && w.broken == nil {
		w.sayf("%s", wrong)
		w.broken = fmt.Errorf("%s: %s", rule, wrong)
	}
}

func when(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func answerNamesRecords(i *invocation) string {
	if i.stream() && len(i.failed) > 1 {
		return "more than one sequence number"
	}
	for n, name := range i.failed {
		if !slices.Contains(i.names, name) || slices.Contains(i.failed[:n], name) {
			return fmt.Sprintf("%q", name)
		}
	}
	return ""
}

func acknowledgedIsDone(i *invocation) string {
	for _, name := range i.names {
		named := slices.Contains(i.failed, name)
		if named && i.stream() {
			return "" // what is behind the checkpoint comes again
		}
		if !named && !i.isDone(name) {
			return name + " is acknowledged"
		}
	}
	return ""
}

// isDone says whether a record need not come again: an execution of it has ended for good, in this
// invocation or as the store says, and the functions of the configuration that are to have it have
// it.
func (i *invocation) isDone(name string) bool {
	s := i.record(name)
	if stored, is := i.results[i.key(name)]; is && stored.of.Amount == s.Amount {
		return i.took[name] || !i.Terminal || stored.ends != failsForEver
	}
	return i.took[name] || i.done[name] // the store could not keep it, which does not undo it
}

func doneIsNotNamed(i *invocation) string {
	for _, name := range i.failed {
		if i.done[name] && i.isDone(name) {
			return name + " is named"
		}
	}
	return ""
}

func groupKeepsItsOrder(i *invocation, name string) string {
	for _, before := range i.Sent {
		if before.Name == name || i.Source == standard {
			break
		}
		if before.group() == name[:1] && !i.source.ended(before.Name) && !i.isDone(before.Name) {
			return fmt.Sprintf("%s runs before %s", name, before.Name)
		}
	}
	return ""
}

func everyRecordEnds(w *world) string {
	for _, s := range w.Sent {
		if !w.source.ended(s.Name) {
			return s.Name + " comes again and again"
		}
	}
	return ""
}

func nothingIsBegunLate(i *invocation, key string) string {
	left := time.Until(i.deadline)
	return when(!i.delivery(key).inside && left < time.Second, "a record begins with %v left", left)
}

func copiesTakeTurns(i *invocation, key string) string {
	return when(i.delivery(key).running, "two copies at once")
}

func runsOnce(i *invocation, name string) string {
	return when(!i.stream() && i.endings[name] != "", "%s runs again", name)
}

func functionGetsItsOwn(i *invocation, at, name string) string {
	key := i.key(name)
	its := i.delivery(key).answered(report.MissingKey, report.Mismatch, report.UnknownOutcome)
	if at == atTerminal {
		its = i.results[key].ends == failsForEver || i.endings[name] == failsForEver
	}
	return when(!its, "%s: %s", at, name)
}

func visibilityIsThatOfTheLease(i *invocation, names []string, after time.Duration) string {
	first := names[0]
	held, _, _ := i.records.Get(context.Background(), i.key(first))
	var with []string
	for n, name := range i.names[slices.Index(i.names, first):] {
		if n == 0 || i.Source == fifo && name[:1] == first[:1] {
			with = append(with, name)
		}
	}
	running := i.delivery(i.key(first)).answered(report.InProgress, report.Superseded)
	least := max(0, time.Until(held.Lease)-time.Second)
	return when(!running || after <= 0 || held.Status == store.StatusInProgress && after < least ||
		!slices.Equal(names, with) || slices.ContainsFunc(names, func(name string) bool { return i.done[name] }),
		"%v come again after %v: executed elsewhere: %v for %v, with those behind: %v", names, after, running, least, with)
}

func oneExecution(i *invocation, name string) string {
	_, stored := i.results[i.key(name)]
	return when(stored, "%s has a result already", name)
}
