package idempotent_test

import (
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
)

const (
	timeoutOfStories   = 10 * time.Second
	retentionOfStories = time.Hour
)

// reference is what the documentation says about one key, in as few lines as possible: no store, no tokens, no calls.
type reference struct{ held *holding }

// holding is the record of the key. Who holds it is the number of a delivery.
type holding struct {
	state         idempotent.Status
	by            int
	amount        int64
	lease, expiry time.Time
	attempt       int
	result        string // as stored
	answer        string // as replayed
}

// party is a delivery as the reference knows it.
type party struct {
	id      int
	amount  int64
	skew    time.Duration
	started time.Time
	attempt int
}

// rules are the policies of a handler.
type rules struct{ refuse bool }

// finale is how a handler ends.
type finale int

const (
	itSucceeds finale = iota
	itFails
	itFailsUntouched
	itFailsForEver
	itFailsUnsure
	itPanics
)

func (f finale) String() string {
	return [...]string{
		"succeeds", "fails", "fails without an effect", "fails for ever", "fails and may have had its effect", "panics",
	}[f]
}

// claim says whether a delivery executes, or else what it is answered.
func (r *reference) claim(p *party, rules rules, now time.Time) (executes bool, answer string) {
	now = now.Add(p.skew)
	h := r.held
	switch {
	case h == nil || h.expired(now):
		r.held = p.claims(rules, now, 1)
	case h.amount != p.amount:
		return false, "mismatch"
	case h.state == idempotent.StatusCompleted:
		return false, h.answer
	case h.state == idempotent.StatusUnknown:
		return false, "unknown"
	case now.Before(h.lease):
		return false, fmt.Sprint("in progress for ", h.lease.Sub(now))
	case rules.refuse:
		h.state, h.expiry = idempotent.StatusUnknown, wholeSecond(now.Add(idempotent.DefaultUnknownRetention))
		return false, "unknown"
	default:
		r.held = p.claims(rules, now, h.attempt+1)
	}
	p.attempt = r.held.attempt
	return true, ""
}

func (p *party) claims(rules rules, now time.Time, attempt int) *holding {
	h := &holding{state: idempotent.StatusInProgress, by: p.id, amount: p.amount, attempt: attempt}
	h.lease = now.Add(timeoutOfStories + idempotent.DefaultMargin)
	if !h.lease.Equal(h.lease.Truncate(time.Millisecond)) {
		h.lease = h.lease.Truncate(time.Millisecond).Add(time.Millisecond)
	}
	h.expiry = wholeSecond(now.Add(retentionOfStories))
	if rules.refuse {
		h.expiry = wholeSecond(now.Add(idempotent.DefaultUnknownRetention))
	}
	return h
}

// settle says what a delivery is answered whose handler ends now.
func (r *reference) settle(p *party, f finale, rules rules, now time.Time) (answer string) {
	late := !now.Before(p.started.Add(timeoutOfStories - idempotent.DefaultReserve)) // the handler's context has ended
	now = now.Add(p.skew)
	switch f {
	case itSucceeds:
		own := fmt.Sprintf("charge %d of %d", p.id, p.amount)
		return r.complete(p, now, own, fmt.Sprintf(`{"charge":%d,"amount":%d}`, p.id, p.amount))
	case itFailsForEver:
		own := fmt.Sprintf("declined %d", p.id)
		return r.complete(p, now, own, fmt.Sprintf(`{"errorType":"errorString","errorMessage":%q}`, own))
	case itFailsUnsure:
		r.becomeUnknown(p, now)
		return fmt.Sprintf("declined %d", p.id)
	case itFailsUntouched:
		r.release(p)
		return fmt.Sprintf("declined %d", p.id)
	case itFails:
		if rules.refuse && late {
			r.becomeUnknown(p, now)
		} else {
			r.release(p)
		}
		return fmt.Sprintf("declined %d", p.id)
	case itPanics:
	}
	if rules.refuse {
		r.becomeUnknown(p, now)
	} else {
		r.release(p)
	}
	return fmt.Sprintf("panic %d", p.id)
}

func (r *reference) complete(p *party, now time.Time, own, result string) (answer string) {
	h := r.held
	mine := h == nil || h.expired(now) || h.by == p.id
	crashed := h != nil && h.amount == p.amount && h.state == idempotent.StatusInProgress && !now.Before(h.lease)
	switch {
	case mine || crashed:
		r.held = &holding{
			state: idempotent.StatusCompleted, by: p.id, amount: p.amount, expiry: wholeSecond(now.Add(retentionOfStories)),
			attempt: p.attempt, result: result, answer: own,
		}
		return own
	case h.amount != p.amount || h.state == idempotent.StatusUnknown:
		return own
	case h.state == idempotent.StatusCompleted:
		return h.answer
	default:
		return fmt.Sprint("in progress for ", h.lease.Sub(now))
	}
}

func (r *reference) becomeUnknown(p *party, now time.Time) {
	h := r.held
	if h != nil && !h.expired(now) && h.by != p.id {
		return
	}
	expiry := wholeSecond(now.Add(idempotent.DefaultUnknownRetention))
	if h != nil && h.by == p.id && h.state == idempotent.StatusUnknown {
		expiry = h.expiry // it is already
	}
	r.held = &holding{state: idempotent.StatusUnknown, by: p.id, amount: p.amount, expiry: expiry, attempt: p.attempt}
}

func (r *reference) release(p *party) {
	if h := r.held; h != nil && h.by == p.id && h.state == idempotent.StatusInProgress {
		r.held = nil
	}
}

func (h *holding) expired(now time.Time) bool {
	return h.state == idempotent.StatusCompleted && !now.Before(h.expiry)
}

func wholeSecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		return whole.Add(time.Second)
	}
	return t
}
