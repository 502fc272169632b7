package relay

import (
	"context"
	"errors"
	"sync"
)

// Stream delivers messages that a stream has handed over. It returns what became of each, by index. Those with [Outcome.Again] have to be
// handed over again.
//
// A message that fails is handed over again a few times only, because it holds up those behind it: then it is put off to a drain.
func (r *Relay[M]) Stream(ctx context.Context, entries []Entry[M]) []Outcome {
	outcomes := make([]Outcome, len(entries))
	first := make(map[generation]int, len(entries))
	var running sync.WaitGroup
	slots := make(chan struct{}, r.s.Concurrency)
	for i, e := range entries {
		if _, twice := first[e.generation()]; twice {
			continue
		}
		first[e.generation()] = i
		outcomes[i] = Uncounted // in case that the deliverer ends its goroutine
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			was := e
			e, o, err := r.handedOver(ctx, e)
			outcomes[i] = o
			if o == PutOff || o == Parked {
				r.known.add(was.generation(), knowledge{leftToOthers, was.Due})
			}
			r.report(ctx, e, o, err)
		})
	}
	running.Wait()
	for i, e := range entries {
		outcomes[i] = outcomes[first[e.generation()]]
	}
	return outcomes
}

func (e Entry[M]) generation() generation { return generation{e.ID, e.Owner} }

// handedOver delivers one message of a stream. It returns the message as it is then.
func (r *Relay[M]) handedOver(ctx context.Context, e Entry[M]) (Entry[M], Outcome, error) {
	known := r.known.knows(e.generation(), e.Due)
	switch {
	case known == done || known == leftToOthers:
		return e, Elsewhere, nil
	case known == delivered:
		return r.mark(ctx, e, Marked)
	case r.Late(ctx):
		return e, NotBegun, ctx.Err()
	}
	failure := r.try(ctx, e)
	switch {
	case failure == nil:
		return r.mark(ctx, e, Delivered)
	case permanent(failure):
		return r.park(ctx, e, failure)
	}
	tries, pending, err := r.box.Failed(ctx, e, r.s.Now().Add(r.s.Pause(1)))
	e.Tries = tries
	switch {
	case err != nil:
		return e, Uncounted, errors.Join(failure, err)
	case !pending:
		return e, Elsewhere, failure
	case tries >= r.s.MaxTries:
		return r.park(ctx, e, failure)
	case tries > r.s.Reports:
		return e, PutOff, failure
	default:
		return e, Failed, failure
	}
}

// mark marks a message that was delivered.
func (r *Relay[M]) mark(ctx context.Context, e Entry[M], as Outcome) (Entry[M], Outcome, error) {
	r.known.add(e.generation(), knowledge{state: delivered})
	if _, err := r.box.Done(ctx, e, r.s.Now()); err != nil {
		return e, Unmarked, err
	}
	r.known.add(e.generation(), knowledge{state: done})
	return e, as, nil
}

// park parks a message that was not delivered.
func (r *Relay[M]) park(ctx context.Context, e Entry[M], failure error) (Entry[M], Outcome, error) {
	parked, err := r.box.Park(ctx, e, r.s.Now())
	switch {
	case err != nil:
		return e, Uncounted, errors.Join(failure, err)
	case !parked:
		return e, Elsewhere, failure
	default:
		return e, Parked, failure
	}
}
