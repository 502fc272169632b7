package explore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/store"
)

// sweeper is a sweep of package operate: it reads the record at one moment, and what it makes of it arrives at another, or never. What a table does
// that deletes what has expired is actRemove.
type sweeper struct {
	world *world
	// self stands for the sweep where a delivery is asked who did something.
	self *delivery
	// left is how many sweeps may yet begin. cursors are where they keep how far they have come.
	left    int
	cursors *memory.Store
	// twice: the change of this sweep arrives twice.
	twice bool
}

func newSweeper(w *world) *sweeper {
	s := &sweeper{world: w, left: w.Sweeps, cursors: memory.New()}
	s.self = &delivery{world: w, client: &client{name: "sweep"}, name: "the sweep"}
	s.self.die()
	s.self.at = atEnd
	return s
}

// sweepGrace is by how much the clock of a sweep is ahead of those of the handlers: as much as it may be.
const sweepGrace = operate.DefaultSweepGrace

// sweep lets a sweep go through the store.
func (w *world) sweep(f Fault) {
	s := w.sweeper
	s.left--
	s.twice = f == Repeat
	if f != None {
		w.faults--
		w.Saw("fault: " + f.String())
	}
	w.Sayf("%s: a sweep reads %s", w.clockText(), w.describe(*w.held()))
	policies := map[string]idempotent.Effects{}
	if w.refuses() {
		policies[store.OperationOf(w.key())] = idempotent.Unrepeatable
	}
	_, err := operate.Sweep(broom{s}, operate.SweepConfig{
		Effects: policies, Grace: sweepGrace, Rate: math.Inf(1), WriteRate: math.Inf(1), Restart: true,
		Clock: func() time.Time { return w.now.Add(sweepGrace) },
	}).Run(context.Background())
	if err != nil && !errors.Is(err, errOnItsWay) {
		panic(err)
	}
}

// broom is the store as a sweep sees it.
type broom struct{ of *sweeper }

func ofCursor(key string) bool { return strings.HasPrefix(key, operate.SweepOperation+"#") }

func (b broom) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if !ofCursor(r.Key) {
		panic("a sweep claims nothing")
	}
	return b.of.cursors.Claim(ctx, r, now)
}

func (b broom) Get(ctx context.Context, key string) (store.Record, bool, error) {
	return b.of.world.store.Get(ctx, key)
}

func (b broom) Delete(context.Context, store.Record) (bool, error) {
	panic("a sweep deletes no record of a handler")
}

// List implements [store.Lister].
func (b broom) List(ctx context.Context, _ store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if listed, found, err := b.Get(ctx, b.of.world.key()); found || err != nil {
			listed.Steps = nil
			yield(listed, err)
		}
	}
}

// ListCost implements [store.Lister].
func (b broom) ListCost(context.Context, store.Query) (store.Cost, error) {
	panic("a sweep asks nobody what it costs")
}

// errOnItsWay ends a sweep whose change is on its way.
var errOnItsWay = errors.New("on its way")

// Swap sends the change of a record.
func (b broom) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if ofCursor(seen.Key) {
		return b.of.cursors.Swap(ctx, seen, next)
	}
	w, sent := b.of.world, message{by: b.of.self, call: call{op: opSwap, key: seen.Key, seen: seen, next: next}}
	w.messages = append(w.messages, sent)
	if b.of.twice {
		w.messages = append(w.messages, sent)
	}
	w.Saw("sweep: finds " + nameOfState(seen))
	return store.Record{}, false, &store.Error{Op: "swap", Kind: store.FailureAccessDenied, Err: errOnItsWay}
}

// actionsOfSweeper are the choices whether a sweep begins.
func (w *world) actionsOfSweeper(all []action) []action {
	if w.sweeper.left == 0 || w.held() == nil {
		return all
	}
	all = append(all, action{kind: actSweep})
	for _, f := range w.Faults {
		if f == Repeat && w.faults > 0 && (w.Strikes == nil || w.Strikes(f, OfSweep)) {
			all = append(all, action{kind: actSweep, fault: f})
		}
	}
	return all
}

// sweepSaysWhatHasHappened is I14.
func sweepSaysWhatHasHappened(w *world, e event) string {
	if e.kind != evWritten || e.by != w.sweeper.self {
		return ""
	}
	b, a := e.before, e.after
	switch {
	case b == nil:
		return "the sweep makes a record where there was none"
	case a == nil:
		return "the sweep deletes the record"
	case b.Status == store.StatusInProgress && w.now.Before(b.Lease):
		return "the sweep changes a live claim"
	case b.Status != store.StatusInProgress, b.Released():
		return "the sweep changes " + nameOfState(*b)
	case a.Status != store.StatusUnknown:
		return "the sweep leaves " + nameOfState(*a)
	case b.Reason == "" && !w.refuses():
		return "the sweep makes a crash UNKNOWN that is executed again"
	case b.Reason != "" && (a.Reason != b.Reason || a.Attention != b.Attention || !a.AttentionAt.Equal(b.AttentionAt)):
		return "the sweep changes why somebody has to settle the record, or when"
	case b.Reason == "" && a.Reason != store.ReasonCrashed:
		return "the sweep says that a crash is " + a.Reason
	case a.Attention == "":
		return "the sweep leaves the record on no list"
	case a.Owner != b.Owner, a.Attempt != b.Attempt, a.Fingerprint != b.Fingerprint, !a.CreatedAt.Equal(b.CreatedAt), a.Tries != b.Tries:
		return "the sweep changes whose record it is"
	case !maps.EqualFunc(a.Steps, b.Steps, sameStep):
		return "the sweep changes steps"
	case a.Expiry.Before(b.Expiry):
		return fmt.Sprintf("the sweep lets the record expire %v earlier", b.Expiry.Sub(a.Expiry))
	}
	return ""
}

func (w *world) sweeperState(d *schedules.Digest) { d.Number(int64(w.sweeper.left)) }
