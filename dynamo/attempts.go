package dynamo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// nothingWritten says of a call that it was no write, or that the write was not begun.
const nothingWritten = true

// attempts watches the attempts that a client makes of one write. The client retries inside the call and reports only how
// the last attempt ended; whether the write can have been applied depends on all of them. The zero value is ready, and
// watches one call.
type attempts struct {
	seen atomic.Bool  // the client lets us watch
	open atomic.Int32 // attempts that were applied, or may have been, or may still be
}

// observe is passed to the client with the call.
func (a *attempts) observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		a.seen.Store(true)
		// The first step after signing: what fails before it is never sent, what it returns is the decoded answer.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("IdempotentAttempts", a.attempt), middleware.Before)
	})
}

func (a *attempts) attempt(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	a.open.Add(1)
	out, metadata, err = next.HandleDeserialize(ctx, in)
	if neverSent(err) || answeredNotApplied(err) {
		a.open.Add(-1)
	}
	return out, metadata, err
}

// notApplied reports whether no attempt was applied or can still be. It is meant for calls that failed or were refused.
func (a *attempts) notApplied() bool {
	return a.seen.Load() && a.open.Load() == 0
}

// neverSent reports whether no connection could be made, so that no byte of the request left.
func neverSent(err error) bool {
	oe, ok := errors.AsType[*net.OpError](err)
	return ok && oe.Op == "dial"
}

// answeredNotApplied reports whether err is an answer of DynamoDB that rules out that the write was applied: a refused
// condition or one of its documented client errors. After a server error a write may have been applied, and an unknown
// answer may come from something in between. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html.
func answeredNotApplied(err error) bool {
	if code := status(err); code < http.StatusBadRequest || code >= http.StatusInternalServerError {
		return false
	}
	if _, refused := refusal(err); refused {
		return true
	}
	_, known := kindOfCode(errorCode(err))
	return known
}
