package observe

import (
	"errors"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
)

// Metric is one of the CloudWatch metrics that [EMF], [AttentionEMF], [OutboxEMF], [BatchEMF] and [SweepEMF] write.
type Metric struct {
	// Name is what alarms and dashboards call it.
	Name string
	// Unit is Count, Milliseconds, Seconds or Bytes.
	Unit string
}

// Metrics lists the metrics that [EMF] can write, in the order that they have in a line: an alarm on any other name
// never fires. docs/observability.md says what each means and what to do about it.
func Metrics() []Metric { return slices.Clone(metrics[:]) }

type metric uint

// Alarms hold on to the names: a name that has been published does not change.
const (
	created metric = iota
	replayed
	resolved
	inProgress
	keyMisuse
	mismatch
	stale
	missingTenant
	failedRetry
	becameUnknown
	metUnknown
	takeover
	leaseLost
	completionFailed
	storeError
	unreadable
	refused
	panicked
	unprotected
	disabled
	stepsRecorded
	stepsResumed
	stepsFailed
	stepsLost
	orphanSteps
	commits
	commitsDeclined
	commitsFailed
	commitRetries
	committedOtherwise
	claimLatency
	waitLatency
	completionLatency
	resultBytes
)

// Units of CloudWatch.
const (
	count        = "Count"
	milliseconds = "Milliseconds"
	bytes        = "Bytes"
)

var metrics = [...]Metric{
	created:            {"Created", count},
	replayed:           {"Replayed", count},
	resolved:           {"Resolved", count},
	inProgress:         {"InProgress", count},
	keyMisuse:          {"KeyMisuse", count},
	mismatch:           {"Mismatch", count},
	stale:              {"Stale", count},
	missingTenant:      {"MissingTenant", count},
	failedRetry:        {"FailedRetry", count},
	becameUnknown:      {"BecameUnknown", count},
	metUnknown:         {"MetUnknown", count},
	takeover:           {"Takeover", count},
	leaseLost:          {"LeaseLost", count},
	completionFailed:   {"CompletionFailed", count},
	storeError:         {"StoreError", count},
	unreadable:         {"Unreadable", count},
	refused:            {"Refused", count},
	panicked:           {"Panicked", count},
	unprotected:        {"Unprotected", count},
	disabled:           {"Disabled", count},
	stepsRecorded:      {"StepsRecorded", count},
	stepsResumed:       {"StepsResumed", count},
	stepsFailed:        {"StepsFailed", count},
	stepsLost:          {"StepsLost", count},
	orphanSteps:        {"OrphanSteps", count},
	commits:            {"Commits", count},
	commitsDeclined:    {"CommitsDeclined", count},
	commitsFailed:      {"CommitsFailed", count},
	commitRetries:      {"CommitRetries", count},
	committedOtherwise: {"CommittedOtherwise", count},
	claimLatency:       {"ClaimLatency", milliseconds},
	waitLatency:        {"WaitLatency", milliseconds},
	completionLatency:  {"CompletionLatency", milliseconds},
	resultBytes:        {"ResultBytes", bytes},
}

// set holds metrics, one bit for each.
type set uint64

func setOf(all ...metric) set {
	var s set
	for _, m := range all {
		s |= 1 << m
	}
	return s
}

func (s set) has(m metric) bool { return s&setOf(m) != 0 }

// byOutcome and bySettlement are the one place that says what an event counts as.
var byOutcome = map[idempotent.Outcome]set{
	idempotent.OutcomeExecuted:         setOf(), // the settlement says what came of it
	idempotent.OutcomeReplayed:         setOf(replayed),
	idempotent.OutcomeResolved:         setOf(resolved),
	idempotent.OutcomeMissingKey:       setOf(keyMisuse),
	idempotent.OutcomeInvalidKey:       setOf(keyMisuse),
	idempotent.OutcomeMismatch:         setOf(keyMisuse, mismatch),
	idempotent.OutcomeStale:            setOf(stale),
	idempotent.OutcomeMissingTenant:    setOf(missingTenant),
	idempotent.OutcomeInProgress:       setOf(inProgress),
	idempotent.OutcomeSuperseded:       setOf(leaseLost),
	idempotent.OutcomeUnknown:          setOf(metUnknown),
	idempotent.OutcomeUnreadable:       setOf(unreadable),
	idempotent.OutcomeStoreUnavailable: setOf(storeError),
	idempotent.OutcomeCommitFailed:     setOf(commitsFailed),
	idempotent.OutcomeRefused:          setOf(refused),
	idempotent.OutcomePanicked:         setOf(panicked),
	idempotent.OutcomeUnprotected:      setOf(unprotected),
	idempotent.OutcomeDisabled:         setOf(disabled),
}

var bySettlement = map[idempotent.Settlement]set{
	idempotent.SettledCompleted:    setOf(created),
	idempotent.SettledReleased:     setOf(failedRetry),
	idempotent.SettledUnknown:      setOf(becameUnknown),
	idempotent.SettledStillUnknown: setOf(metUnknown),
	idempotent.SettledElsewhere:    setOf(leaseLost),
	idempotent.SettledFailed:       setOf(completionFailed),
}

// metricsOf is what a line about e has: each metric at most once, and none that says nothing.
func metricsOf(e *idempotent.Event) set {
	s := byOutcome[e.Outcome] | bySettlement[e.Settlement]
	if s.has(becameUnknown) { // by this very delivery, which did not meet it so
		s &^= setOf(metUnknown)
	}
	add := func(holds bool, m metric) {
		if holds {
			s |= setOf(m)
		}
	}
	add(e.Recovered, takeover)
	add(lostResult(e), completionFailed)
	add(e.StoreErr != nil, aside(e.StoreErr))
	for m := stepsRecorded; m <= orphanSteps; m++ {
		add(m.steps(e) > 0, m)
	}
	for m := commits; m <= commitRetries; m++ {
		add(m.commits(e) > 0, m)
	}
	add(otherwise(e), committedOtherwise)
	add(e.Claim > 0, claimLatency)
	add(e.Wait > 0, waitLatency)
	add(e.Settle > 0, completionLatency)
	add(e.ResultBytes > 0, resultBytes)
	return s
}

// lostResult reports whether this very invocation had a result that could not be stored, rather than met a record that
// says so.
func lostResult(e *idempotent.Event) bool {
	const reason = "result-lost" // stored in records, so it never changes
	return e.Reason == reason && e.Outcome != idempotent.OutcomeUnknown
}

// aside is what a failure of the store counts as that did not decide the answer.
func aside(err error) metric {
	switch {
	case errors.Is(err, idempotent.ErrLeaseLost):
		return leaseLost
	case errors.Is(err, idempotent.ErrUnreadable):
		return unreadable
	default:
		return storeError
	}
}

// steps is how many steps of e count as m.
func (m metric) steps(e *idempotent.Event) int {
	switch m {
	case stepsRecorded:
		return stepsThat(e, stepRecorded, stepResolved)
	case stepsResumed:
		return stepsThat(e, stepResumed)
	case stepsFailed:
		return stepsThat(e, stepFailed, stepRefused, stepLeaseLost, stepUnreadable, stepUnknown)
	case stepsLost:
		return stepsThat(e, stepLost)
	case orphanSteps:
		return len(e.OrphanSteps)
	default:
		return 0
	}
}

// value is what m measures in e; a count is of one event, of its steps, or of its commits.
func (m metric) value(e *idempotent.Event) float64 {
	switch m {
	case claimLatency:
		return inMilliseconds(e.Claim)
	case waitLatency:
		return inMilliseconds(e.Wait)
	case completionLatency:
		return inMilliseconds(e.Settle)
	case resultBytes:
		return float64(e.ResultBytes)
	case stepsRecorded, stepsResumed, stepsFailed, stepsLost, orphanSteps:
		return float64(m.steps(e))
	case commits, commitsDeclined, commitsFailed, commitRetries:
		return float64(m.commits(e))
	default:
		return 1
	}
}

// inMilliseconds is exact to the microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
