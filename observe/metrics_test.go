package observe_test

import (
	"errors"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Every combination of what an event can say, valid or not, makes a valid line. Each outcome and
// each settlement counts.
func TestEveryEventMakesAValidLine(t *testing.T) {
	t.Parallel()
	outcomes, settlements := constantsOf(t, "delivery.go", "Outcome"), constantsOf(t, "delivery.go", "Settlement")
	require.Contains(t, outcomes, string(report.Replayed), "the source was understood")
	require.Contains(t, settlements, string(report.Released), "the source was understood")
	for _, outcome := range outcomes {
		for _, settlement := range append(settlements, "") {
			if outcome == string(report.Executed) && settlement == "" {
				continue // there is none
			}
			for _, storeErr := range []error{
				nil, idempotent.ErrLeaseLost, &store.UnreadableError{}, errors.New("down"),
			} {
				for _, full := range []bool{false, true} {
					e := report.Delivery{
						Operation: "charge", Outcome: report.Outcome(outcome),
						Settlement: report.Settlement(settlement), StoreErr: storeErr,
						LeaseLost: errors.Is(storeErr, idempotent.ErrLeaseLost),
					}
					if full {
						e.Reason, e.RecordKey, e.Attempt, e.Recovered = "result-lost", "charge#abc", 2, true
						e.Claim, e.Wait, e.Handle, e.Settle = took(time.Second), took(time.Minute),
							took(time.Nanosecond), took(time.Hour)
						e.Err, e.ResultBytes = errors.New("declined"), 6<<20
					}
					d := lineOf(t, e, observe.Config{Dimensions: map[string]string{"Stage": "test"}})
					assert.Subset(t, observe.Metrics(), d.AWS.CloudWatchMetrics[0].Metrics)
					assert.Equal(t, outcome, d.members["outcome"])
					assert.NotEmpty(t, d.counts(), "%q, settled as %q, counts as nothing", outcome, settlement)
					if settlement != "" {
						assert.Equal(t, settlement, d.members["settlement"])
					}
				}
			}
		}
	}
}

func TestEveryEndOfAStepAndOfACommitCounts(t *testing.T) {
	t.Parallel()
	steps, commits := constantsOf(t, "delivery.go", "StepEnd"), constantsOf(t, "delivery.go", "CommitEnd")
	require.Contains(t, steps, string(report.StepLost), "the source was understood")
	require.Contains(t, commits, string(report.CommitDeclined), "the source was understood")
	executed := report.Delivery{Operation: "charge", Outcome: report.Executed, Settlement: report.Completed}
	for _, end := range steps {
		d := executed
		d.Steps = []report.Step{{End: report.StepEnd(end)}}
		assert.Len(t, lineOf(t, d).counts(), 2, "a step that ended as %q counts", end)
	}
	for _, end := range commits {
		d := executed
		d.Commits = []report.Commit{{End: report.CommitEnd(end)}}
		assert.Len(t, lineOf(t, d).counts(), 2, "a commit that ended as %q counts", end)
	}
}

func TestMetricsSayWhatHappened(t *testing.T) {
	t.Parallel()
	down := &store.Error{Op: "swap", Kind: store.FailureThrottled, Err: errors.New("slow down")}
	for name, tc := range map[string]struct {
		event report.Delivery
		want  []string
	}{
		"created":     {report.Delivery{Outcome: report.Executed, Settlement: report.Completed}, []string{"Created"}},
		"replayed":    {report.Delivery{Outcome: report.Replayed}, []string{"Replayed"}},
		"in progress": {report.Delivery{Outcome: report.InProgress}, []string{"InProgress"}},
		"no key":      {report.Delivery{Outcome: report.MissingKey}, []string{"KeyMisuse"}},
		"bad key":     {report.Delivery{Outcome: report.InvalidKey}, []string{"KeyMisuse"}},
		"mismatch":    {report.Delivery{Outcome: report.Mismatch}, []string{"KeyMisuse", "Mismatch"}},
		"stale":       {report.Delivery{Outcome: report.Stale}, []string{"Stale"}},
		"nobody":      {report.Delivery{Outcome: report.MissingTenant}, []string{"MissingTenant"}},
		"failed": {
			report.Delivery{Outcome: report.Executed, Settlement: report.Released},
			[]string{"FailedRetry"},
		},
		"panicked": {
			report.Delivery{Outcome: report.Panicked, Settlement: report.Released},
			[]string{"Panicked", "FailedRetry"},
		},
		"panic before a claim": {
			report.Delivery{Outcome: report.Panicked}, []string{"Panicked"},
		},
		"uncertain": {
			report.Delivery{Outcome: report.Executed, Settlement: report.Unknown, Reason: "uncertain"},
			[]string{"BecameUnknown"},
		},
		"met UNKNOWN": {report.Delivery{Outcome: report.UnknownOutcome, Reason: "result-lost"}, []string{"MetUnknown"}},
		"crash that is refused": {
			report.Delivery{Outcome: report.UnknownOutcome, Settlement: report.Unknown, Reason: "crashed"},
			[]string{"BecameUnknown"},
		},
		"crash that a resolver knows nothing of": {
			report.Delivery{
				Outcome: report.UnknownOutcome, Settlement: report.Unknown, Reason: "crashed",
				Recovered: true,
			},
			[]string{"BecameUnknown", "Takeover"},
		},
		"still UNKNOWN": {
			report.Delivery{
				Outcome: report.UnknownOutcome, Settlement: report.StillUnknown, Reason: "result-lost", Recovered: true,
			},
			[]string{"MetUnknown", "Takeover"},
		},
		"met UNKNOWN, and lost it on the way": {
			report.Delivery{
				Outcome: report.UnknownOutcome, Settlement: report.Elsewhere, Recovered: true,
				LeaseLost: true, StoreErr: idempotent.ErrLeaseLost,
			},
			[]string{"MetUnknown", "Takeover", "LeaseLost"},
		},
		"result lost": {
			report.Delivery{
				Outcome: report.Executed, Settlement: report.Unknown, Reason: "result-lost",
				StoreErr: down,
			},
			[]string{"BecameUnknown", "CompletionFailed", "StoreError"},
		},
		"not settled": {
			report.Delivery{Outcome: report.Executed, Settlement: report.NotSettled, StoreErr: down},
			[]string{"CompletionFailed", "StoreError"},
		},
		"takeover": {
			report.Delivery{Outcome: report.Executed, Settlement: report.Completed, Recovered: true},
			[]string{"Created", "Takeover"},
		},
		"resolved": {
			report.Delivery{Outcome: report.Resolved, Settlement: report.Completed, Recovered: true},
			[]string{"Created", "Resolved", "Takeover"},
		},
		"lease lost": {
			report.Delivery{
				Outcome: report.Replayed, Settlement: report.Elsewhere, LeaseLost: true,
				StoreErr: idempotent.ErrLeaseLost,
			},
			[]string{"Replayed", "LeaseLost"},
		},
		"lease lost for a while": {
			report.Delivery{
				Outcome: report.Executed, Settlement: report.Completed, LeaseLost: true,
				StoreErr: idempotent.ErrLeaseLost,
			},
			[]string{"Created", "LeaseLost"},
		},
		"lease lost to an unreadable record": {
			report.Delivery{Outcome: report.Executed, Settlement: report.Elsewhere, StoreErr: &store.UnreadableError{}},
			[]string{"LeaseLost", "Unreadable"},
		},
		"renewal failed": {
			report.Delivery{Outcome: report.Executed, Settlement: report.Completed, StoreErr: down},
			[]string{"Created", "StoreError"},
		},
		"store down": {
			report.Delivery{Outcome: report.StoreUnavailable, StoreErr: down}, []string{"StoreError"},
		},
		"the store had a hot key": {
			report.Delivery{Outcome: report.StoreUnavailable, Throttle: "hot key"},
			[]string{"StoreError", "ThrottledKey"},
		},
		"the store lacked capacity": {
			report.Delivery{Outcome: report.StoreUnavailable, Throttle: "table"},
			[]string{"StoreError", "ThrottledTable"},
		},
		"the account lacked quota": {
			report.Delivery{Outcome: report.StoreUnavailable, Throttle: "account"},
			[]string{"StoreError", "ThrottledAccount"},
		},
		"unreadable":  {report.Delivery{Outcome: report.Unreadable}, []string{"Unreadable"}},
		"refused":     {report.Delivery{Outcome: report.Refused}, []string{"Refused"}},
		"unprotected": {report.Delivery{Outcome: report.Unprotected}, []string{"Unprotected"}},
		"disabled":    {report.Delivery{Outcome: report.Disabled}, []string{"Disabled"}},
	} {
		tc.event.Operation = "charge"
		d := lineOf(t, tc.event)
		assert.ElementsMatch(t, tc.want, d.metrics(), name)
		for _, m := range tc.want {
			assert.InDelta(t, 1, d.members[m], 0, name)
		}
	}
}

func TestMeasuresHaveTheirUnits(t *testing.T) {
	t.Parallel()
	d := lineOf(t, report.Delivery{
		Operation: "charge", Outcome: report.Executed, Settlement: report.Completed, ResultBytes: 9,
		Claim: took(5*time.Millisecond + 250*time.Microsecond), Wait: took(time.Minute), Handle: took(2 * time.Second),
		Settle: took(7 * time.Microsecond),
	})
	assert.Equal(t, []observe.Metric{
		{Name: "Created", Unit: "Count"},
		{Name: "ClaimLatency", Unit: "Milliseconds"},
		{Name: "WaitLatency", Unit: "Milliseconds"},
		{Name: "HandlerLatency", Unit: "Milliseconds"},
		{Name: "CompletionLatency", Unit: "Milliseconds"},
		{Name: "ResultBytes", Unit: "Bytes"},
	}, d.AWS.CloudWatchMetrics[0].Metrics)
	for member, want := range map[string]float64{
		"ClaimLatency": 5.25, "WaitLatency": 60_000, "HandlerLatency": 2000, "CompletionLatency": 0.007,
		"ResultBytes": 9,
	} {
		assert.InDelta(t, want, d.members[member], 0, member)
	}
}

func TestEachMetricHasOneMeaning(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range observe.Metrics() {
		assert.NotEmpty(t, m.Name)
		assert.Contains(t, []string{"Count", "Milliseconds", "Seconds", "Bytes"}, m.Unit)
		assert.False(t, names[m.Name], m.Name)
		names[m.Name] = true
	}
}

func TestDocumentationExplainsEveryMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/observability.md")
	require.NoError(t, err)
	var documented []observe.Metric
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z]\\w+)` \\| (\\w+) \\|").FindAllSubmatch(page, -1) {
		documented = append(documented, observe.Metric{Name: string(row[1]), Unit: string(row[2])})
	}
	assert.ElementsMatch(t, observe.Metrics(), documented)
}
