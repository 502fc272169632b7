package observe_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/store"
)

func TestEveryOutcomeAndSettlementCounts(t *testing.T) {
	t.Parallel()
	outcomes, settlements := constantsOf(t, "Outcome"), constantsOf(t, "Settlement")
	require.Contains(t, outcomes, string(idempotent.OutcomeReplayed), "the source was understood")
	require.Contains(t, settlements, string(idempotent.SettledReleased), "the source was understood")
	for _, outcome := range outcomes {
		e := idempotent.Event{Operation: "charge", Outcome: idempotent.Outcome(outcome)}
		if e.Outcome == idempotent.OutcomeExecuted {
			e.Settlement = idempotent.SettledCompleted // it never stands alone
		}
		d := lineOf(t, e)
		assert.NotEmpty(t, d.counts(), "an invocation that ended as %q counts as nothing", outcome)
		assert.Equal(t, outcome, d.members["outcome"])
	}
	for _, settlement := range settlements {
		d := lineOf(t, idempotent.Event{
			Operation: "charge", Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.Settlement(settlement),
		})
		assert.NotEmpty(t, d.counts(), "an execution that was settled as %q counts as nothing", settlement)
		assert.Equal(t, settlement, d.members["settlement"])
	}
}

// Every combination of what an event can say, valid or not, makes a valid line.
func TestEveryEventMakesAValidLine(t *testing.T) {
	t.Parallel()
	for _, outcome := range constantsOf(t, "Outcome") {
		for _, settlement := range append(constantsOf(t, "Settlement"), "") {
			for _, storeErr := range []error{nil, idempotent.ErrLeaseLost, idempotent.ErrUnreadable, errors.New("down")} {
				for _, full := range []bool{false, true} {
					e := idempotent.Event{
						Operation: "charge", Outcome: idempotent.Outcome(outcome),
						Settlement: idempotent.Settlement(settlement), StoreErr: storeErr,
					}
					if full {
						e.Reason, e.RecordKey, e.Attempt, e.Recovered = "result-lost", "charge#abc", 2, true
						e.Claim, e.Wait, e.Handle, e.Settle = time.Second, time.Minute, time.Nanosecond, time.Hour
						e.Err, e.ResultBytes = errors.New("declined"), 6<<20
					}
					if e.Outcome == idempotent.OutcomeExecuted && settlement == "" {
						continue // there is none
					}
					d := lineOf(t, e, observe.WithDimension("Stage", "test"))
					assert.Subset(t, observe.Metrics(), d.AWS.CloudWatchMetrics[0].Metrics)
				}
			}
		}
	}
}

func TestMetricsSayWhatHappened(t *testing.T) {
	t.Parallel()
	down := &store.Error{Op: "swap", Kind: store.FailureThrottled, Err: errors.New("slow down")}
	for name, tc := range map[string]struct {
		event idempotent.Event
		want  []string
	}{
		"created":     {idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledCompleted}, []string{"Created"}},
		"replayed":    {idempotent.Event{Outcome: idempotent.OutcomeReplayed}, []string{"Replayed"}},
		"in progress": {idempotent.Event{Outcome: idempotent.OutcomeInProgress}, []string{"InProgress"}},
		"no key":      {idempotent.Event{Outcome: idempotent.OutcomeMissingKey}, []string{"KeyMisuse"}},
		"bad key":     {idempotent.Event{Outcome: idempotent.OutcomeInvalidKey}, []string{"KeyMisuse"}},
		"mismatch":    {idempotent.Event{Outcome: idempotent.OutcomeMismatch}, []string{"KeyMisuse", "Mismatch"}},
		"stale":       {idempotent.Event{Outcome: idempotent.OutcomeStale}, []string{"Stale"}},
		"nobody":      {idempotent.Event{Outcome: idempotent.OutcomeMissingTenant}, []string{"MissingTenant"}},
		"failed":      {idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledReleased}, []string{"FailedRetry"}},
		"panicked":    {idempotent.Event{Outcome: idempotent.OutcomePanicked, Settlement: idempotent.SettledReleased}, []string{"Panicked", "FailedRetry"}},
		"panic before a claim": {
			idempotent.Event{Outcome: idempotent.OutcomePanicked}, []string{"Panicked"},
		},
		"uncertain": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledUnknown, Reason: "uncertain"},
			[]string{"BecameUnknown"},
		},
		"met UNKNOWN": {idempotent.Event{Outcome: idempotent.OutcomeUnknown, Reason: "result-lost"}, []string{"MetUnknown"}},
		"crash that is refused": {
			idempotent.Event{Outcome: idempotent.OutcomeUnknown, Settlement: idempotent.SettledUnknown, Reason: "crashed"},
			[]string{"BecameUnknown"},
		},
		"crash that a resolver knows nothing of": {
			idempotent.Event{Outcome: idempotent.OutcomeUnknown, Settlement: idempotent.SettledUnknown, Reason: "crashed", Recovered: true},
			[]string{"BecameUnknown", "Takeover"},
		},
		"still UNKNOWN": {
			idempotent.Event{
				Outcome: idempotent.OutcomeUnknown, Settlement: idempotent.SettledStillUnknown, Reason: "result-lost", Recovered: true,
			},
			[]string{"MetUnknown", "Takeover"},
		},
		"met UNKNOWN, and lost it on the way": {
			idempotent.Event{Outcome: idempotent.OutcomeUnknown, Settlement: idempotent.SettledElsewhere, Recovered: true, StoreErr: idempotent.ErrLeaseLost},
			[]string{"MetUnknown", "Takeover", "LeaseLost"},
		},
		"result lost": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledUnknown, Reason: "result-lost", StoreErr: down},
			[]string{"BecameUnknown", "CompletionFailed", "StoreError"},
		},
		"not settled": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledFailed, StoreErr: down},
			[]string{"CompletionFailed", "StoreError"},
		},
		"takeover": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledCompleted, Recovered: true},
			[]string{"Created", "Takeover"},
		},
		"resolved": {
			idempotent.Event{Outcome: idempotent.OutcomeResolved, Settlement: idempotent.SettledCompleted, Recovered: true},
			[]string{"Created", "Resolved", "Takeover"},
		},
		"lease lost": {
			idempotent.Event{Outcome: idempotent.OutcomeReplayed, Settlement: idempotent.SettledElsewhere, StoreErr: idempotent.ErrLeaseLost},
			[]string{"Replayed", "LeaseLost"},
		},
		"lease lost for a while": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledCompleted, StoreErr: idempotent.ErrLeaseLost},
			[]string{"Created", "LeaseLost"},
		},
		"lease lost to an unreadable record": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledElsewhere, StoreErr: &idempotent.UnreadableError{}},
			[]string{"LeaseLost", "Unreadable"},
		},
		"renewal failed": {
			idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledCompleted, StoreErr: down},
			[]string{"Created", "StoreError"},
		},
		"store down": {
			idempotent.Event{Outcome: idempotent.OutcomeStoreUnavailable, StoreErr: down}, []string{"StoreError"},
		},
		"unreadable":  {idempotent.Event{Outcome: idempotent.OutcomeUnreadable}, []string{"Unreadable"}},
		"refused":     {idempotent.Event{Outcome: idempotent.OutcomeRefused}, []string{"Refused"}},
		"unprotected": {idempotent.Event{Outcome: idempotent.OutcomeUnprotected}, []string{"Unprotected"}},
		"disabled":    {idempotent.Event{Outcome: idempotent.OutcomeDisabled}, []string{"Disabled"}},
	} {
		tc.event.Operation = "charge"
		d := lineOf(t, tc.event)
		assertNames(t, tc.want, d.metrics(), name)
		for _, m := range tc.want {
			assert.InDelta(t, 1, d.members[m], 0, name)
		}
	}
}

func TestMeasuresHaveTheirUnits(t *testing.T) {
	t.Parallel()
	d := lineOf(t, idempotent.Event{
		Operation: "charge", Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledCompleted, ResultBytes: 9,
		Claim: 5*time.Millisecond + 250*time.Microsecond, Wait: time.Minute, Handle: 2 * time.Second, Settle: 7 * time.Microsecond,
	})
	assert.Equal(t, []observe.Metric{
		{Name: "Created", Unit: "Count"},
		{Name: "ClaimLatency", Unit: "Milliseconds"},
		{Name: "WaitLatency", Unit: "Milliseconds"},
		{Name: "CompletionLatency", Unit: "Milliseconds"},
		{Name: "ResultBytes", Unit: "Bytes"},
	}, d.AWS.CloudWatchMetrics[0].Metrics)
	for member, want := range map[string]float64{
		"ClaimLatency": 5.25, "WaitLatency": 60_000, "handleMilliseconds": 2000, "CompletionLatency": 0.007, "ResultBytes": 9,
	} {
		assert.InDelta(t, want, d.members[member], 0, member)
	}
}

func TestListOfMetricsIsACopyWithoutDuplicates(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range observe.Metrics() {
		assert.NotEmpty(t, m.Name)
		assert.Contains(t, []string{"Count", "Milliseconds", "Bytes"}, m.Unit)
		assert.False(t, names[m.Name], m.Name)
		names[m.Name] = true
	}
	observe.Metrics()[0].Name = "changed"
	assert.Equal(t, "Created", observe.Metrics()[0].Name)
}

func TestDocumentationExplainsEveryMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/observability.md")
	require.NoError(t, err)
	var documented []observe.Metric
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z]\\w+)` \\| (\\w+) \\|").FindAllSubmatch(page, -1) {
		documented = append(documented, observe.Metric{Name: string(row[1]), Unit: string(row[2])})
	}
	assert.Equal(t, slices.Concat(observe.Metrics(), observe.AttentionMetrics(), observe.OutboxMetrics(), observe.BatchMetrics(),
		observe.SweepMetrics(), observe.ReconcileMetrics()), documented)
}
