package idempotent

import (
	"context"
	"errors"
	"reflect"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

// endingOf decides how an execution leaves its record: the mark first, then the policies. stored is asked only about a
// result that stands alone.
func (c *config) endingOf(ctx context.Context, err error, stored func() bool) ending {
	switch markOf(err) {
	case markNotExecuted:
		return ending{fate: fateRelease}
	case markTerminal:
		return ending{fate: fateComplete}
	case markUncertain:
		return ending{fate: fateUnknown, reason: reasonUncertain}
	case unmarked:
	}
	switch {
	case err == nil && stored():
		return ending{fate: fateComplete}
	case c.crash == Refuse && ctx.Err() != nil:
		// Whatever it made of it: many clients report the end of a context by an error of their own, and a handler may
		// answer it with a 504.
		return ending{fate: fateUnknown, reason: reasonInterrupted}
	case err == nil:
		return c.failedWith(reasonNotStored)
	case interrupted(ctx, err):
		return ending{fate: fateRelease}
	default:
		return c.failedWith(reasonError)
	}
}

func (c *config) failedWith(reason string) ending {
	if c.onError == UnknownOnError {
		return ending{fate: fateUnknown, reason: reason}
	}
	return ending{fate: fateRelease}
}

// interrupted reports whether err is or wraps the end of the handler's own context, which has come. While it has not,
// both are nil, which no error is.
func interrupted(ctx context.Context, err error) bool {
	return errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))
}

// failureOf is what Lambda would report of err.
func failureOf(err error) failure {
	err = stripped(err)
	if reported, ok := err.(messages.InvokeResponse_Error); ok { //nolint:errorlint // Lambda looks at the outermost type
		return failure{Type: reported.Type, Message: reported.Message}
	}
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return failure{Type: t.Name(), Message: err.Error()}
}

// Resolution is what a resolver found out, see [WithResolver]. Its zero value is [StillUnknown].
type Resolution[Out any] struct {
	verdict verdict
	out     Out
}

type verdict int

const (
	stillUnknown verdict = iota
	hasExecuted
	touchedNothing
)

// Executed says that the earlier execution had its effect, with this result: it is stored and returned.
func Executed[Out any](out Out) Resolution[Out] {
	return Resolution[Out]{verdict: hasExecuted, out: out}
}

// Untouched says that the earlier execution had no effect and will have none: the handler runs.
func Untouched[Out any]() Resolution[Out] {
	return Resolution[Out]{verdict: touchedNothing}
}

// StillUnknown says that the downstream cannot tell yet: the record is UNKNOWN, and the next delivery asks again.
func StillUnknown[Out any]() Resolution[Out] {
	return Resolution[Out]{}
}
