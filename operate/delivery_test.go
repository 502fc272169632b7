package operate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// shop is a handler with two steps, the second of which must not run twice, and counts what it
// does.
type shop struct {
	*desk

	now     time.Time
	handler *idempotent.Handler[string, string]

	reserved, charged int
	// ends is what the second step ends with.
	ends error
}

type charge struct{ ID string }

func newShop(t *testing.T, opts ...idempotent.Option) *shop {
	t.Helper()
	s := &shop{now: now}
	clock := func() time.Time { return s.now }
	s.desk = deskOver(t, memory.New(), operate.Config{Clock: clock})
	s.handler = wrapped(s.inner, s.order, append(opts, idempotent.WithClock(clock))...)
	return s
}

func (s *shop) order(ctx context.Context, _ string) (string, error) {
	_, err := idempotent.Step(ctx, "reserve", func(context.Context) (string, error) {
		s.reserved++
		return "r1", nil
	})
	if err != nil {
		return "", err
	}
	c, err := idempotent.Step(ctx, "charge", func(context.Context) (charge, error) {
		s.charged++
		return charge{ID: "by the handler"}, s.ends
	}, idempotent.AtMostOnce[charge](nil))
	return c.ID, err
}

// stuck is the record of an order whose second step may have begun, as it is shown.
func (s *shop) stuck() operate.Shown {
	s.t.Helper()
	s.ends = idempotent.Uncertain(errors.New("no answer"))
	_, err := s.handler.Handle(s.t.Context(), "order-1")
	require.Error(s.t, err)
	s.ends = nil
	_, err = s.handler.Handle(s.t.Context(), "order-1")
	require.ErrorIs(s.t, err, idempotent.ErrUnknownOutcome)
	require.Equal(s.t, [2]int{1, 1}, [2]int{s.reserved, s.charged})
	return s.only(operate.Query{})
}

// only is the only record that is listed.
func (s *shop) only(q operate.Query) operate.Shown {
	s.t.Helper()
	found := s.listed(q)
	require.Len(s.t, found, 1)
	return s.look(found[0].Record.Key)
}

// judge settles the record of an order that is stuck.
func (s *shop) judge(v operate.Verdict) {
	s.t.Helper()
	_, err := s.Settle(s.t.Context(), s.stuck(), v, act)
	require.NoError(s.t, err)
}

// assertAnswer sends the order again.
func (s *shop) assertAnswer(want string) {
	s.t.Helper()
	got, err := s.handler.Handle(s.t.Context(), "order-1")
	require.NoError(s.t, err)
	assert.Equal(s.t, want, got)
}

// TestAVerdictOnAStepMeetsTheNextExecution: it gets what the operator has recorded, and runs no
// step again.
func TestAVerdictOnAStepMeetsTheNextExecution(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]idempotent.Option{
		"by default": nil, "where crashes are refused": {idempotent.WithEffects(idempotent.Unrepeatable)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, opts...)
			s.judge(operate.StepExecuted("charge", []byte(`{"ID":"ch_1"}`)))
			s.assertAnswer("ch_1")
			assert.Equal(t, [2]int{1, 1}, [2]int{s.reserved, s.charged})
			assert.Empty(t, s.listed(operate.Query{NotDue: true}))

			s = newShop(t, opts...)
			s.judge(operate.StepFailed("charge", "CardDeclined", "no money"))
			_, err := s.handler.Handle(t.Context(), "order-1")
			var failed *idempotent.ReplayedError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, "CardDeclined", failed.Type)
			assert.Equal(t, "no money", failed.Message)
			assert.Equal(t, [2]int{1, 1}, [2]int{s.reserved, s.charged})

			s = newShop(t, opts...)
			s.judge(operate.NotExecuted())
			s.assertAnswer("by the handler")
			assert.Equal(t, [2]int{1, 2}, [2]int{s.reserved, s.charged})
		})
	}
}

// TestAVerdictWithAResultThatTheStepDoesNotReturn: the handler does not run over it, and somebody
// can still settle the record.
func TestAVerdictWithAResultThatTheStepDoesNotReturn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.judge(operate.StepExecuted("charge", []byte(`["ch_1"]`)))
	_, err := s.handler.Handle(t.Context(), "order-1")
	require.ErrorIs(t, err, idempotent.ErrUnreadable)
	assert.Equal(t, [2]int{1, 1}, [2]int{s.reserved, s.charged})
	_, err = s.Settle(t.Context(), s.only(operate.Query{NotDue: true}), operate.Executed([]byte(`"ch_1"`)), act)
	require.NoError(t, err)
	s.assertAnswer("ch_1")
}

// TestAnOrderThatStoppedBetweenTwoStepsIsListedOnceNobodyRetries, and no more when somebody does.
func TestAnOrderThatStoppedBetweenTwoStepsIsListedOnceNobodyRetries(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ends = idempotent.NotExecuted(errors.New("the provider is down"))
	_, err := s.handler.Handle(t.Context(), "order-1")
	require.Error(t, err)
	assert.Empty(t, s.listed(operate.Query{}))
	assert.Len(t, s.listed(operate.Query{NotDue: true}), 1)
	s.now = s.now.Add(store.ReleasedWait - time.Second)
	assert.Empty(t, s.listed(operate.Query{}))
	s.now = s.now.Add(time.Second)
	shown := s.only(operate.Query{})
	assert.Equal(t, operate.StateReleased, shown.State)
	assert.Equal(t, []operate.Step{{Name: "reserve", State: operate.StepRecorded, Bytes: 4}}, shown.Steps())
	text, err := s.StepResult(t.Context(), shown, "reserve")
	require.NoError(t, err)
	assert.Equal(t, `"r1"`, string(text))

	s.ends = nil
	s.assertAnswer("by the handler")
	assert.Equal(t, 1, s.reserved)
	assert.Empty(t, s.listed(operate.Query{NotDue: true}))
	_, err = s.Settle(t.Context(), shown, operate.Failed("Abandoned", "nobody came back"), act)
	require.ErrorIs(t, err, operate.ErrChanged)
}

// mortal is the store as a process sees it that dies behind its claim: nothing that it sends
// afterwards arrives.
type mortal struct{ *memory.Store }

func (mortal) Swap(context.Context, store.Record, store.Record) (store.Record, bool, error) {
	return store.Record{}, false, errDead
}

func (mortal) Delete(context.Context, store.Record) (bool, error) { return false, errDead }

var errDead = &store.Error{
	Op: "swap", Kind: store.FailureAccessDenied, NotApplied: true,
	Err: errors.New("the process is dead"),
}

// wrapped is a handler of orders, whose keys are their texts.
func wrapped(s store.Store, handle func(context.Context, string) (string, error),
	opts ...idempotent.Option,
) *idempotent.Handler[string, string] {
	return idempotent.Wrap(handle, s, append([]idempotent.Option{
		idempotent.WithOperation("charge"), idempotent.WithKey(func(id string) (string, error) { return id, nil }),
	}, opts...)...)
}

func charges(context.Context, string) (string, error) { return "charged", nil }

// TestAProcessThatDiesInItsFirstExecutionIsFoundByTheIndex: nobody retries, and nothing scans.
func TestAProcessThatDiesInItsFirstExecutionIsFoundByTheIndex(t *testing.T) {
	t.Parallel()
	resolver := idempotent.WithResolver(func(context.Context, idempotent.Execution,
		string,
	) (idempotent.Resolution[string], error) {
		return idempotent.StillUnknown[string](), nil
	})
	for name, c := range map[string]struct {
		opts  []idempotent.Option
		found bool
	}{
		"it refuses crashes":   {[]idempotent.Option{idempotent.WithEffects(idempotent.Unrepeatable)}, true},
		"it has a resolver":    {[]idempotent.Option{resolver}, true},
		"it executes again":    {nil, false},
		"its effects are safe": {[]idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &odd{Store: memory.New()}
				// its answer does not matter
				_, _ = wrapped(mortal{s.Store}, charges, c.opts...).Handle(t.Context(), "order-1")
				list := deskOver(t, s, operate.Config{Clock: time.Now}).listed
				require.Empty(t, list(operate.Query{}), "the lease lives")
				require.Zero(t, s.gets.Load(), "the entry of an execution that may run is not read")
				r := operate.Reconcile(wrapped(s, charges, c.opts...),
					func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
						return idempotent.Executed("found"), nil
					})
				told, err := r.All(t.Context())
				require.NoError(t, err)
				require.Zero(t, told.Busy, "nor is anybody asked about it")
				time.Sleep(time.Minute)
				found := list(operate.Query{})
				require.Equal(t, c.found, len(found) == 1)
				require.Len(t, list(operate.Query{Scan: true, States: []operate.State{operate.StateCrashed}}), 1)
				told, err = r.Run(t.Context())
				require.NoError(t, err)
				if !c.found {
					require.Zero(t, told.Asked)
					return
				}
				assert.Equal(t, operate.StateCrashed, found[0].State)
				assert.True(t, found[0].Due)
				assert.Equal(t, 1, told.Completed)
				require.Empty(t, list(operate.Query{}))
			})
		})
	}
}

// TestAnExecutionWhoseLeaseWasRenewedIsNotOpen: its entry in the index is due, and the record says
// that it runs.
func TestAnExecutionWhoseLeaseWasRenewedIsNotOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		ends := make(chan struct{})
		h := wrapped(s, func(context.Context, string) (string, error) { <-ends; return "charged", nil },
			idempotent.WithEffects(idempotent.Unrepeatable))
		done := make(chan error, 1)
		go func() {
			_, err := h.Handle(t.Context(), "order-1")
			done <- err
		}()
		time.Sleep(5 * time.Minute)
		for l, err := range operate.New(s).List(t.Context(), operate.Query{}) {
			t.Fatal("listed", l, err)
		}
		r := operate.Reconcile(h, func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
			t.Error("asked about an execution that runs")
			return idempotent.Untouched[string](), nil
		})
		told, err := r.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, told.Busy)
		close(ends)
		require.NoError(t, <-done)
		told, err = r.Run(t.Context())
		require.NoError(t, err)
		require.Zero(t, told.Busy+told.Closed, "it has left the index")
	})
}
