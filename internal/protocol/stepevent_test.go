package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// stepOf is what the observer saw last of the one step of an execution.
func (s *shop) stepOf() report.Step {
	s.t.Helper()
	require.Len(s.t, s.event().Steps, 1)
	return s.event().Steps[0]
}

func TestAReportTellsHowAStepHasEnded(t *testing.T) {
	begun, known := crashedWith(1, "charge"), idempotent.AtMostOnce(func(
		context.Context, idempotent.Execution,
	) (idempotent.Resolution[string], error) {
		return idempotent.Executed("found"), nil
	})
	once := idempotent.AtMostOnce[string](nil)
	for name, tc := range map[string]struct {
		rule rule
		put  func(r *store.Record)
		do   handler
		end  report.StepEnd // empty where nothing is told of it
		kind string
		err  error
	}{
		"resolved": {put: begun, do: inOneStep("charge", known), end: report.StepResolved},
		"unknown": {
			put: begun, do: inOneStep("charge", once), end: report.StepUnknown, err: idempotent.ErrUnknownOutcome,
		},
		"failed": {
			do: func(ctx context.Context, _ order) (receipt, error) {
				return receipt{}, failIn(ctx, "charge", errCard)
			},
			end: report.StepFailed, kind: "errors.errorString", err: errCard,
		},
		"lost": {
			rule: writes(store.StepValue, calls.Deny), do: inOneStep("charge"), end: report.StepLost,
			kind: "store.Error", err: idempotent.ErrStepLost,
		},
		"refused": {
			rule: writes(store.StepStarted, calls.Deny), do: inOneStep("charge", once), end: report.StepRefused,
			kind: "store.Error", err: idempotent.ErrStepRefused,
		},
		"lease lost": {
			do:  after(func(s *shop) { s.takeOver(func(*store.Record) {}) }, inOneStep("charge")),
			end: report.StepLeaseLost, kind: "errors.errorString", err: idempotent.ErrLeaseLost,
		},
		"unreadable": {
			put: crashedWith(1, "", "charge"), do: func(ctx context.Context, _ order) (receipt, error) {
				_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { return 0, nil })
				return receipt{}, err
			}, end: report.StepUnreadable, err: idempotent.ErrUnreadable,
		},
		"of no name": {do: inOneStep("no name!"), err: idempotent.ErrStepRefused},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShopOn(t, memory.New(), tc.rule).doing(tc.do)
			if tc.put != nil {
				s.put(tc.put)
			}
			_, err := s.handle(5)
			if tc.end == "" {
				requireFails(t, err, tc.err)
				assert.Empty(t, s.event().Steps)
				return
			}
			told := s.stepOf()
			assert.Equal(t, tc.end, told.End)
			assert.Equal(t, tc.kind, told.ErrorType)
			require.ErrorIs(t, told.Err, tc.err)
			if own, is := errors.AsType[*idempotent.Error](told.Err); is {
				assert.Equal(t, "charge", own.Step)
				assert.Equal(t, s.recordKey(), own.RecordKey)
			}
		})
	}
}

func TestAFinalFailureOfAStepLooksAlikeWhetherRecordedOrResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told []error
		s := newShop(t).doing(func(ctx context.Context, o order) (receipt, error) {
			told = append(told, failIn(ctx, "charge", idempotent.Terminal(errCard)))
			// another error releases, with the step
			return firstly(fails(errors.New("the compensation failed")), returns(receipt{Charge: 402}))(ctx, o)
		})
		s.mustFail(5, errAny)
		first := s.stepOf()
		s.mustGet(5, receipt{Charge: 402})
		again := s.stepOf()
		assert.Equal(t, report.StepRecorded, first.End)
		assert.Equal(t, report.StepResumed, again.End)
		require.ErrorAs(t, first.Err, new(*idempotent.ReplayedError))
		assert.Equal(t, first.Err, again.Err)
		assert.Equal(t, first.Bytes, again.Bytes)
		assert.Equal(t, told[0], told[1])
		assert.Equal(t, 1, s.count("charge"))
	})
}

func TestStepsThatNoCodeAsksForAreOrphansUnlessAResolverAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []idempotent.Option
		was  func(r *store.Record)
		want []string
	}{
		"renamed": {nil, func(r *store.Record) { r.Reason = store.ReasonReleased }, []string{"charge", "mail"}},
		"resolved": {
			[]idempotent.Option{resolves(idempotent.Executed(receipt{Charge: 9}), nil)}, unknown, nil,
		},
	} {
		deliveryCase{
			opts: tc.opts, put: func(r *store.Record) { crashedWith(2, "", "mail", "charge")(r); tc.was(r) },
			runs: int64(min(len(tc.want), 1)), settled: report.Completed, left: store.StatusCompleted,
			then: func(s *shop, _ error) { assert.Equal(s.t, tc.want, s.event().OrphanSteps) },
		}.deliver(t, name)
	}
}

// A store may still read what it was given while another step runs.
func TestStepsThatAStoreWasGivenStayAsTheyWere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var given []map[string]store.Step
		remembers := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
			given = append(given, c.Seen.Steps)
			return c.Make(ctx, records)
		}, swap)
		s := newShopOn(t, remembers, nil)
		s.do = inTwoSteps(func() error { return nil })
		s.mustHandle(5)
		require.Len(t, given, 3)
		for i, seen := range given {
			assert.Len(t, seen, i, "write %d", i+1)
		}
	})
}

// TestAStepIsOneWrite counts the writes of executions with steps, and of one that resumes them.
func TestAStepIsOneWrite(t *testing.T) {
	names := make([]string, 30)
	for i := range names {
		names[i] = fmt.Sprint("step-", i)
	}
	inSteps := func(names []string) handler {
		return func(ctx context.Context, o order) (receipt, error) {
			for _, name := range names {
				if _, err := take(ctx, name); err != nil {
					return receipt{}, err
				}
			}
			return receipt{1, o.Amount}, nil
		}
	}
	for _, n := range []int{0, 1, 3, 10, len(names)} { // one write for each, beside the completion
		deliveryCase{
			do: inSteps(names[:n]), runs: 1, left: store.StatusCompleted,
			ops: append([]calls.Op{claim}, slices.Repeat([]calls.Op{swap}, n+1)...),
		}.deliver(t, fmt.Sprint(n))
	}
	for name, tc := range map[string]deliveryCase{ // nothing for a step that is resumed
		"a crash without steps": {put: crashed, do: inSteps(nil)},
		"a crash behind all":    {put: crashedWith(30, "", names...), do: inSteps(names)},
	} {
		tc.runs, tc.done, tc.ops, tc.left = 1, nothing, []calls.Op{claim, swap, swap}, store.StatusCompleted
		tc.deliver(t, name)
	}
}

// A record may become UNKNOWN for as long as the configuration says, and be executed after that.
func TestAStepAsksItsPartsToLiveAsLongAsItsRecordCan(t *testing.T) {
	const kept = 90 * 24 * time.Hour
	deliveryCase{
		opts: []idempotent.Option{idempotent.WithTiming(idempotent.Timing{UnknownRetention: kept})},
		do:   inOneStep("charge"), runs: 1, left: store.StatusCompleted, ops: []calls.Op{claim, swap, swap},
		then: func(s *shop, _ error) {
			next := s.store.Calls()[1].Next
			assert.Equal(s.t, next.Expiry.Add(2*kept), next.Steps["charge"].Until)
		},
	}.deliver(t, "90 days")
}
