package batch

import (
	"runtime/debug"
	"sync"
)

// guarded calls f, and returns an error if it panics or ends its goroutine.
func guarded(f func()) error {
	var fault error
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if value := recover(); !returned {
				fault = &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		f()
		returned = true
	}()
	<-done
	return fault
}

// keys lets one record at a time have a key, in the order in which they ask for it. The zero value
// is ready. Who waits for a channel stands still in a bubble of testing/synctest, and who waits for
// a mutex does not.
type keys struct {
	mu sync.Mutex
	// last is closed when whoever asked last for a key has given it back.
	last map[string]chan struct{}
}

// turn is a place in the line for a key. The zero value waits for nobody.
type turn struct{ before, mine chan struct{} }

// ask gets in line for a key. An empty key is free for everybody.
func (k *keys) ask(key string) turn {
	if key == "" {
		return turn{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = map[string]chan struct{}{}
	}
	t := turn{before: k.last[key], mine: make(chan struct{})}
	k.last[key] = t.mine
	return t
}

// wait waits until those before have given the key back.
func (t turn) wait() {
	if t.before != nil {
		<-t.before
	}
}

// leave gives the key back.
func (t turn) leave() {
	if t.mine != nil {
		close(t.mine)
	}
}
