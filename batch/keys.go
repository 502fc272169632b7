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
			if value := recover(); value != nil || !returned {
				fault = &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		f()
		returned = true
	}()
	<-done
	return fault
}

// keys lets one goroutine at a time have a key. The zero value is ready. Who waits for a channel stands still in a bubble of testing/synctest, and who
// waits for a mutex does not.
type keys struct {
	mu    sync.Mutex
	locks map[string]chan struct{}
}

// lock waits for a key, and returns what gives it back. An empty key is free for everybody.
func (k *keys) lock(key string) (unlock func()) {
	if key == "" {
		return func() {}
	}
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]chan struct{}{}
	}
	l := k.locks[key]
	if l == nil {
		l = make(chan struct{}, 1)
		k.locks[key] = l
	}
	k.mu.Unlock()
	l <- struct{}{}
	return func() { <-l }
}
