package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// till charges orders. Its first execution of each ends as the order's text says; later ones
// charge.
type till struct {
	*idempotent.Handler[string, string]

	store store.Store
	mu    sync.Mutex
	ran   map[string]int
}

func newTill(s store.Store, opts ...idempotent.Option) *till {
	l := &till{store: s, ran: map[string]int{}}
	l.Handler = wrapped(s, func(ctx context.Context, id string) (string, error) {
		l.mu.Lock()
		l.ran[id]++
		first := l.ran[id] == 1
		l.mu.Unlock()
		idempotent.DerivedKey(ctx, "charge")
		if first {
			return "", idempotent.Uncertain(errors.New("no answer"))
		}
		return "charged again", nil
	}, opts...)
	return l
}

// leave makes n records UNKNOWN, and returns their keys by order.
func (l *till) leave(t *testing.T, n int) map[string]string {
	t.Helper()
	keys := make(map[string]string, n)
	for i := range n {
		id := fmt.Sprintf("order-%d", i)
		_, err := l.Handle(t.Context(), id)
		require.Error(t, err)
		d, err := l.Describe(t.Context(), id)
		require.NoError(t, err)
		keys[d.RecordKey] = id
	}
	return keys
}

type resolution = idempotent.Resolution[string]

func TestARunSettlesAllThatIsDue(t *testing.T) {
	t.Parallel()
	l := newTill(memory.New())
	keys := l.leave(t, 40)
	var reports, traced []report.Reconciled
	r := operate.Reconcile(l.Handler, func(_ context.Context, x idempotent.Execution) (resolution, error) {
		var n int
		_, err := fmt.Sscanf(keys[x.RecordKey], "order-%d", &n)
		assert.NoError(t, err)
		switch n % 4 {
		case 0:
			return idempotent.Executed("found"), nil
		case 1:
			return idempotent.Untouched[string](), nil
		case 2:
			return resolution{}, nil
		default:
			return resolution{}, errors.New("the provider says no")
		}
	}, operate.ReconcileConfig{
		Observe: func(_ context.Context, r report.Reconciled) { reports = append(reports, r) },
		Trace: func(ctx context.Context, r report.Reconciled) (context.Context, func(report.Reconciled)) {
			traced = append(traced, r)
			return ctx, func(r report.Reconciled) { traced = append(traced, r) }
		},
	})
	told, err := r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []report.Reconciled{told}, reports)
	require.Equal(t, []report.Reconciled{{Operation: "charge"}, told}, traced)
	for l, err := range operate.New(l.store).List(t.Context(), operate.Query{}) {
		require.NoError(t, err)
		require.False(t, l.Since.After(l.At), "it is UNKNOWN since before it was asked about")
	}
	require.Len(t, told.Problems, 10)
	for _, p := range told.Problems {
		require.ErrorContains(t, p.Err, "the provider says no")
		require.Equal(t, report.ReconcileScheduled, p.Outcome)
		require.Equal(t, 1, p.Tries)
	}
	text, err := json.Marshal(told)
	require.NoError(t, err)
	require.NotContains(t, string(text), "says no", "texts of errors are for a log")
	told.Problems, told.Took = nil, 0
	require.Equal(t, report.Reconciled{
		Operation: "charge", Asked: 40, Completed: 10, Released: 10, Scheduled: 20,
		Failed: 10,
	}, told)

	told, err = r.Run(t.Context())
	require.NoError(t, err)
	require.Zero(t, told.Asked, "nothing is due")
	told, err = r.All(t.Context())
	require.NoError(t, err)
	require.Equal(t, 20, told.Asked)

	for _, id := range keys {
		out, err := l.Handle(t.Context(), id)
		if err != nil {
			require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
		} else {
			require.Contains(t, []string{"found", "charged again"}, out)
		}
	}
}

func TestARunTellsWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	s := &odd{Store: memory.New(), garbled: true}
	l := newTill(s)
	l.leave(t, 1)
	r := operate.Reconcile(l.Handler, func(context.Context, idempotent.Execution) (resolution, error) {
		return idempotent.Executed("found"), nil
	})
	for _, c := range []struct {
		fails              error
		unreadable, failed int
	}{{&store.UnreadableError{Reason: "odd"}, 2, 0}, {errDead, 1, 1}} {
		s.fails = c.fails
		told, err := r.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, [2]int{c.unreadable, c.failed}, [2]int{told.Unreadable, told.Failed})
		require.Len(t, told.Problems, 2)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Run(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestARunEndsBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTill(memory.New())
		l.leave(t, 20)
		release := make(chan struct{})
		r := operate.Reconcile(l.Handler, func(context.Context, idempotent.Execution) (resolution, error) {
			<-release // it does not listen
			return idempotent.Executed("late"), nil
		}, operate.ReconcileConfig{Concurrency: 3})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		told, err := r.Run(ctx)
		require.NoError(t, err)
		require.Less(t, time.Since(began), time.Minute)
		require.True(t, told.NotBegun)
		require.Equal(t, 3, told.NotEnded)
		require.Zero(t, told.Asked)
		before := told
		close(release)
		synctest.Wait()
		require.Equal(t, before, told)

		short, end := context.WithTimeout(t.Context(), 5*time.Second)
		defer end()
		told, err = r.Run(short)
		require.ErrorContains(t, err, "5s are left")
		require.True(t, told.NotBegun)

		told, err = r.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 17, told.Completed, "the others are not due any more, or completed")
	})
}

func TestAReconciliationNeedsAnIndex(t *testing.T) {
	t.Parallel()
	l := newTill(indexless{memory.New()})
	l.leave(t, 3)
	executed := func(context.Context, idempotent.Execution) (resolution, error) {
		return idempotent.Executed("found"), nil
	}
	_, err := operate.Reconcile(l.Handler, executed).Run(t.Context())
	require.ErrorIs(t, err, operate.ErrNeedsScan)
}

func TestAWrongReconciliationPanics(t *testing.T) {
	t.Parallel()
	wrong := operate.ReconcileConfig{
		Concurrency: -1, How: idempotent.Reconciling{MaxTries: -1},
	}
	problems := configtest.ProblemsOf(t, func() {
		operate.Reconcile[string, string](nil, nil, wrong, operate.ReconcileConfig{})
	})
	require.Contains(t, problems[3], "Reconciling.MaxTries: -1")
	require.Equal(t, []string{
		"operate.Reconcile: there are 2 values of ReconcileConfig, and one counts",
		"operate.Reconcile: the handler is nil", "operate.Reconcile: the resolver is nil", problems[3],
		"operate.Reconcile: Concurrency: -1 is negative",
	}, problems)
}

func TestADerivedKeyLeadsToItsRecord(t *testing.T) {
	t.Parallel()
	l := newTill(memory.New())
	keys := l.leave(t, 5)
	o := operate.New(l.store)
	for key, id := range keys {
		d, err := l.Describe(t.Context(), id)
		require.NoError(t, err)
		for _, operation := range []string{"", "charge"} {
			shown, name, err := o.FindDerived(t.Context(), operation, d.DerivedKey("charge"))
			require.NoError(t, err)
			require.Equal(t, "charge", name)
			require.Equal(t, key, shown.Record.Key)
			require.Equal(t, operate.StateUnknown, shown.State)
			require.Equal(t, d.DerivedKey("another"), shown.DerivedKey("another"), "no execution has asked for it")
		}
		_, _, err = o.FindDerived(t.Context(), "refund", d.DerivedKey("charge"))
		require.ErrorIs(t, err, operate.ErrNotFound)
		_, _, err = o.FindDerived(t.Context(), "", d.DerivedKey("another"))
		require.ErrorIs(t, err, operate.ErrNotFound)
	}
	for _, bad := range []string{"", "x", "pi_123", "00000000-0000-4000-8000-000000000000"} {
		_, _, err := o.FindDerived(t.Context(), "", bad)
		require.ErrorIs(t, err, operate.ErrInput)
	}
}

// indexless is a store without an index.
type indexless struct{ *memory.Store }

func (s indexless) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	if q.Index {
		return func(yield func(store.Record, error) bool) {
			yield(store.Record{}, &store.Error{Op: "list", Kind: store.FailureRejected, Err: store.ErrNoIndex})
		}
	}
	return s.Store.List(ctx, q)
}

// TestADeadProcessHasLeftItsDerivedKey: a process that is killed in its first execution tells
// nothing. The names that executions before it have handed out are in its claim, so the key that
// the provider has seen leads to the record.
func TestADeadProcessHasLeftItsDerivedKey(t *testing.T) {
	t.Parallel()
	s, left := memory.New(), memory.New()
	var sent, recordKey string
	charge := func(ctx context.Context, id string) (string, error) {
		sent = idempotent.DerivedKey(ctx, "charge")
		x, _ := idempotent.FromContext(ctx)
		if recordKey = x.RecordKey; id == "dies" { // what the store has now is all that there is if it is killed here
			held, found, err := s.Get(ctx, recordKey)
			require.NoError(t, err)
			require.True(t, found)
			_, claimed, err := left.Claim(ctx, held, held.CreatedAt)
			require.NoError(t, err)
			require.True(t, claimed)
		}
		return "ch_1", nil
	}
	h := wrapped(s, charge, idempotent.WithEffects(idempotent.Unrepeatable))
	for _, id := range []string{"lives", "dies"} {
		_, err := h.Handle(t.Context(), id)
		require.NoError(t, err)
	}
	o := operate.New(left, operate.Config{Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	shown, name, err := o.FindDerived(t.Context(), "", sent)
	require.NoError(t, err)
	require.Equal(t, "charge", name)
	require.Equal(t, recordKey, shown.Record.Key)
	require.Equal(t, operate.StateCrashed, shown.State)

	done, _, err := s.Get(t.Context(), recordKey)
	require.NoError(t, err)
	require.Empty(t, done.Derived, "who completes has nothing to tell")
}

// A process that died before it had learned anything has left no name: those of another record of
// the operation lead to it.
func TestTheNamesOfOthersLeadToARecord(t *testing.T) {
	t.Parallel()
	s := memory.New()
	cold, warm := crashed(), unknown()
	cold.Key, cold.Attention, cold.AttentionAt = cold.Operation()+"#cold", store.AttentionOf(cold.Key), cold.Lease
	for _, r := range []store.Record{cold, warm} {
		_, claimed, err := s.Claim(t.Context(), r, r.CreatedAt)
		require.NoError(t, err)
		require.True(t, claimed)
	}
	of := idempotent.Description{Protected: true, RecordKey: cold.Key, Fingerprint: cold.Fingerprint}
	o := operate.New(s, operate.Config{Clock: func() time.Time { return now }})
	shown, name, err := o.FindDerived(t.Context(), "", of.DerivedKey(warm.Derived[0]))
	require.NoError(t, err)
	require.Equal(t, warm.Derived[0], name)
	require.Equal(t, cold.Key, shown.Record.Key)

	many := []string{}
	for n := range 101 {
		many = append(many, fmt.Sprint("name ", n))
	}
	_, _, err = o.FindDerived(t.Context(), "", of.DerivedKey(warm.Derived[0]), many...)
	require.ErrorIs(t, err, operate.ErrNotFound, "a hundred names are tried")
	of.RecordKey = warm.Key
	_, _, err = o.FindDerived(t.Context(), "", of.DerivedKey(warm.Derived[0]), many...)
	require.NoError(t, err, "beside its own")
	of.RecordKey = cold.Key
	_, _, err = o.FindDerived(t.Context(), "", of.DerivedKey(warm.Derived[0]), slices.Repeat(many[:1], 101)...)
	require.NoError(t, err, "each once")

	sent := of.DerivedKey("known to me")
	_, _, err = o.FindDerived(t.Context(), "", sent)
	require.ErrorIs(t, err, operate.ErrNotFound)
	shown, _, err = o.FindDerived(t.Context(), "", sent, "known to me")
	require.NoError(t, err)
	require.Equal(t, cold.Key, shown.Record.Key)
}
