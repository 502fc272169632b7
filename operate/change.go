package operate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

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
		Time: now.UTC().Truncate(time.Millisecond), By: a.By, Why: a.Why, Action: v.action,
		RecordKey: seen.Key, Step: v.step,
		Before: snapshot(seen, now), DryRun: a.DryRun,
	}
	if v.result != nil {
		entry.ResultDigest = fmt.Sprintf("%x", sha256.Sum256(v.result))
	}
	if v.action != ActionDelete {
		after := next
		after.Steps, _, _ = seen.Merged(next)
		entry.After = new(snapshot(after, now))
	}
	switch {
	case a.DryRun:
		entry.Preview = previewOf(seen, next, v)
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
	refused := inState(v.action, state)
	switch {
	case r.Owner == "" && r.Status != store.StatusUnknown:
		return refusal(ErrForeign, "%v, which wrote it", ErrForeign)
	case state == StateInProgress:
		e := refusal(ErrLive, "%v until %s", ErrLive, r.ProtectedUntil().Format(time.RFC3339))
		e.Until = r.ProtectedUntil()
		return e
	case doubt(r) != "":
		return refusal(ErrForeign,
			"operate: it is not certain that this item is a record of an idempotent handler (%s)", doubt(r))
	case state == StateOther:
		return refused
	case v.action == ActionDelete:
		return nil
	case state == StateExpired, state == StateCompleted:
		return refused
	case v.ofStep():
		if step := stateOfStep(r, v.step); step != StepOpen {
			return ofStep(v.action, v.step, step)
		}
		return nil
	case state == StateReleased && !v.completes() && len(named(r, StepOpen)) == 0: // it is what it would become
		return refused
	case v.completes() && r.Layout != store.LayoutNative:
		return refusal(ErrForeign, "%v, which shares it: only its own language knows the form of the result", ErrForeign)
	default:
		return nil
	}
}

// doubt says why an item that reads like a record may be none of this module: a table of sessions
// or of orders may have the same attributes. It is empty if it certainly is one.
func doubt(r store.Record) string {
	switch {
	case r.Operation() == "":
		return "its key names no operation"
	case r.Attempt == 0:
		return "nothing says that it was ever claimed"
	case r.Status == store.StatusCompleted && !strings.HasPrefix(r.Seal, r.Owner+"."):
		return "it is completed, and not by its owner"
	case r.Status == store.StatusInProgress && r.Lease.IsZero() && !r.Released():
		return "it is in progress without a lease"
	case r.Status == store.StatusUnknown && r.Reason == "":
		return "it is unknown for no reason"
	default:
		return ""
	}
}

func (o *Operator) next(seen store.Record, v Verdict, a Act, now time.Time) store.Record {
	s := life.Settling{By: a.By, Why: a.Why, What: v.said(), Now: now, Retention: o.retention}
	switch v.action {
	case ActionExecuted:
		return s.Completed(seen, "", v.result)
	case ActionFailed:
		return s.Completed(seen, store.ReasonTerminal, v.result)
	case ActionStepExecuted:
		return s.Released(seen, v.step, store.Step{Kind: store.StepValue, Result: v.result})
	case ActionStepFailed:
		return s.Released(seen, v.step, store.Step{Kind: store.StepFailure, Result: v.result})
	default:
		return s.Released(seen, "", store.Step{})
	}
}

func (v Verdict) said() string {
	return map[Action]string{
		ActionExecuted: "executed", ActionNotExecuted: "not executed", ActionFailed: "failed",
		ActionRelease:      "released",
		ActionStepExecuted: "step " + v.step + " executed", ActionStepFailed: "step " + v.step + " failed",
	}[v.action]
}

func (o *Operator) swap(ctx context.Context, seen, next store.Record) error {
	held, swapped, err := o.store.Swap(ctx, seen, next)
	switch {
	case err != nil:
		return o.resolve(ctx, seen, &next, err)
	case swapped, life.Landed(held, next): // refused by our own write, whose reply was lost
		return nil
	default:
		return o.changed(held, held.Key != "")
	}
}

func (o *Operator) remove(ctx context.Context, seen store.Record) error {
	deleted, err := o.store.Delete(ctx, seen)
	switch {
	case err != nil:
		return o.resolve(ctx, seen, nil, err)
	case deleted:
		return nil
	}
	held, found, err := o.store.Get(ctx, seen.Key)
	if err != nil {
		return fmt.Errorf("operate: the record was not the one that was shown, and nothing was changed: %w", err)
	}
	return o.changed(held, found)
}

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

// lookBudget bounds a look for which the context of the caller may have ended.
const lookBudget = 3 * time.Second

// resolve finds out what became of a change that failed. next is what it writes, nil if it deletes.
func (o *Operator) resolve(ctx context.Context, seen store.Record, next *store.Record, cause error) error {
	failure := fmt.Errorf("operate: %w", cause)
	if se, ok := errors.AsType[*store.Error](cause); ok && se.NotApplied {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookBudget)
	defer cancel()
	held, found, err := o.store.Get(ctx, seen.Key)
	switch {
	case err != nil, found && held.Matches(seen): // the change may still be on its way
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)
	case next == nil && !found: // deleted, by us or by somebody else
		return nil
	case next != nil && life.Landed(held, *next):
		return nil
	default:
		return o.changed(held, found)
	}
}

func (o *Operator) changed(held store.Record, found bool) error {
	if !found {
		return refusal(ErrChanged, "%v: it is gone", ErrChanged)
	}
	now := o.show(held)
	e := refusal(ErrChanged, "%v: it is %s now", ErrChanged, now.State)
	e.Now = &now
	return e
}

func snapshot(r store.Record, now time.Time) Snapshot {
	return Snapshot{
		State: StateOf(r, now), Status: r.Status, Reason: r.Reason, Attempt: r.Attempt, CreatedAt: r.CreatedAt,
		Lease: r.Lease, Expiry: r.Expiry, CompletedAt: r.CompletedAt, AttentionAt: r.AttentionAt, Tries: r.Tries,
		GivenUp: r.GivenUp(), SettledBy: r.SettledBy, SettledAt: r.SettledAt, ResultBytes: len(r.Result),
		Steps: stepsOf(r),
	}
}
