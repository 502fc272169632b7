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

// The libraries, each with its store in memory.

const aboutMemory = " Each library has its own store in memory. By value, an order of two fields is the event and " +
	"its id is the key. Of an HTTP " +
	"request, with a body of 500 bytes, the key is a header. Requests are built once and only their key changes."

func measureMemoryFirst(rounds int) (table, error) {
	return measureLibraries("First executions of a handler that does nothing."+aboutMemory, rounds,
		func(l library) func(int) error {
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
	return measureLibraries("Deliveries of a key that was completed."+aboutMemory, rounds,
		func(l library) func(int) error { return l.replays })
}

func measureLibraries(about string, rounds int, run func(library) func(int) error) (table, error) {
	groups := make([]group, 0, 2)
	for i, heading := range []string{"by value", "HTTP request"} {
		g := group{heading: heading}
		for _, l := range libraries[i] {
			g.cases = append(g.cases, measured{name: l.name, run: run(l)})
		}
		groups = append(groups, g)
	}
	return measureGroups(about, groups, rounds)
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
	return l.deliver(n, int64(n), fmt.Sprintf("%d keys", n), func(i int) string { return storeKeys[i] })
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
