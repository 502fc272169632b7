package operate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// change does what a verdict says to a record, on the condition that it is the one that was shown.
func (o *Operator) change(ctx context.Context, s Shown, v Verdict, a Act) (Entry, error) {
	seen, err := checked(s, v, a)
	if err != nil {
		return Entry{}, err
	}
	now := o.now()
	if err := allowed(seen, v, now); err != nil {
		return Entry{}, err
	}
	next := o.next(seen, v, a, now)
	entry := Entry{
		Time: now.UTC().Truncate(time.Millisecond), By: a.By, Why: a.Why, Action: v.action, RecordKey: seen.Key, Step: v.step,
		Before: snapshot(seen, now), DryRun: a.DryRun,
	}
	if v.result != nil {
		entry.ResultDigest = fmt.Sprintf("%x", sha256.Sum256(v.result))
	}
	if v.action != ActionDelete {
		after := snapshot(merged(seen, next), now)
		entry.After = &after
	}
	switch {
	case a.DryRun:
		entry.Preview = preview(seen, next, v)
		err = o.unchanged(ctx, seen)
	case v.action == ActionDelete:
		err = o.remove(ctx, seen)
	default:
		err = o.swap(ctx, seen, next)
	}
	if err != nil {
		return Entry{}, err
	}
	return entry, nil
}

// allowed refuses what the record is not for. Nobody touches a live claim.
func allowed(r store.Record, v Verdict, now time.Time) error {
	state := StateOf(r, now)
	refused := &StateError{Action: v.action, State: state}
	switch {
	case r.Owner == "" && r.Status != store.StatusUnknown:
		return fmt.Errorf("%w, which wrote it; nothing was changed", ErrForeign)
	case state == StateInProgress:
		return &LiveError{Until: r.ProtectedUntil()}
	case state == StateOther:
		return refused
	case v.action == ActionDelete:
		return nil
	case state == StateExpired, state == StateCompleted:
		return refused
	case v.ofStep():
		return v.stepAllowed(r)
	case state == StateReleased && !v.completes() && len(named(r, StepOpen)) == 0: // it is what it would become
		return refused
	case v.completes() && r.Layout != store.LayoutNative:
		return fmt.Errorf("%w, which shares it: only its own language knows the form of the result; nothing was changed", ErrForeign)
	default:
		return nil
	}
}

// next is the record after the change. A new owner fences off whatever was sent before.
func (o *Operator) next(seen store.Record, v Verdict, a Act, now time.Time) store.Record {
	r := seen
	r.Owner = rand.Text()
	r.SettledBy, r.SettledReason, r.SettledAt = a.By, a.Why, now.Truncate(time.Millisecond)
	r.Attention, r.AttentionAt, r.Derived, r.Tries = "", time.Time{}, nil, 0
	r.Steps = nil
	if kept := store.RoundUp(now.Add(o.retention), time.Second); r.Expiry.Before(kept) {
		r.Expiry = kept
	}
	switch v.action {
	case ActionExecuted, ActionFailed:
		r.Status, r.Reason, r.Unmarked = store.StatusCompleted, "", false
		if v.action == ActionFailed {
			r.Reason = store.ReasonTerminal
		}
		r.Result, r.Parts = v.result, ""
		r.Seal = store.Seal(r.Owner, v.result)
		r.CompletedAt = now.Truncate(time.Millisecond)
	default:
		r.Status, r.Reason = store.StatusInProgress, store.ReasonReleased
		r.Lease = now.Truncate(time.Millisecond)
		r.Steps = v.changedSteps(seen, r.Owner)
		r.Unmarked = r.Unmarked && v.ofStep() // a verdict on one step tells nothing of others
		if len(merged(seen, r).Steps) > 0 {   // half of it has been done: somebody has to finish it, if no request does
			r.Attention, r.Derived = store.AttentionOf(r.Key), seen.Derived
			r.AttentionAt = now.Add(store.ReleasedWait).Truncate(time.Millisecond)
		}
	}
	return r
}

func (o *Operator) swap(ctx context.Context, seen, next store.Record) error {
	held, swapped, err := o.store.Swap(ctx, seen, next)
	switch {
	case err != nil:
		return o.resolve(ctx, seen, next.Owner, err)
	case swapped, held.Owner == next.Owner: // refused by our own write, whose reply was lost
		return nil
	default:
		return o.changed(held, held.Key != "")
	}
}

func (o *Operator) remove(ctx context.Context, seen store.Record) error {
	deleted, err := o.store.Delete(ctx, seen)
	switch {
	case err != nil:
		return o.resolve(ctx, seen, "", err)
	case deleted:
		return nil
	}
	held, found, err := o.store.Get(ctx, seen.Key)
	if err != nil {
		return fmt.Errorf("operate: the record was not the one that was shown, and nothing was changed: %w", err)
	}
	return o.changed(held, found)
}

// unchanged reports whether the record is still the one that was shown.
func (o *Operator) unchanged(ctx context.Context, seen store.Record) error {
	held, found, err := o.store.Get(ctx, seen.Key)
	switch {
	case err != nil:
		return fmt.Errorf("operate: %w", err)
	case !found || !held.Matches(seen):
		return o.changed(held, found)
	default:
		return nil
	}
}

// lookBudget bounds the look at a record whose change was not answered. The context of the caller may have ended.
const lookBudget = 3 * time.Second

// resolve finds out what became of a change that failed. owner is the one that it writes, empty if it deletes.
func (o *Operator) resolve(ctx context.Context, seen store.Record, owner string, cause error) error {
	failure := fmt.Errorf("operate: %w", cause)
	if se, ok := errors.AsType[*store.Error](cause); ok && se.NotApplied {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookBudget)
	defer cancel()
	held, found, err := o.store.Get(ctx, seen.Key)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)
	case owner == "" && !found: // deleted, by us or by somebody else
		return nil
	case owner != "" && held.Owner == owner:
		return nil
	case found && held.Matches(seen): // the change may still be on its way
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)
	default:
		return o.changed(held, found)
	}
}

func (o *Operator) changed(held store.Record, found bool) error {
	if !found {
		return &ChangedError{Gone: true}
	}
	return &ChangedError{Shown: o.show(held)}
}

func snapshot(r store.Record, now time.Time) Snapshot {
	return Snapshot{
		State: StateOf(r, now), Status: r.Status, Reason: r.Reason, Attempt: r.Attempt, CreatedAt: r.CreatedAt, Lease: r.Lease,
		Expiry: r.Expiry, CompletedAt: r.CompletedAt, AttentionAt: r.AttentionAt, Tries: r.Tries, Parked: r.Parked(),
		SettledBy: r.SettledBy, SettledAt: r.SettledAt,
		ResultBytes: len(r.Result), Steps: stepsOf(r),
	}
}
