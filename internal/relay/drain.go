package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// takenLonger is how much longer a message is taken for than its delivery can last.
const takenLonger = 5 * time.Second

// Drain delivers the messages that are due, until none is or the time is over. An error is one of
// the lists. It takes each message before it delivers it, so that another drain leaves it alone and
// a message that kills its process is counted.
func (r *Relay[M]) Drain(ctx context.Context) error {
	var errs []error
	p := pool{slots: make(chan struct{}, r.Concurrency)}
	for _, shard := range rand.Perm(Shards) { //nolint:gosec // no secret: if time is too short, it is so for all alike
		if r.Late(ctx) {
			break
		}
		errs = append(errs, r.drainShard(ctx, &p, shard))
	}
	p.running.Wait()
	return errors.Join(errs...)
}

// pool bounds how many deliveries there are at once, over all shards.
type pool struct {
	slots   chan struct{}
	running sync.WaitGroup
}

func (p *pool) run(do func()) {
	p.slots <- struct{}{}
	p.running.Go(func() {
		defer func() { <-p.slots }()
		do()
	})
}

func (r *Relay[M]) drainShard(ctx context.Context, p *pool, shard int) error {
	for listed, err := range r.Box.List(ctx, shard) {
		if err != nil {
			return fmt.Errorf("list shard %d: %w", shard, err)
		}
		if !r.due(listed.Due) || r.Late(ctx) {
			return nil // those behind it are due later
		}
		p.run(func() { r.found(ctx, listed) })
	}
	return nil
}

func (r *Relay[M]) due(at time.Time) bool { return !r.Now().Before(at.Add(r.Grace)) }

// found delivers a message of a list, which may be late.
func (r *Relay[M]) found(ctx context.Context, listed Entry[M]) {
	if r.Late(ctx) {
		return // it has waited for its turn
	}
	e, pending, err := r.Box.Get(ctx, listed.ID)
	if err != nil {
		r.Report(listed, Uncounted, err)
		return
	}
	if !pending || e.GivenUp || !r.due(e.Due) {
		return // the list was late
	}
	e, o, err := r.drained(ctx, e)
	r.Report(e, o, err)
}

func (r *Relay[M]) drained(ctx context.Context, e Entry[M]) (Entry[M], Outcome, error) {
	if e.Tries >= r.MaxTries {
		return r.giveUp(ctx, e, nil)
	}
	due := r.Now().Add(max(r.Pause(e.Tries+1), r.Timeout+takenLonger))
	switch taken, err := r.Box.Take(ctx, e, due); {
	case err != nil:
		return e, Uncounted, err
	case !taken:
		return e, Elsewhere, nil
	}
	e.Tries, e.Due = e.Tries+1, due
	failure := r.try(ctx, e)
	switch {
	case failure == nil:
		return r.mark(ctx, e)
	case permanent(failure) || e.Tries >= r.MaxTries:
		return r.giveUp(ctx, e, failure)
	default:
		return e, Failed, failure
	}
}

// errTriesUsedUp is why a message is given up where no failure tells.
var errTriesUsedUp = errors.New("it was tried as often as it may be")
