package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// A large result is written and read by several requests. One of them that is not answered must not
// use up the time of all, and what was written or read before it is not written or read again.
const (
	// shortestTry is what a request has in any case, slowest the network in bytes per second for
	// which the first try is long enough. Each further try has twice the time of the one before, so
	// a network that is slower still gets its answer.
	shortestTry = time.Second
	slowest     = 512 << 10
)

// patiently makes a request of size bytes, again and again, until it is answered or the time of ctx
// is over.
func patiently(ctx context.Context, size int, request func(context.Context) error) error {
	var b backoff
	for try := shortestTry + time.Duration(size)*time.Second/slowest; ; try *= 2 {
		err := within(ctx, try, request)
		if !unanswered(err) || b.wait(ctx, false) != nil {
			return err
		}
	}
}

// afterParts makes the conditional write of a record. Where parts have been written before it, the
// write alone is repeated, and not the parts: a repetition that is refused by its own first attempt
// shows that one.
func afterParts(ctx context.Context, parts bool, write func(context.Context) error) error {
	if parts {
		return patiently(ctx, 0, write)
	}
	return write(ctx)
}

// within makes one try of at most d, and of at most half of the time that ctx has left.
func within(ctx context.Context, d time.Duration, request func(context.Context) error) error {
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return request(ctx)
}

// unanswered reports whether a request failed, and because no answer came, or one that says to come
// again.
func unanswered(err error) bool {
	failed, ok := errors.AsType[*store.Error](err)
	if !ok {
		return false
	}
	switch failed.Kind {
	case store.FailureTimeout, store.FailureUnavailable, store.FailureThrottled, store.FailureConflict:
		return true
	default:
		return false
	}
}
