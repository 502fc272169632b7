package main

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// storeKeys are the keys of one store, of a form that all libraries accept; when all are used,
// another store begins.
var storeKeys = func() []string {
	keys := make([]string, 1<<16)
	for i := range keys {
		keys[i] = fmt.Sprintf("5f0c7d7e-3f1c-4d52-8a6e-%d", 100_000_000_000+i)
	}
	return keys
}()

const smallResult = `{"charge":"ch_3PqX7c2eZvKYlo2C","amount":1999}`

const aboutMemory = `
Each library has its own store in memory. By value, an order of two fields is the event and its id is the key.
Of an HTTP request, with a body of 500 bytes, the key is a header. Requests are built once and only their key
changes.`

// ofLibraries measures the libraries, each with its store in memory.
func ofLibraries(about string, run func(l library, n int) error) func(rounds int) (table, error) {
	groups := []group{{heading: "by value"}, {heading: "HTTP request"}}
	for i := range groups {
		for _, l := range libraries[i] {
			m := measured{name: l.name, run: func(n int) error { return run(l, n) }}
			groups[i].cases = append(groups[i].cases, m)
		}
	}
	return func(rounds int) (table, error) { return measureGroups(about+aboutMemory, groups, rounds) }
}

// library is one of those that are compared.
type library struct {
	name string
	// open makes a handler on an empty store. deliver delivers under a key and reports the status
	// of the answer, of which it has looked at the body. It belongs to one goroutine.
	open func(t *till) (deliver delivery, end func() error)
}

// till is the handler: it counts.
type till struct{ executed atomic.Int64 }

func (t *till) charge() { t.executed.Add(1) }

const statusCreated = 201

// firsts delivers under n keys, each of which has to execute.
func (l library) firsts(n int) error {
	for done := 0; done < n; done += len(storeKeys) {
		some := min(n-done, len(storeKeys))
		what := fmt.Sprintf("%d keys", some)
		if err := l.deliver(some, int64(some), what, func(i int) string { return storeKeys[i] }); err != nil {
			return err
		}
	}
	return nil
}

// replays delivers under one key, which executes once, and n times again.
func (l library) replays(n int) error {
	return l.deliver(n+1, 1, "one key", func(int) string { return storeKeys[0] })
}

func (l library) deliver(times int, executions int64, what string, key func(i int) string) error {
	var t till
	deliver, end := l.open(&t)
	for i := range times {
		if status, err := deliver(key(i)); err != nil || status != statusCreated {
			return errors.Join(fmt.Errorf("the answer has status %d", status), err)
		}
	}
	if executed := t.executed.Load(); executed != executions {
		return fmt.Errorf("%s executed %d times", what, executed)
	}
	return end()
}
