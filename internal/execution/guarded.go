package execution

import (
	"runtime/debug"

	"github.com/go-idempotent/idempotent/report"
)

// Guarded calls f in a goroutine of its own, and returns its error, or a [*report.PanicError] if it
// panics or ends its goroutine.
func Guarded(f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if value := recover(); !returned {
				err = &report.PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		err = f()
		returned = true
	}()
	<-done
	return err
}
