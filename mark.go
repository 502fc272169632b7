package idempotent

import (
	"context"
	"reflect"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/gateway"
)

// NotExecuted marks an error of which the handler knows that nothing happened. The key is released,
// whatever the effects are, and a retry executes. A mark counts also inside of errors that wrap it,
// and is removed before the error reaches Lambda. A nil error stays nil.
func NotExecuted(err error) error { return execution.Marked(err, execution.NotExecuted) }

// Terminal marks an error that is final. It is stored, and every retry gets it again, with the same
// Lambda error type and message. A nil error stays nil.
func Terminal(err error) error { return execution.Marked(err, execution.Terminal) }

// Uncertain marks an error after which the effect may have happened, such as a timeout. The record
// becomes UNKNOWN: nobody executes again until it is settled. A nil error stays nil.
func Uncertain(err error) error { return execution.Marked(err, execution.Uncertain) }

// Mark notes an error for a handler that cannot return one, such as an http.Handler behind an
// adapter: it counts as if the HTTP handler had returned err beside its response, which is the
// answer. The mark of err ([NotExecuted], [Terminal], [Uncertain]) decides about the record.
// Without a mark the execution has failed: the response is not stored, and [WithEffects] decides.
//
// Mark can be called several times, from any goroutine. Of all marks, that of the error which the
// handler returned included, the most cautious one counts: Uncertain, Terminal, NotExecuted. The
// observer gets up to 20 of the errors, see [report.Delivery.Err]. If the handler panics, an
// Uncertain counts, and nothing else.
//
// A nil error is ignored, and so is one that is noted after the handler has returned, or in one
// that runs unprotected. A handler that is no HTTP handler fails with what was noted.
//
// ctx is the handler's, or one made from it, such as the context of the http.Request. In a context
// that belongs to no delivery Mark panics with a [*LostContextError]. In a test,
// idempotenttest.Context takes marks, and idempotenttest.Marked tells them.
func Mark(ctx context.Context, err error) {
	if err == nil {
		return
	}
	c, ok := execution.From(ctx)
	switch {
	case ok:
		c.Notes.Add(err)
	case !execution.IsUnprotected(ctx):
		panic(&LostContextError{Function: "Mark", Err: err})
	}
}

// ReplayedError is the error that [Handler.Handle] returns when a [Terminal] error is replayed.
// When [Handler.Invoke] replays it, Lambda reports Type and Message, as it did the first time.
type ReplayedError struct {
	// Type is the name of the Go type of the first error, and Message its text.
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (e *ReplayedError) Error() string { return e.Message }

// Is reports whether target is what a final failure of another execution is.
func (e *ReplayedError) Is(target error) bool { return target == execution.ErrFinal }

// failureOf returns what Lambda would report for err: the name of its Go type, and its text.
func failureOf(err error) ReplayedError {
	err = reported(execution.Stripped(err))
	if reported, ok := err.(messages.InvokeResponse_Error); ok { //nolint:errorlint // Lambda looks at the outermost type
		return ReplayedError{Type: reported.Type, Message: reported.Message}
	}
	return ReplayedError{Type: gateway.ElemOf(reflect.TypeOf(err)).Name(), Message: err.Error()}
}

// reported returns an error as Lambda reports it: one of this package under its name, and the
// replayed error of another handler as the first one was.
func reported(err error) error {
	switch err := err.(type) { //nolint:errorlint // Lambda looks at the outermost type
	case *Error:
		return err.onWire()
	case *execution.Fault:
		return (*Error)(err).onWire()
	case *ReplayedError:
		return messages.InvokeResponse_Error{Type: err.Type, Message: err.Message}
	}
	return err
}
