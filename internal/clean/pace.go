package clean

import (
	"context"
	"sync"
	"time"
)

// pace keeps those who share it to a rate of units per second. What they leave unused is not saved up: a burst after a pause would
// throttle the requests of users.
type pace struct {
	rate float64
	// turn is held by the one who is next.
	turn chan struct{}

	mu  sync.Mutex
	due time.Time
}

// newPace returns one that does not wait if the rate is zero.
func newPace(rate float64) *pace { return &pace{rate: rate, turn: make(chan struct{}, 1)} }

// take waits for the turn of the caller, who is about to use these units at least. What others turn out to have used meanwhile makes it later.
func (p *pace) take(ctx context.Context, units float64) error {
	if p.rate <= 0 {
		return ctx.Err()
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for left := p.left(); left > 0; left = p.left() {
		if err := wait(ctx, left); err != nil {
			return err
		}
	}
	p.spent(units)
	return ctx.Err()
}

// left is how long it is until the next turn.
func (p *pace) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.due)
}

// spent notes units that were used beyond those that were taken.
func (p *pace) spent(units float64) {
	if p.rate <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.due.Before(now) {
		p.due = now
	}
	took := min(units/p.rate, longest.Seconds()) // where a rate is next to nothing
	p.due = p.due.Add(time.Duration(took * float64(time.Second)))
}

// longest bounds what a single use is waited for.
const longest = 24 * time.Hour

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
