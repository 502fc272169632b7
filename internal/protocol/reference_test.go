package protocol_test

import (
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/store"
)

const (
	timeoutOfStories   = 10 * time.Second
	retentionOfStories = time.Hour
)

// reference is what the documentation says about one key, in as few lines as possible: no store, no
// tokens, no calls.
type reference struct{ held *holding }

// holding is the record of the key. Who holds it is the number of a delivery.
type holding struct {
	state         store.Status
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
	// A process that outlives its deadline renews its lease. renewed counts the renewals, lost says
	// that one was refused.
	renewed int
	lost    bool
}

// What a handler that overruns its deadline does to its lease.
const (
	firstRenewal  = timeoutOfStories + protocol.DefaultMargin/2
	renewals      = protocol.DefaultLease / 3
	lastRenewal   = timeoutOfStories + 15*time.Minute
	overrunsUntil = lastRenewal + protocol.DefaultLease
)

// renews brings the record to the instant now: p is alive, and its handler is at work.
func (r *reference) renews(p *party, rules rules, now time.Time) {
	for !p.lost {
		at := p.started.Add(firstRenewal + time.Duration(p.renewed)*renewals)
		if at.After(now) || !at.Before(p.started.Add(lastRenewal)) {
			return
		}
		p.renewed++
		h := r.held
		if h == nil || h.by != p.id || h.state != store.StatusInProgress {
			p.lost = true
			return
		}
		at = at.Add(p.skew)
		h.lease = wholeMillisecond(at.Add(protocol.DefaultLease))
		h.expiry = keptUntil(rules, at)
	}
}

// rules are what a handler says about its effects.
type rules struct{ unrepeatable bool }

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
	case h.state == store.StatusCompleted:
		return false, h.answer
	case h.state == store.StatusUnknown:
		return false, "unknown"
	case now.Before(h.lease):
		return false, fmt.Sprint("in progress for ", h.lease.Sub(now))
	case rules.unrepeatable:
		h.state, h.expiry = store.StatusUnknown, wholeSecond(now.Add(protocol.DefaultUnknownRetention))
		return false, "unknown"
	default:
		r.held = p.claims(rules, now, h.attempt+1)
	}
	p.attempt = r.held.attempt
	return true, ""
}

func (p *party) claims(rules rules, now time.Time, attempt int) *holding {
	h := &holding{state: store.StatusInProgress, by: p.id, amount: p.amount, attempt: attempt}
	h.lease = wholeMillisecond(now.Add(timeoutOfStories + protocol.DefaultMargin))
	h.expiry = keptUntil(rules, now)
	return h
}

// keptUntil is the expiry of a record in progress.
func keptUntil(rules rules, now time.Time) time.Time {
	if rules.unrepeatable {
		return wholeSecond(now.Add(protocol.DefaultUnknownRetention))
	}
	return wholeSecond(now.Add(retentionOfStories))
}

func wholeMillisecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); !whole.Equal(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

// settle says what a delivery is answered whose handler ends now.
func (r *reference) settle(p *party, f finale, rules rules, now time.Time) (answer string) {
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
		r.fail(p, rules, now)
		return fmt.Sprintf("declined %d", p.id)
	case itPanics:
	}
	r.fail(p, rules, now)
	return fmt.Sprintf("panic %d", p.id)
}

// fail settles an execution that did not say what its failure means.
func (r *reference) fail(p *party, rules rules, now time.Time) {
	if rules.unrepeatable {
		r.becomeUnknown(p, now)
	} else {
		r.release(p)
	}
}

func (r *reference) complete(p *party, now time.Time, own, result string) (answer string) {
	h := r.held
	mine := h == nil || h.expired(now) || h.by == p.id
	crashed := h != nil && h.amount == p.amount && h.state == store.StatusInProgress && !now.Before(h.lease)
	switch {
	case mine || crashed:
		r.held = &holding{
			state: store.StatusCompleted, by: p.id, amount: p.amount, expiry: wholeSecond(now.Add(retentionOfStories)),
			attempt: p.attempt, result: result, answer: own,
		}
		return own
	case h.amount != p.amount || h.state == store.StatusUnknown:
		return own
	case h.state == store.StatusCompleted:
		return h.answer
	default:
		return fmt.Sprint("superseded for ", h.lease.Sub(now))
	}
}

func (r *reference) becomeUnknown(p *party, now time.Time) {
	h := r.held
	if h != nil && !h.expired(now) && h.by != p.id {
		return
	}
	expiry := wholeSecond(now.Add(protocol.DefaultUnknownRetention))
	if h != nil && h.by == p.id && h.state == store.StatusUnknown && !h.expired(now) {
		expiry = h.expiry // it is already
	}
	r.held = &holding{state: store.StatusUnknown, by: p.id, amount: p.amount, expiry: expiry, attempt: p.attempt}
}

func (r *reference) release(p *party) {
	if h := r.held; h != nil && h.by == p.id { // in progress, or made UNKNOWN by somebody
		r.held = nil
	}
}

func (h *holding) expired(now time.Time) bool {
	live := h.state == store.StatusInProgress && now.Before(h.lease)
	return !live && !now.Before(h.expiry)
}

func wholeSecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		return whole.Add(time.Second)
	}
	return t
}
