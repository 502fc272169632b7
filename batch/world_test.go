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
