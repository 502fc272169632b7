package dynamo

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithytime "github.com/aws/smithy-go/time"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/go-idempotent/idempotent/store"
)

// nothingWritten says of a call that it was no write, or that the write was not begun.
const nothingWritten = true

// attempts watches the attempts that a client makes of one call, because whether a write can have
// been applied depends on all of them. The client reports only how the last one ended, and not even
// that if the context ends before the next one.
type attempts struct {
	seen   atomic.Bool           // the client lets us watch
	open   atomic.Int32          // attempts that were applied, or may have been, or may still be
	failed atomic.Pointer[error] // how the last attempt failed by itself
	waits  atomic.Bool           // that was the last thing that happened
}

func (a *attempts) observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		a.seen.Store(true)
		// The first step after signing: what fails before it is never sent, what it returns is the
		// decoded answer.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("IdempotentAttempts", a.attempt),
			middleware.Before)
	})
}

func (a *attempts) attempt(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	a.open.Add(1)
	a.waits.Store(false)
	out, metadata, err = next.HandleDeserialize(ctx, in)
	if neverSent(err) || answeredNotApplied(err) {
		a.open.Add(-1)
	}
	if err != nil && ctx.Err() == nil {
		failed := err // the result stays where it is
		a.failed.Store(&failed)
		a.waits.Store(true)
	}
	return out, metadata, err
}

// explained adds to the error of a call that its context ended how the attempt before failed.
func (a *attempts) explained(err error) error {
	failed := a.failed.Load()
	if failed == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	return &endedError{ended: err, before: *failed, waiting: a.waits.Load()}
}

// endedError is the error of a call that its context ended after an attempt had failed.
type endedError struct {
	ended, before error
	waiting       bool // no other attempt was begun
}

func (e *endedError) Error() string {
	return e.ended.Error() + "; the attempt before failed: " + e.before.Error()
}

func (e *endedError) Unwrap() []error { return []error{e.ended, e.before} }

// notApplied reports whether no attempt of a call that failed was applied or can still be.
func (a *attempts) notApplied() bool { return a.seen.Load() && a.open.Load() == 0 }

// neverSent reports whether no connection could be made, so that no byte of the request left.
func neverSent(err error) bool {
	oe, ok := errors.AsType[*net.OpError](err)
	return ok && oe.Op == "dial"
}

// answeredNotApplied reports whether err is an answer of DynamoDB by which the write was not
// applied: a refused condition or one of its documented client errors. After a server error it may
// have been, and an unknown answer may come from something in between. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html.
func answeredNotApplied(err error) bool {
	if statusOf(err) >= http.StatusInternalServerError {
		return false
	}
	if _, refused := refusal(err); refused {
		return true
	}
	switch code, _ := answer(err); code {
	case codeCancelled:
		return true
	case codeInProgress, codeMismatch:
		// An earlier attempt with the token of this one is at work, or was.
		return false
	default:
		_, known := kindOfCode(code)
		return known
	}
}

// refusedBegins is how DynamoDB begins to answer that a condition was refused.
const refusedBegins = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"`

// replayProtocol is the protocol of a client with a short way for what every duplicate gets: a
// refused condition with the held record. The SDK parses the text of an error twice, first to learn
// its kind, which for 4 KB takes longer than the rest of the call. Here the beginning tells.
type replayProtocol struct{ smithyhttp.ClientProtocol }

func readQuickly(o *dynamodb.Options) {
	if o.Protocol != nil {
		o.Protocol = replayProtocol{o.Protocol}
	}
}

func (p replayProtocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry,
	resp *smithyhttp.Response, out smithy.Deserializable,
) error {
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-Amzn-Errortype") != "" {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, resp, out)
	}
	body := bufio.NewReaderSize(resp.Body, len(refusedBegins))
	begin, _ := body.Peek(len(refusedBegins)) // an error is met again by whoever reads on
	answer := *resp.Response
	answer.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	whole := &smithyhttp.Response{Response: &answer}
	if string(begin) != refusedBegins {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, whole, out)
	}
	answer.StatusCode = http.StatusOK // which is how the protocol is told to read it into what it is given
	var refused types.ConditionalCheckFailedException
	if err := p.ClientProtocol.DeserializeResponse(ctx, schema, registry, whole, &refused); err != nil {
		return err
	}
	return refusedError{&refused}
}

// refusedError is a refused condition, which no repetition changes. It says so at once: the SDK
// would look for a reason to repeat the call, which takes a twentieth of its time.
type refusedError struct{ error }

func (refusedError) RetryableError() bool { return false }

func (e refusedError) Unwrap() error { return e.error }

// A large result is written and read by several requests. One that is not answered must not use up
// the time of all, and what was written or read before it is not written or read again.
const (
	// shortestTry is what a request has in any case, slowest the network in bytes per second for
	// which the first try is long enough. Each further try has twice the time, for a slower one.
	shortestTry = time.Second
	slowest     = 512 << 10
)

// patiently repeats a request of size bytes while answers say to come again and ctx has time.
func patiently(ctx context.Context, size int, request func(context.Context) error) error {
	var b backoff
	for try := shortestTry + time.Duration(size)*time.Second/slowest; ; try *= 2 {
		err := within(ctx, try, request)
		if err == nil || !store.MayPass(err) || b.wait(ctx, false) != nil {
			return err
		}
	}
}

// afterParts makes the conditional write of a record. Where parts precede it, the write alone is
// repeated: a repetition that is refused by its own first attempt shows that one.
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

const (
	firstPause    = 25 * time.Millisecond
	longPause     = time.Second
	maxIdleRounds = 10 // without progress, about four seconds, before a batch is given up
)

var errNoProgress = errors.New("no progress")

// backoff paces the rounds of a batch.
type backoff struct {
	pause time.Duration
	idle  int
}

// wait pauses before the next round, longer after each without progress. It returns an error if
// there shall be no other round.
func (b *backoff) wait(ctx context.Context, progress bool) error {
	if progress {
		*b = backoff{}
	}
	if b.idle++; b.idle > maxIdleRounds {
		return errNoProgress
	}
	b.pause = min(max(2*b.pause, firstPause), longPause)
	return smithytime.SleepWithContext(ctx, b.pause/2+rand.N(b.pause/2)) //nolint:gosec // jitter is no secret
}
