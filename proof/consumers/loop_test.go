package consumers_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/consumers"
)

// mistakes are what people get wrong who write the loop over a batch by hand.
type mistakes struct {
	acknowledgesInProgress, goesOnInGroup, namesOnlyTheFirst, namesHighest, dropsPoison, acknowledgesBeforeFunction,
	ignoresFunction,
	panicIsSuccess, beginsLate, copiesAtOnce, runsTwice, namesNothing, acknowledgesFailures, namesAll, repeatsTerminal,
	swapsFunctions,
	comparesAsText, acknowledgesUnbegun, shortVisibility, forgetsThoseBehind, namesStranger, acknowledgesUnknown,
	namesTaken bool
}

// loop is a consumer that is written by hand, with the mistakes that it is given.
type loop struct {
	mistakes
	consumers.Parts

	mu    sync.Mutex // never held while anything waits
	again map[string]bool
	locks map[string]chan struct{}
}

func byHand(m mistakes) func(consumers.Parts) consumers.Consumer {
	return func(p consumers.Parts) consumers.Consumer {
		return func(ctx context.Context, records []consumers.Record) ([]string, error) {
			l := &loop{mistakes: m, Parts: p, again: map[string]bool{}, locks: map[string]chan struct{}{}}
			return l.run(ctx, records)
		}
	}
}

func (l *loop) run(ctx context.Context, records []consumers.Record) ([]string, error) {
	var order []string
	groups := map[string][]consumers.Record{}
	seen := map[string]bool{}
	for _, r := range records {
		if seen[r.ID] && !l.runsTwice {
			continue
		}
		seen[r.ID] = true
		group := r.Group
		if l.Source == consumers.Standard {
			group = fmt.Sprint(len(order))
		}
		if _, known := groups[group]; !known {
			order = append(order, group)
		}
		groups[group] = append(groups[group], r)
		l.locks[l.RecordKey(r)] = make(chan struct{}, 1)
	}
	var running sync.WaitGroup
	for _, name := range order {
		running.Go(func() { l.group(ctx, groups[name]) })
	}
	running.Wait()
	return l.answer(records), nil
}

func (l *loop) group(ctx context.Context, records []consumers.Record) {
	for n, r := range records {
		again, inProgress := l.one(ctx, r)
		if !again {
			continue
		}
		l.fails(r)
		if l.goesOnInGroup {
			continue
		}
		if inProgress > 0 && l.Visibility != nil {
			behind := records[n:]
			if l.forgetsThoseBehind {
				behind = records[n : n+1]
			}
			if l.shortVisibility {
				inProgress = time.Second
			}
			l.setVisibility(ctx, behind, inProgress)
		}
		if !l.acknowledgesUnbegun {
			for _, behind := range records[n+1:] {
				l.fails(behind)
			}
		}
		return
	}
}

// setVisibility changes nothing if it fails: the timeout of the queue is as good.
func (l *loop) setVisibility(ctx context.Context, records []consumers.Record, after time.Duration) {
	defer func() { _ = recover() }()
	_ = l.Visibility(ctx, records, after)
}

func (l *loop) fails(r consumers.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again[l.Identifier(r)] = true
}

// one reports whether a record has to come again, and the rest of the lease under which another
// invocation executes it.
func (l *loop) one(ctx context.Context, r consumers.Record) (again bool, inProgress time.Duration) {
	if key := l.RecordKey(r); key != "" && !l.copiesAtOnce {
		l.locks[key] <- struct{}{}
		defer func() { <-l.locks[key] }()
	}
	if deadline, _ := ctx.Deadline(); !l.beginsLate && time.Until(deadline) < l.Reserve {
		return true, 0
	}
	err, panicked := l.handle(ctx, r)
	var library *idempotent.Error
	var replayed *idempotent.ReplayedError
	switch {
	case panicked:
		return !l.panicIsSuccess, 0
	case err == nil:
		return false, 0
	case errors.Is(err, idempotent.ErrInProgress), errors.Is(err, idempotent.ErrSuperseded):
		errors.As(err, &library)
		return !l.acknowledgesInProgress, max(library.RetryAfter, time.Second)
	case errors.As(err, &replayed), errors.Is(err, consumers.ErrFinal):
		if l.repeatsTerminal {
			return true, 0
		}
		return l.hand(ctx, l.Terminal, r, err, false), 0
	case errors.Is(err, idempotent.ErrUnknownOutcome) && l.acknowledgesUnknown:
		return false, 0
	case errors.Is(err, idempotent.ErrMissingKey), errors.Is(err, idempotent.ErrMismatch),
		errors.Is(err, idempotent.ErrUnknownOutcome):
		return l.hand(ctx, l.Poison, r, err, !l.dropsPoison), 0
	case l.swapsFunctions && l.Poison != nil:
		return l.hand(ctx, l.Poison, r, err, true), 0
	}
	return !l.acknowledgesFailures, 0
}

func (l *loop) handle(ctx context.Context, r consumers.Record) (err error, panicked bool) {
	done := make(chan struct{})
	panicked = true
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		err = l.Handle(ctx, r)
		panicked = false
	}()
	<-done
	return err, panicked
}

// hand gives a record to a function of the configuration. It reports whether the record has to come
// again.
func (l *loop) hand(ctx context.Context, take func(context.Context, consumers.Record, error) error, r consumers.Record,
	err error, otherwise bool,
) (again bool) {
	if take == nil {
		return otherwise
	}
	if l.acknowledgesBeforeFunction {
		go func() {
			defer func() { _ = recover() }()
			_ = take(ctx, r, err)
		}()
		return false
	}
	defer func() {
		if recover() != nil {
			again = true
		}
	}()
	return take(ctx, r, err) != nil && !l.ignoresFunction || l.namesTaken
}

// answer are the identifiers that have to come again.
func (l *loop) answer(records []consumers.Record) (failed []string) {
	for _, r := range records {
		id := l.Identifier(r)
		if (l.again[id] || l.namesAll) && !slices.Contains(failed, id) {
			failed = append(failed, id)
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case l.namesNothing:
		return []string{""}
	case l.namesStranger:
		return []string{"m0"}
	case l.Source == consumers.Kinesis || l.Source == consumers.DynamoDB:
		slices.SortFunc(failed, func(a, b string) int {
			if l.comparesAsText {
				return cmp.Compare(a, b)
			}
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		if l.namesHighest {
			return failed[len(failed)-1:]
		}
		return failed[:1]
	case l.namesOnlyTheFirst:
		return failed[:1]
	}
	return failed
}
