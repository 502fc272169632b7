package life

import (
	"crypto/rand"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Settling is who settles a record by hand, why, as what and when, and for how long the record is
// kept at least.
type Settling struct {
	By, Why, What string
	Now           time.Time
	Retention     time.Duration
}

// settled is a record that somebody has settled. A new owner fences off whatever was sent before.
func (s Settling) settled(seen store.Record) store.Record {
	r := unattended(seen)
	r.Owner = rand.Text()
	r.SettledBy, r.SettledReason, r.SettledAt = s.By, s.Why, s.Now.Truncate(time.Millisecond)
	r.Story = told(r.Story, s.Now, Settled, s.What+" by "+s.By)
	r.Tries, r.Steps = 0, nil
	r.Expiry = later(r.Expiry, expiryAt(s.Now.Add(s.Retention)))
	return r
}

// Completed is a record that was settled with a result.
func (s Settling) Completed(seen store.Record, reason string, result []byte) store.Record {
	return completed(s.settled(seen), reason, result, s.Now)
}

// Released is a record that is left to the next request, with what it then has of steps. About says
// which step the verdict was about, and end is its end: it tells nothing of others. Without one all
// start marks that are open are removed.
func (s Settling) Released(seen store.Record, about string, end store.Step) store.Record {
	r := s.settled(seen)
	r.Status, r.Reason, r.Lease = store.StatusInProgress, store.ReasonReleased, s.Now.Truncate(time.Millisecond)
	r.Steps = make(map[string]store.Step)
	if about != "" {
		end.Seal = store.Seal(r.Owner, end.Result)
		r.Steps[about] = end
		unseen := unseenOf(r).With(about, false)
		r.Unmarked, r.StepNames = unseen.Any, unseen.Names
	} else {
		r.Unmarked, r.StepNames = false, nil
		for name, step := range seen.Steps {
			if step.Kind == store.StepStarted {
				r.Steps[name] = store.Step{}
			}
		}
	}
	// half of it has been done: somebody has to finish it, if no request does
	if kept, _, _ := seen.Merged(r); len(kept) > 0 {
		r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(r.Key),
			s.Now.Add(store.ReleasedWait).Truncate(time.Millisecond), seen.Derived
	}
	return r
}
