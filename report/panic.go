package report

import (
	"fmt"
	"log/slog"
)

// PanicError is the error of a function that has panicked, or has ended its goroutine. Its text has
// the type of the value alone, because the value may repeat what the function knows. A log gets the
// stack, too.
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
