// Package execution holds what the context of a handler knows of its delivery: the claim that the
// handler runs under, the marks on its errors, and why its context may have ended. The protocol
// puts it there, and the root package, and packages beside it, ask for it. It imports only packages
// store, report and fingerprint, so that everything above can import it.
package execution

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Claim is the claim that a handler runs under. It is a plain value.
type Claim struct {
	// These are those of Execution of package idempotent, which documents them.
	Operation, RecordKey string
	Attempt              int
	Recovered            bool
	CreatedAt            time.Time
	// Owner is the token of the claim. Fingerprint is that of the record, which a handler without
	// fingerprints takes over as it is.
	Owner, Fingerprint string
	// Steps and Commits take the steps and the commit of the execution through its record. Handed
	// takes note of the derived keys that are handed out, and Notes of the errors that the handler
	// cannot return; nil takes none.
	Steps   Steps
	Commits Commits
	Handed  *Names
	Notes   *Notes
	// Step is the name of the step that the context belongs to, empty outside of steps.
	Step string
}

// place is a context that says which delivery it belongs to: one under the claim, or one without
// protection, whose claim has nothing but what takes its commits.
type place struct {
	context.Context //nolint:containedctx // it is one

	claim     Claim // which nobody changes
	protected bool
	// unwanted: who delivers does not look at a result that is replayed.
	unwanted bool
}

type placeKey struct{}

func (p *place) Value(key any) any {
	if key == (placeKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// placeOf is the innermost place of a context, nil if it belongs to no delivery.
func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// With returns a context that belongs to an execution under the claim.
func With(ctx context.Context, c Claim) context.Context {
	return &place{Context: ctx, claim: c, protected: true}
}

// Unprotected returns a context that says of itself that it belongs to no claim. A handler that
// runs unprotected inside a protected one gets it, too: keys derived from the outer claim are not
// for its effects. commits, unless nil, takes the commits of the delivery that runs unprotected.
func Unprotected(ctx context.Context, commits Commits) context.Context {
	return &place{Context: ctx, claim: Claim{Commits: commits}}
}

// Unwanting returns a context, as [Unprotected] does, for deliveries whose results nobody looks at:
// that a request was handled is enough.
func Unwanting(ctx context.Context) context.Context { return &place{Context: ctx, unwanted: true} }

// From returns the claim that a context belongs to, and false if it belongs to none.
func From(ctx context.Context) (Claim, bool) {
	if p := placeOf(ctx); p != nil && p.protected {
		return p.claim, true
	}
	return Claim{}, false
}

// Caller is what a context says of who asks for a delivery.
type Caller struct {
	Patience

	// Owners are the owners of all claims that the context belongs to, the innermost first: of
	// handlers that call each other.
	Owners []string
	// Unwanted says that nobody looks at the result of the delivery.
	Unwanted bool
}

// CallerOf returns who asks for a delivery with a context.
func CallerOf(ctx context.Context) (c Caller) {
	c.Patience, _ = ctx.Value(patienceKey{}).(Patience)
	p := placeOf(ctx)
	c.Unwanted = p != nil && p.unwanted
	for ; p != nil; p = placeOf(p.Context) { //nolint:contextcheck // from the inside out
		if p.protected {
			c.Owners = append(c.Owners, p.claim.Owner)
		}
	}
	return c
}

// CommitsOf returns what takes the commits of the delivery that a context belongs to, protected or
// not, or nil.
func CommitsOf(ctx context.Context) Commits {
	if p := placeOf(ctx); p != nil {
		return p.claim.Commits
	}
	return nil
}

// IsUnprotected reports whether a context says that it belongs to no claim. One that says nothing
// was lost on the way.
func IsUnprotected(ctx context.Context) bool {
	p := placeOf(ctx)
	return p != nil && !p.protected
}

// Within reports whether a context belongs to a delivery, protected or not.
func Within(ctx context.Context) bool { return placeOf(ctx) != nil }

// Patience is how long deliveries with a context wait for other executions of their requests, in
// the place of what their handlers say.
type Patience struct {
	// Until is when the wait ends, the zero time if nobody asks for one.
	Until time.Time
	// Least is what has to be left of the invocation after the wait, to begin an execution.
	Least time.Duration
}

type patienceKey struct{}

// Patient returns a context whose deliveries wait, also those of handlers that a handler calls.
func Patient(ctx context.Context, p Patience) context.Context {
	return context.WithValue(ctx, patienceKey{}, p)
}

type steadyKey struct{}

// Steady returns a context under which no wait is random, for searches that have to be repeatable.
func Steady(ctx context.Context) context.Context { return context.WithValue(ctx, steadyKey{}, true) }

// Jitter returns a random part of a wait, and under a context of [Steady] half of it.
func Jitter(ctx context.Context, longest time.Duration) time.Duration {
	if ctx.Value(steadyKey{}) != nil {
		return longest / 2
	}
	return time.Duration(mathrand.Int64N(int64(longest))) //nolint:gosec // not a secret
}

// deadline is a context that ends at an instant, as context.WithDeadline makes one. That one sets a
// timer and enters itself into its parent, which takes longer than a call of a store in memory. So
// it is made only for who waits for the end, or makes a context that ends with it.
type deadline struct {
	parent context.Context //nolint:containedctx // it is part of a context
	end    time.Time

	mu sync.Mutex
	// made is nil until it is needed. stopped: it was canceled before.
	made    context.Context //nolint:containedctx // it is part of a context
	cancel  context.CancelFunc
	stopped bool
}

// WithDeadline is context.WithDeadline. The context costs little as long as nobody waits for its
// end: a call that is answered at once only asks whether it has come. One that is canceled before
// anybody has asked says that it was canceled, also if it had ended.
func WithDeadline(parent context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if earlier, ok := parent.Deadline(); ok && earlier.Before(end) {
		end = earlier
	}
	d := &deadline{parent: parent, end: end}
	return d, d.stop
}

func (d *deadline) Deadline() (end time.Time, ok bool) { return d.end, true }
func (d *deadline) String() string                     { return "until " + d.end.String() } // needs no lock

func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.whole().Done()
}

func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil && !d.stopped && d.parent.Err() == nil && time.Now().Before(d.end) {
		return nil
	}
	return d.whole().Err()
}

// Value leaves to the whole context, where there is one, what package context looks for to find out
// what ends with what: it does so once it has seen Done or Err.
func (d *deadline) Value(key any) any {
	d.mu.Lock()
	ctx := cmp.Or(d.made, d.parent)
	d.mu.Unlock()
	return ctx.Value(key)
}

// whole is the context as the standard library makes it. Its caller holds the lock.
func (d *deadline) whole() context.Context {
	switch {
	case d.made != nil:
	case d.stopped:
		d.made, d.cancel = context.WithCancel(context.WithoutCancel(d.parent))
		d.cancel()
	default:
		d.made, d.cancel = context.WithDeadline(d.parent, d.end)
	}
	return d.made
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped = d.made == nil; !d.stopped {
		d.cancel()
	}
}

// DerivedKey returns the idempotency key for one downstream effect, a UUID in text form: the same
// for every attempt of one request. Without a name, it is that of the step that the claim is in.
func (c Claim) DerivedKey(name string) string {
	if name == "" {
		name = c.Step
	}
	c.Handed.Add(name)
	h := fingerprint.New("derived key")
	h.String(c.RecordKey)
	h.String(c.Fingerprint)
	h.String(name)
	sum := h.Sum()
	return uuid([16]byte(sum[:16]))
}

// RandomKey returns a key in the form of [Claim.DerivedKey] for an effect that belongs to no claim.
func RandomKey() string {
	var random [16]byte
	rand.Read(random[:]) // never fails
	return uuid(random)
}

// uuid writes 16 bytes as a UUID of version 8, whose other bits are free (RFC 9562, section 5.8).
func uuid(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	text := make([]byte, 36)
	hex.Encode(text, b[:4])
	hex.Encode(text[9:], b[4:6])
	hex.Encode(text[14:], b[6:8])
	hex.Encode(text[19:], b[8:10])
	hex.Encode(text[24:], b[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text)
}
