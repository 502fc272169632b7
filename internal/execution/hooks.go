package execution

import (
	"context"
	"reflect"
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

// Steps is the hook of a step: what the execution that a context belongs to does with it.
type Steps interface {
	// Step takes a step through the record of the execution. It returns nil if the effect has its
	// outcome: its own, or what was recorded of it, see [Effect.Accept].
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
	// Text is what is to be recorded of a function that has returned: the result, or its terminal
	// failure. The error is why there is none.
	Text() ([]byte, error)
	// AtMostOnce reports whether nobody may begin the effect again once somebody may have begun it.
	AtMostOnce() bool
	// Resolve asks what became of an effect that has begun and that nobody recorded. Where there is
	// nobody to ask, it is still unknown.
	Resolve(ctx context.Context, c Claim) (found Finding, text []byte, err error)
	// Accept takes what is recorded of the effect, a value or a failure, in the place of what it
	// returned. It returns the error that stands for the failure, and one if that does not decode.
	Accept(text []byte, failed bool) (failure, err error)
}

// Finding is what a resolver says of an earlier execution, or of an effect.
type Finding int

// The findings.
const (
	StillUnknown Finding = iota // the downstream cannot tell yet
	HasExecuted                 // the execution had its effect
	Untouched                   // the execution had no effect and will have none
)

const stepCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-"

// ValidStep reports whether a name can be that of a step.
func ValidStep(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, stepCharacters) == ""
}

// Commits is the hook of a commit: what the execution that a context belongs to does with it.
type Commits interface {
	// Commit completes the record of the execution with the answer and applies the writes with it,
	// both or neither. If unfit is not nil, it says why there are no writes, and nothing is sent.
	// Commit returns nil if it has happened, an error of the store that is
	// [store.ErrWritesRefused], or a [Fault] in its documented form.
	Commit(ctx context.Context, answer any, writes store.Writes, unfit error) error
}
