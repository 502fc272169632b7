// Package operate is for the operators of a handler: it lists the records of a store, shows one,
// and settles, releases or deletes it. The command line tool is built on it.
//
//	o := operate.New(dynamo.New(client, table))
//	shown, err := o.Inspect(ctx, key)
//	…
//	entry, err := o.Settle(ctx, shown, operate.NotExecuted(), operate.Act{By: "dana", Why: "ticket 4711: the provider has no charge"})
//
// # What is guaranteed
//
//   - Each change is one compare-and-swap on the record as [Operator.Inspect] has read it. If the
//     record, or a step of it, has changed since then, nothing happens, and the error is an
//     [ErrChanged] with the record as it is now.
//   - A record whose lease is live is left alone: an [ErrLive].
//   - A change puts a new random owner into the record. A write that the execution before has sent,
//     and that is still on its way, matches no more.
//
// So an operator and an execution never both win, and the verdict of the operator is final. An
// execution that comes back gets the result or the error that was settled, and
// idempotent.ErrSuperseded if the record was released. If that was wrong, the effect repeats.
//
// [Operator.Delete] is the exception, because nothing is left in the store: an execution that comes
// back stores its result again, if no other request has claimed the key meanwhile.
//
// Each change needs an [Act]. A record that is kept carries it, in SettledBy, SettledAt and
// SettledReason, and each call returns an [Entry] for your audit log.
package operate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/store"
)

// Operator acts on the records of one store. Make it with [New]; the zero value is not usable. It
// is immutable and safe for concurrent use.
type Operator struct {
	store     store.Store
	now       func() time.Time
	retention time.Duration
}

// Config adjusts an [Operator]. Its zero value has the defaults.
type Config struct {
	_ struct{} // literals name their fields: more may come

	// Retention is for how long a record is kept at least after it was settled or released. Give it
	// the retention of the handler. Default a day. It never shortens the time that a record has: a
	// client whose retry of an UNKNOWN one comes late, after 30 days by default, must not execute.
	Retention time.Duration
	// Clock is compared with leases and expiries. Default is time.Now.
	Clock func() time.Time
}

// New returns an operator. It panics with a [*store.ConfigError] that names every problem.
func New(s store.Store, config ...Config) *Operator {
	p := setup.Of("operate.New")
	p.Addf(setup.IsNil(s), "the store is nil")
	c := setup.One(p, config)
	p.Addf(c.Retention < 0, "Retention: %s is negative", c.Retention)
	p.Panic()
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Operator{store: s, now: c.Clock, retention: cmp.Or(c.Retention, 24*time.Hour)}
}

// Shown is a record as [Operator.Inspect] has read it, or as [Operator.List] found it. Changes are
// conditional on what Inspect has read; what it did not return is refused. It is a plain value.
type Shown struct {
	// Record is the record. Its Result, and that of a step, is nil if it is kept in parts: see
	// [Operator.Result] and [Operator.StepResult]. [Shown.Steps] shows steps without results.
	Record store.Record
	// State is what the record means at the instant At of the operator's clock, when it was read.
	State State
	At    time.Time
	// Since is when the record became what it is: UNKNOWN, whatever was asked about it since,
	// crashed, which is when its lease ended, released or completed. Where the record does not say
	// that, it is when it was created.
	Since time.Time
	// Due is true if somebody has to settle the record now:
	//
	//   - it is UNKNOWN
	//   - it has crashed, or the reconciliation that asked about it has, and its handler refuses
	//     crashed executions or has a resolver
	//   - it was released with steps, and its AttentionAt has come: as a rule the client retries
	//     before, and the next execution goes on where the one before stopped
	Due bool

	read *store.Record // what changes are conditional on, whatever becomes of Record
	open []string      // the names of its open steps
}

// Inspect reads a record. If there is none the error is [ErrNotFound]. One that cannot be
// understood is a [*store.UnreadableError], and one that has expired is shown as [StateExpired].
func (o *Operator) Inspect(ctx context.Context, key string) (Shown, error) {
	if key == "" {
		return Shown{}, bad("key", isEmpty)
	}
	r, found, err := o.store.Get(ctx, key)
	switch {
	case err != nil:
		return Shown{}, fmt.Errorf("operate: inspect: %w", err)
	case !found:
		return Shown{}, ErrNotFound
	default:
		return o.show(r), nil
	}
}

func (o *Operator) show(r store.Record) Shown {
	now := o.now()
	state := StateOf(r, now)
	return Shown{
		Record: r, State: state, At: now, Since: since(r, state), Due: life.Waits(r, now), read: &r,
		open: named(r, StepOpen),
	}
}

// Result returns the stored result of a completed record, also one that is kept in parts, verified
// by the seal of the record if that has one. The bytes are the caller's. A record that is not
// completed has none: an [ErrState].
func (o *Operator) Result(ctx context.Context, s Shown) ([]byte, error) {
	r, err := s.record()
	if err != nil {
		return nil, err
	}
	if r.Status != store.StatusCompleted {
		return nil, inState("show the result", s.State)
	}
	return o.result(ctx, r, r.Seal == "" || r.Sealed(r.Result), "its result is not the one that was committed")
}

// result reads a result from the record, where it counts if it is sealed, or from its parts.
func (o *Operator) result(ctx context.Context, r store.Record, sealed bool, reason string) ([]byte, error) {
	if r.Parts == "" {
		if !sealed {
			return nil, &store.UnreadableError{Reason: reason}
		}
		return bytes.Clone(r.Result), nil
	}
	reader, ok := o.store.(store.ResultReader)
	if !ok {
		return nil, &store.UnreadableError{Reason: "its result is kept in parts, which this store cannot read"}
	}
	result, err := reader.ReadResult(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("operate: read result: %w", err)
	}
	return result, nil
}

func (s Shown) record() (store.Record, error) {
	if s.read == nil {
		return store.Record{}, bad("shown", "was not returned by Inspect")
	}
	return *s.read, nil
}
