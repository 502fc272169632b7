package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/velmie/idempo"
	idempomemory "github.com/velmie/idempo/memory"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// storeKeys are the keys of one store; when all are used, another store begins.
var storeKeys = func() []string {
	keys := make([]string, 1<<16)
	for i := range keys {
		keys[i] = uuidOf(uint64(i))
	}
	return keys
}()

// uuidOf is a key of the length that all libraries accept.
func uuidOf(n uint64) string {
	digits := strconv.AppendUint([]byte("5f0c7d7e-3f1c-4d52-8a6e-"), 1e11+n, 10)
	return string(digits)
}

const smallResult = `{"charge":"ch_3PqX7c2eZvKYlo2C","amount":1999}`

var (
	errNotTaken   = errors.New("the key was not taken")
	errNotRefused = errors.New("the key was taken")
)

// measureMemoryStore compares the stores alone.
func measureMemoryStore(rounds int) (table, error) {
	const ours, theirs = "memory.Store", "idempo/memory"
	return measureGroups("The stores in memory alone, called as their libraries do, with a result of 50 bytes.", []group{
		{"first: take a key and complete it", []measured{
			{name: theirs, run: idempoFirst},
			{name: ours, run: ourFirst, goals: goals{whole: 2500 * time.Nanosecond}},
		}},
		{"replay: refused, with the result", []measured{
			{name: theirs, run: idempoRefusal(true)},
			{name: ours, run: ourRefusal(true), goals: goals{whole: time.Microsecond}},
		}},
		{"conflict: refused, still running", []measured{
			{name: theirs, run: idempoRefusal(false)},
			{name: ours, run: ourRefusal(false)},
		}},
	}, rounds)
}

// claimed is the record of a claim, as the core makes it.
func claimed(key string, now time.Time) store.Record {
	return store.Record{
		Key: key, Status: store.StatusInProgress, Owner: "5QVLTNWMNVMGBN3RQ5S4UJ2AWE",
		Lease: now.Add(timeout), Expiry: now.Add(retention), Attempt: 1, CreatedAt: now,
	}
}

func complete(ctx context.Context, s *memory.Store, r store.Record) error {
	done := r
	done.Status, done.Result = store.StatusCompleted, []byte(smallResult)
	_, swapped, err := s.Swap(ctx, r, done)
	if err == nil && !swapped {
		err = errNotTaken
	}
	return err
}

func ourFirst(n int) error {
	ctx, now := context.Background(), time.Now().Truncate(time.Second)
	var s *memory.Store
	for i := range n {
		if i%len(storeKeys) == 0 {
			s = memory.New()
		}
		r := claimed(storeKeys[i%len(storeKeys)], now)
		if _, taken, err := s.Claim(ctx, r, now); err != nil || !taken {
			return errors.Join(errNotTaken, err)
		}
		if err := complete(ctx, s, r); err != nil {
			return err
		}
	}
	return nil
}

func ourRefusal(isCompleted bool) func(n int) error {
	ctx, now, s := context.Background(), time.Now().Truncate(time.Second), memory.New()
	for _, key := range storeKeys {
		r := claimed(key, now)
		_, _, err := s.Claim(ctx, r, now)
		if err == nil && isCompleted {
			err = complete(ctx, s, r)
		}
		if err != nil {
			return func(int) error { return err }
		}
	}
	return func(n int) error {
		for i := range n {
			held, taken, err := s.Claim(ctx, claimed(storeKeys[i%len(storeKeys)], now), now)
			if err != nil || taken || (held.Result != nil) != isCompleted {
				return errors.Join(errNotRefused, err)
			}
		}
		return nil
	}
}

func idempoFirst(n int) (err error) {
	var s *idempomemory.Store
	for i := range n {
		if i%len(storeKeys) == 0 {
			if s != nil {
				_ = s.Close() // always nil: it ends a goroutine
			}
			s = idempomemory.New()
		}
		if err := idempoComplete(s, storeKeys[i%len(storeKeys)], true); err != nil {
			return err
		}
	}
	return s.Close()
}

func idempoComplete(s *idempomemory.Store, key string, isCompleted bool) error {
	ctx := context.Background()
	entry, taken, err := s.Create(ctx, key, idempo.Fingerprint{}, retention)
	if err != nil || !taken {
		return errors.Join(errNotTaken, err)
	}
	if !isCompleted {
		return nil
	}
	return s.SetResponse(ctx, key, entry.Token, &idempo.Response{Body: []byte(smallResult)}, retention)
}

// idempoRefusal keeps its store for the life of the process, and with it a goroutine that sleeps.
func idempoRefusal(isCompleted bool) func(n int) error {
	s := idempomemory.New()
	for _, key := range storeKeys {
		if err := idempoComplete(s, key, isCompleted); err != nil {
			return func(int) error { return err }
		}
	}
	return func(n int) error {
		for i := range n {
			entry, taken, err := s.Create(context.Background(), storeKeys[i%len(storeKeys)], idempo.Fingerprint{}, retention)
			if err != nil || taken || (entry.Response != nil) != isCompleted {
				return errors.Join(errNotRefused, err)
			}
		}
		return nil
	}
}

// The libraries, each with its store in memory.

const aboutMemory = " Each library has its own store in memory. By value, an order of two fields is the event and its id is the key. Of an HTTP " +
	"request, with a body of 500 bytes, the key is a header, and this library and idempo compare the request by its fingerprint; " +
	"fiber does not. Requests are built once and only their key changes."

func measureMemoryFirst(rounds int) (table, error) {
	return measureLibraries("First executions of a handler that does nothing."+aboutMemory, rounds, libraries, func(l library) func(int) error {
		return func(n int) error {
			for done := 0; done < n; done += len(storeKeys) {
				if err := l.firsts(min(n-done, len(storeKeys))); err != nil {
					return err
				}
			}
			return nil
		}
	})
}

func measureMemoryReplay(rounds int) (table, error) {
	return measureLibraries("Deliveries of a key that was completed."+aboutMemory, rounds, libraries,
		func(l library) func(int) error { return l.replays })
}

func measureMemoryConflict(rounds int) (table, error) {
	return measureLibraries("Deliveries of a key whose execution is still running."+aboutMemory+
		" fiber waits for the other execution, and so is not here.", rounds, refusing,
		func(l library) func(int) error { return l.conflicts })
}

func measureLibraries(about string, rounds int, of [][]library, run func(library) func(int) error) (table, error) {
	groups := make([]group, 0, 2)
	for i, heading := range []string{"by value", "HTTP request"} {
		g := group{heading: heading}
		for _, l := range of[i] {
			g.cases = append(g.cases, measured{name: l.name, run: run(l)})
		}
		groups = append(groups, g)
	}
	return measureGroups(about, groups, rounds)
}

// library is one of those that are compared.
type library struct {
	name string
	// open makes a handler on an empty store.
	open func(t *till) opened
}

type opened struct {
	// client returns what delivers under a key and reports the status of the answer, of which it has looked at the body. Its
	// result belongs to one goroutine.
	client func() func(key string) (status int, err error)
	close  func() error
}

// till is the handler: it counts, and waits if it is told to.
type till struct {
	executed atomic.Int64
	entered  chan struct{} // nil if it does not wait
	release  chan struct{}
}

func (t *till) charge() {
	t.executed.Add(1)
	if t.entered != nil {
		t.entered <- struct{}{}
		<-t.release
	}
}

const (
	statusCreated  = 201
	statusConflict = 409
)

func (l library) firsts(n int) error {
	var t till
	o := l.open(&t)
	deliver := o.client()
	for _, key := range storeKeys[:n] {
		if status, err := deliver(key); err != nil || status != statusCreated {
			return unexpected(status, err)
		}
	}
	if executed := t.executed.Load(); executed != int64(n) {
		return fmt.Errorf("%d keys executed %d times", n, executed)
	}
	return o.close()
}

func (l library) replays(n int) error {
	var t till
	o := l.open(&t)
	deliver := o.client()
	for range n + 1 {
		if status, err := deliver(storeKeys[0]); err != nil || status != statusCreated {
			return unexpected(status, err)
		}
	}
	if executed := t.executed.Load(); executed != 1 {
		return fmt.Errorf("one key executed %d times", executed)
	}
	return o.close()
}

func (l library) conflicts(n int) error {
	t := till{entered: make(chan struct{}), release: make(chan struct{})}
	o := l.open(&t)
	first := make(chan error)
	go func() {
		status, err := o.client()(storeKeys[0])
		if err == nil && status != statusCreated {
			err = unexpected(status, nil)
		}
		first <- err
	}()
	<-t.entered
	err := refuse(o.client(), n)
	close(t.release)
	if err := errors.Join(err, <-first); err != nil {
		return err
	}
	if executed := t.executed.Load(); executed != 1 {
		return fmt.Errorf("one key executed %d times", executed)
	}
	return o.close()
}

func refuse(deliver func(key string) (int, error), n int) error {
	for range n {
		if status, err := deliver(storeKeys[0]); err != nil || status != statusConflict {
			return unexpected(status, err)
		}
	}
	return nil
}

func unexpected(status int, err error) error {
	return errors.Join(fmt.Errorf("the answer has status %d", status), err)
}
