package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
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

// patiently makes a request of size bytes, again and again, until it is answered, by what does not
// say to come again, or the time of ctx is over.
func patiently(ctx context.Context, size int, request func(context.Context) error) error {
	var b backoff
	for try := shortestTry + time.Duration(size)*time.Second/slowest; ; try *= 2 {
		err := within(ctx, try, request)
		if err == nil || !store.MayPass(err) || b.wait(ctx, false) != nil {
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

const (
	firstPause = 25 * time.Millisecond
	longPause  = time.Second
	// maxIdleRounds is after how many rounds without progress a batch is given up: about four
	// seconds.
	maxIdleRounds = 10
)

var errNoProgress = errors.New("no progress")

// backoff paces the rounds of a batch. The zero value is ready.
type backoff struct {
	pause time.Duration
	idle  int
}

// wait pauses before the next round, longer after each and starting over with every progress. It
// returns an error if there shall be no other round.
func (b *backoff) wait(ctx context.Context, progress bool) error {
	if progress {
		*b = backoff{}
	}
	if b.idle++; b.idle > maxIdleRounds {
		return errNoProgress
	}
	b.pause = min(max(2*b.pause, firstPause), longPause)
	return pause(ctx, b.pause/2+rand.N(b.pause/2)) //nolint:gosec // jitter is no secret
}

// pause waits, or returns the error of a context that ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
