package execution

import (
	"context"
	"reflect"
)

// Steps is the hook of a step: what the execution that a context belongs to does with it.
type Steps interface {
	// Step takes a step through the record of the execution. It returns nil if the effect has its
	// outcome: what it returned itself, or what was recorded of it, see [Effect.Accept].
	Step(ctx context.Context, name string, e Effect) *Fault
}

// Effect is the function of a step with what belongs to it. It remembers what came of it.
type Effect interface {
	// Result is the type of what the effect returns.
	Result() reflect.Type
	// Unfit says why values of the type of the result cannot be recorded, empty if they can.
	Unfit() string
	// Run calls the function, and returns its error, with marks.
	Run(ctx context.Context) error
	// Text is what is to be recorded of a function that has returned: the result, or the failure
	// that its error marks as terminal. The error is why there is none.
	Text() ([]byte, error)
	// AtMostOnce reports whether nobody may begin the effect again once somebody may have begun it,
	// and CanResolve whether there is somebody to ask then.
	AtMostOnce() bool
	CanResolve() bool
	// Resolve asks what became of an effect that has begun and that nobody recorded.
	Resolve(ctx context.Context, c Claim) (found Finding, text []byte, err error)
	// Accept takes what is recorded of the effect, in the place of what it returned. It returns an
	// error if that does not decode.
	Accept(text []byte, failure bool) error
	// Failure is the error that stands for an accepted failure.
	Failure() error
}

// Finding is what a resolver says of an earlier execution, or of an effect.
type Finding int

// The findings.
const (
	// StillUnknown: the downstream cannot tell yet.
	StillUnknown Finding = iota
	// HasExecuted: the execution had its effect.
	HasExecuted
	// Untouched: the execution had no effect and will have none.
	Untouched
)

// ValidStep reports whether a name can be that of a step.
func ValidStep(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == '/', c == '-':
		default:
			return false
		}
	}
	return true
}
