package batch

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// guarded calls f, and returns its error, or a [*PanicError] if it panics or ends its goroutine.
func guarded(f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if value := recover(); !returned {
				err = &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		err = f()
		returned = true
	}()
	<-done
	return err
}

// PanicError is the error of a function that has panicked, or has ended its goroutine. Its text has
// the type of the value alone, a log also the stack.
type PanicError struct {
	// Value is what it panicked with, nil for runtime.Goexit.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "it ended its goroutine"
	}
	return fmt.Sprintf("it panicked with a value of type %T", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LogValue implements [slog.LogValuer].
func (e *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("message", e.Error()), slog.String("stack", string(e.Stack)))
}
