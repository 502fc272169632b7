package operate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// A cursor is a record of its own: while a sweep runs it is in progress, and its lease keeps others away; how far the sweep has come is a
// step of it, so that it survives the death of the sweep and a takeover; at the end of the pass it is completed. Two sweeps that run all
// the same, because a clock is wrong or a machine was suspended, do no harm: every change of a record is a compare-and-swap.

// ErrSweepCursor is returned when the record in which a sweep keeps how far it has come is none of a sweep. Nothing was done. The message
// names its key.
var ErrSweepCursor = errors.New("operate: sweep: a record that is none of a sweep is in the place of its cursor")

// errSweepTaken ends a pass that another sweep has taken over.
var errSweepTaken = errors.New("operate: sweep: another sweep has taken over")

const (
	// cursorMark is the fingerprint of a cursor: what tells it from the record of a handler.
	cursorMark = "sweep"
	// cursorStep is the name of its step.
	cursorStep = "page"
	// cursorVersion is that of its form. A sweep of another version begins anew.
	cursorVersion = 1
	// cursorKept is for how long a cursor is kept after its last page. Who comes later begins anew.
	cursorKept = 7 * 24 * time.Hour
	// cursorBudget bounds the last write of a run, whose context may have ended.
	cursorBudget = 3 * time.Second
	// maxCursorMoves bounds how often a cursor is looked at that others write.
	maxCursorMoves = 5
)

// cursorState is how far a pass has come.
type cursorState struct {
	Version int `json:"version"`
	// Settings are those that the pass was begun with. After is the page that it has come to, empty if it has not come to the
	// end of one.
	Settings string `json:"settings,omitempty"`
	After    string `json:"after,omitempty"`
	// Began is when the pass did, Ended when it has come to its end, zero if it has not.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
}

// cursor is the hold on a pass. A nil one, of a dry run, writes nothing.
type cursor struct {
	w     *sweep
	lease time.Duration
	mine  store.Record
	state cursorState
	// until is, of a pass that another sweep holds, the end of its lease.
	until time.Time
	// renewed is when the lease was written.
	renewed time.Time
}

func (c *cursor) taken() bool { return !c.until.IsZero() }

// takeCursor takes hold of a pass, unless another sweep has it.
func (w *sweep) takeCursor(ctx context.Context) (*cursor, error) {
	sum := sha256.Sum256([]byte("records"))
	c := &cursor{w: w, lease: w.leaseOf()}
	c.mine = store.Record{
		Key:    SweepOperation + "#" + base64.RawURLEncoding.EncodeToString(sum[:]),
		Status: store.StatusInProgress, Owner: rand.Text(), Fingerprint: cursorMark, Attempt: 1,
	}
	c.mine.CreatedAt = w.config.Clock().Truncate(time.Millisecond)
	held, err := c.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("operate: sweep: take the cursor: %w", err)
	}
	settings := w.config.settings()
	c.state = cursorState{Version: cursorVersion, Settings: settings, Began: c.mine.CreatedAt.UTC()}
	if old, ok := w.stateOf(ctx, held); ok && !w.config.Restart && old.Settings == settings && old.Ended.IsZero() {
		c.state, w.swept.Resumed = old, true
	}
	return c, nil
}

// take claims the record of the cursor, or takes it over, and returns it as it was found.
func (c *cursor) take(ctx context.Context) (held store.Record, err error) {
	for range maxCursorMoves {
		now := c.w.config.Clock()
		c.leased(now)
		claimed := false
		err := persist(ctx, func(ctx context.Context) (err error) {
			held, claimed, err = c.w.store.Claim(ctx, c.mine, now)
			return err
		})
		switch {
		case err != nil:
			return held, err
		case claimed:
			return store.Record{}, nil
		case held.Key == "": // it is gone again
			continue
		case held.Fingerprint != cursorMark || held.Status != store.StatusInProgress && held.Status != store.StatusCompleted:
			return held, fmt.Errorf("%w: %q", ErrSweepCursor, held.Key)
		case held.Owner == c.mine.Owner: // the reply of the claim, or of the takeover, was lost
			c.mine = held
			return held, nil
		case held.Status == store.StatusInProgress && !held.Lapsed(now):
			c.until = held.ProtectedUntil()
			return held, nil
		}
		after, taken, err := c.takeOver(ctx, held)
		if err != nil || taken {
			return after, err
		}
	}
	return held, errors.New("others write it all the time")
}

// takeOver takes the cursor that another run has left, and returns it as it is then.
func (c *cursor) takeOver(ctx context.Context, seen store.Record) (after store.Record, taken bool, err error) {
	next := c.mine
	next.CreatedAt, next.Attempt = seen.CreatedAt, seen.Attempt+1
	err = persist(ctx, func(ctx context.Context) (err error) {
		after, taken, err = c.w.store.Swap(ctx, seen, next)
		return err
	})
	if err != nil {
		return after, false, err
	}
	if taken || after.Owner == c.mine.Owner { // or its reply was lost
		c.mine = after
		return after, true, nil
	}
	return after, false, nil
}

// stateOf reads how far a pass has come. What is not understood begins anew, and so does a pass that has come to its end.
func (w *sweep) stateOf(ctx context.Context, held store.Record) (s cursorState, ok bool) {
	step, found := held.Steps[cursorStep]
	if !found || step.Kind != store.StepValue {
		return s, false
	}
	text := step.Result
	if reader, reads := w.store.(store.ResultReader); reads && step.Parts != "" {
		var err error
		if text, err = reader.ReadResult(ctx, held.OfStep(step)); err != nil {
			return s, false
		}
	} else if !step.Sealed() {
		return s, false
	}
	err := json.Unmarshal(text, &s)
	return s, err == nil && s.Version == cursorVersion
}

// leased gives our record a lease from now on, which never ends before the one that it has.
func (c *cursor) leased(now time.Time) {
	lease := store.RoundUp(now.Add(c.lease), time.Millisecond)
	if lease.After(c.mine.Lease) {
		c.mine.Lease = lease
	}
	c.mine.Expiry = store.RoundUp(now.Add(cursorKept), time.Second)
	c.renewed = time.Now()
}

// advance writes that the pass has come to the end of a page.
func (c *cursor) advance(ctx context.Context, after string) error {
	if c == nil {
		return nil
	}
	c.reached(after)
	return c.write(ctx, c.position())
}

// reached notes how far the pass has come, for the last write of the run.
func (c *cursor) reached(after string) {
	if c != nil {
		c.state.After = after
	}
}

// keep renews the lease in the middle of a page, if a third of it is over.
func (c *cursor) keep(ctx context.Context) error {
	if c == nil || time.Since(c.renewed) < c.lease/3 {
		return nil
	}
	return c.write(ctx, nil)
}

// position is the step that says how far the pass has come.
func (c *cursor) position() map[string]store.Step {
	text, _ := json.Marshal(c.state) //nolint:errchkjson // texts and times
	return map[string]store.Step{cursorStep: {Kind: store.StepValue, Seal: store.Seal(c.mine.Owner, text), Result: text}}
}

// write renews the lease, and writes steps with it.
func (c *cursor) write(ctx context.Context, steps map[string]store.Step) error {
	seen := c.seen()
	c.leased(c.w.config.Clock())
	next := c.mine
	next.Steps = steps
	return c.swap(ctx, seen, next)
}

// seen is our record as a write is to compare it: by its owner, because a renewal whose reply was lost may have moved its lease.
func (c *cursor) seen() store.Record {
	seen := c.mine
	seen.StepWrites, seen.Lease, seen.Expiry = store.AnyStepWrites, time.Time{}, time.Time{}
	return seen
}

// swap replaces our record. If another sweep has it, the pass ends.
func (c *cursor) swap(ctx context.Context, seen, next store.Record) error {
	var held store.Record
	var swapped bool
	err := persist(ctx, func(ctx context.Context) (err error) {
		c.w.swept.WriteUnits++
		held, swapped, err = c.w.store.Swap(ctx, seen, next)
		return err
	})
	switch {
	case err != nil:
		if ended := context.Cause(ctx); ended != nil {
			return ended
		}
		return fmt.Errorf("operate: sweep: write the cursor: %w", err)
	case swapped, held.Owner == next.Owner && held.Status == next.Status: // or its reply was lost
		return nil
	default:
		c.until = c.w.config.Clock()
		if held.Status == store.StatusInProgress && held.ProtectedUntil().After(c.until) {
			c.until = held.ProtectedUntil()
		}
		return errSweepTaken
	}
}

// complete writes that the pass has come to its end. The time of the run may be over.
func (c *cursor) complete(ctx context.Context) error {
	ctx, cancel := lastly(ctx)
	defer cancel()
	now := c.w.config.Clock()
	c.state.After, c.state.Ended = "", now.UTC().Truncate(time.Millisecond)
	text, _ := json.Marshal(c.state) //nolint:errchkjson // texts and times
	seen := c.seen()
	seen.Steps = map[string]store.Step{cursorStep: {}}
	next := c.mine
	next.Status, next.Lease, next.CompletedAt = store.StatusCompleted, time.Time{}, c.state.Ended
	next.Expiry = store.RoundUp(now.Add(cursorKept), time.Second)
	next.Result, next.Seal, next.Steps = text, store.Seal(c.mine.Owner, text), nil
	return c.swap(ctx, seen, next)
}

// leave says how far the pass has come, and that nobody goes on with it: the next run may.
func (c *cursor) leave(ctx context.Context) error {
	ctx, cancel := lastly(ctx)
	defer cancel()
	now := c.w.config.Clock()
	next := c.mine
	next.Reason, next.Lease = store.ReasonReleased, now.Truncate(time.Millisecond)
	next.Expiry = store.RoundUp(now.Add(cursorKept), time.Second)
	next.Steps = c.position()
	next.Owner = rand.Text() // nothing that is still on its way from us can match
	err := c.swap(ctx, c.seen(), next)
	if errors.Is(err, errSweepTaken) {
		return nil
	}
	return err
}

// lastly is the context of the last write of a run.
func lastly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cursorBudget)
}
