package relay

import (
	"cmp"
	"context"
	"errors"
)

// Stream delivers messages that a stream has handed over. It returns what became of each, by index.
// Those with [Outcome.Again] have to be handed over again.
//
// A message that fails holds up those behind it. So after a few times it is put off to a drain.
func (r *Relay[M]) Stream(ctx context.Context, entries []Entry[M]) []Outcome {
	outcomes := make([]Outcome, len(entries))
	first := make(map[generation]int, len(entries))
	p := pool{slots: make(chan struct{}, r.Concurrency)}
	for i, e := range entries {
		if _, twice := first[e.generation()]; twice {
			continue
		}
		first[e.generation()] = i
		p.run(func() {
			e, o, err := r.handedOver(ctx, e)
			outcomes[i] = o
			r.Report(e, o, err)
		})
	}
	p.running.Wait()
	for i, e := range entries {
		outcomes[i] = outcomes[first[e.generation()]]
	}
	return outcomes
}

// generation is one message: its id, and the commit that it has left with.
type generation struct{ id, owner string }

func (e Entry[M]) generation() generation { return generation{e.ID, e.Owner} }

func (r *Relay[M]) handedOver(ctx context.Context, e Entry[M]) (Entry[M], Outcome, error) {
	if r.Late(ctx) {
		return e, NotBegun, ctx.Err()
	}
	failure := r.try(ctx, e)
	switch {
	case failure == nil:
		return r.mark(ctx, e)
	case permanent(failure):
		return r.giveUp(ctx, e, failure)
	}
	tries, pending, err := r.Box.Failed(ctx, e, r.Now().Add(r.Pause(1)))
	e.Tries = tries
	switch {
	case err != nil:
		return e, Uncounted, errors.Join(failure, err)
	case !pending:
		return e, Elsewhere, failure
	case tries >= r.MaxTries:
		return r.giveUp(ctx, e, failure)
	case tries > r.Reports:
		return e, PutOff, failure
	default:
		return e, Failed, failure
	}
}

func (r *Relay[M]) mark(ctx context.Context, e Entry[M]) (Entry[M], Outcome, error) {
	if err := r.Box.Done(ctx, e, r.Now()); err != nil {
		return e, Unmarked, err
	}
	return e, Delivered, nil
}

// giveUp gives up a message. The failure is nil if nobody has seen the end of its last try.
func (r *Relay[M]) giveUp(ctx context.Context, e Entry[M], failure error) (Entry[M], Outcome, error) {
	givenUp, err := r.Box.GiveUp(ctx, e, failure, r.Now())
	failure = cmp.Or(failure, errTriesUsedUp)
	switch {
	case err != nil:
		return e, Uncounted, errors.Join(failure, err)
	case !givenUp:
		return e, Elsewhere, failure
	default:
		return e, GivenUp, failure
	}
}
