package operate

import (
	"context"
	"time"
)

// pace keeps a sweep to a rate of units per second. What is left unused is not saved up: a burst after a pause would throttle requests.
type pace struct {
	rate float64
	due  time.Time
}

// spend notes units that were used, or are about to be.
func (p *pace) spend(units float64) {
	wait := max(time.Until(p.due), 0)
	took := min(units/p.rate, longestPace.Seconds()) // where a rate is next to nothing
	p.due = time.Now().Add(wait + time.Duration(took*float64(time.Second)))
}

// longestPace bounds what a single use is waited for.
const longestPace = 24 * time.Hour

// wait waits until the next units may be used.
func (p *pace) wait(ctx context.Context) error { return sleep(ctx, time.Until(p.due)) }

// sleep waits, unless the context ends, whose cause it returns then.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
