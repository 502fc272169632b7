package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

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
