package main

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
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
	// open makes a handler on an empty store.
	open func(t *till) opened
}

type opened struct {
	// client returns what delivers under a key and reports the status of the answer, of which it
	// has looked at the body. Its result belongs to one goroutine.
	client func() func(key string) (status int, err error)
	close  func() error
}

// till is the handler: it counts.
type till struct{ executed atomic.Int64 }

func (t *till) charge() { t.executed.Add(1) }

const statusCreated = 201

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

func unexpected(status int, err error) error {
	return errors.Join(fmt.Errorf("the answer has status %d", status), err)
}
