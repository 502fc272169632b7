package watch

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// kind is what a line is.
type kind int

const (
	// foreign lines are somebody else's.
	foreign kind = iota
	// broken lines look like those of package observe, but cannot be understood.
	broken
	// counted lines say something that is counted, detailed ones repeat a part of another line at length.
	counted
	detailed
)

// topic is what a line tells of. Each has observers of its own.
type topic int

const (
	deliveries topic = iota
	batches
	outboxes
	openRecords
	reconciliations
	sweeps
	topics
)

// form is the observer that wrote a line: of one thing there may be a line of each.
type form int

const (
	ofEMF form = iota
	ofSlog
	forms
)

// line is what is known of one.
type line struct {
	kind  kind
	topic topic
	form  form
	// subject is the operation, or the table of an outbox.
	subject string
	// outbox is true if the subject is one.
	outbox bool
	// counts are what it adds, by the names of metrics, and an outcome by its own; levels are what is as much now.
	counts, levels []measure

	outcome, record, reason string
	claim, handle           time.Duration
	// failure is why the store failed, empty if it did not.
	failure string
}

// measure is one number of a line.
type measure struct {
	name  string
	value float64
}

func (l *line) count(name string, value float64) {
	if value > 0 {
		l.counts = append(l.counts, measure{name, value})
	}
}

func (l *line) countIf(holds bool, name string) {
	if holds {
		l.counts = append(l.counts, measure{name, 1})
	}
}

// The names of metrics that a log line is translated into, see observe.Metrics.
const (
	becameUnknown    = "BecameUnknown"
	takeover         = "Takeover"
	storeError       = "StoreError"
	leaseLost        = "LeaseLost"
	completionFailed = "CompletionFailed"
	failedRetry      = "FailedRetry"
	stepsLost        = "StepsLost"
	commitsFailed    = "CommitsFailed"
)

// signals are those that are counted beside outcomes.
var signals = []string{becameUnknown, storeError, leaseLost, completionFailed, commitsFailed, stepsLost, takeover, failedRetry}

// attributeError is the attribute of the error that an invocation ended with.
const attributeError = "error"

// The messages of the records that the Slog functions of package observe write.
const (
	messageDelivery       = "idempotency"
	messageBatch          = "batch"
	messageOutbox         = "outbox"
	messageReconcile      = "reconcile"
	messageSweep          = "sweep"
	messageSweepOperation = "sweep operation"
	messageSweepRecord    = "sweep record"
)

var messages = []string{
	messageDelivery, messageBatch, "batch record", messageOutbox, "outbox message", messageReconcile, "reconcile record",
	messageSweep, messageSweepOperation, messageSweepRecord,
}

// read says what a line is. It accepts whatever is in front of what observe wrote, as the prefixes of aws logs tail, sam logs and docker, with and
// without colours.
func read(text []byte) line {
	text = bytes.TrimSpace(text)
	if l, ok := fromJSON(text); ok {
		return l
	}
	if l, ok := fromText(text); ok {
		return l
	}
	return line{kind: foreign}
}

// delivered completes the line of one delivery, of which settlement, and whether it was a takeover, are known.
func (l *line) delivered(settlement string, recovered bool, storeErr string) {
	l.count(outcomeName(l.outcome), 1)
	lost := storeErr != "" && strings.Contains(storeErr, idempotent.ErrLeaseLost.Error())
	unreadable := storeErr != "" && !lost && strings.Contains(storeErr, idempotent.ErrUnreadable.Error())
	superseded := l.outcome == string(idempotent.OutcomeSuperseded)
	unavailable := l.outcome == string(idempotent.OutcomeStoreUnavailable)
	l.countIf(settlement == string(idempotent.SettledUnknown), becameUnknown)
	l.countIf(unavailable || storeErr != "" && !lost && !unreadable, storeError)
	l.countIf(lost || superseded || settlement == string(idempotent.SettledElsewhere), leaseLost)
	l.countIf(settlement == string(idempotent.SettledFailed) ||
		l.reason == store.ReasonResultLost && l.outcome != string(idempotent.OutcomeUnknown), completionFailed)
	l.countIf(recovered, takeover)
	l.countIf(settlement == string(idempotent.SettledReleased), failedRetry)
}

// outcomes are those that this version knows, in the order in which they are shown.
var outcomes = []idempotent.Outcome{
	idempotent.OutcomeExecuted, idempotent.OutcomeReplayed, idempotent.OutcomeResolved, idempotent.OutcomeInProgress,
	idempotent.OutcomeStoreUnavailable, idempotent.OutcomeUnknown, idempotent.OutcomeUnreadable, idempotent.OutcomeCommitFailed,
	idempotent.OutcomePanicked, idempotent.OutcomeRefused, idempotent.OutcomeSuperseded, idempotent.OutcomeMismatch,
	idempotent.OutcomeMissingKey, idempotent.OutcomeInvalidKey, idempotent.OutcomeStale, idempotent.OutcomeMissingTenant,
	idempotent.OutcomeUnprotected, idempotent.OutcomeDisabled,
}

// otherOutcome stands for those of other versions.
const otherOutcome = "other outcomes"

var known = func() map[string]bool {
	all := make(map[string]bool)
	for _, o := range outcomes {
		all[string(o)] = true
	}
	return all
}()

func outcomeName(outcome string) string {
	if known[outcome] {
		return outcome
	}
	return otherOutcome
}

// checked refuses what no line of observe says: then the text is somebody else's, or was altered.
func checked(l line) line {
	if l.kind != counted {
		return l
	}
	if !isName(l.subject, l.outbox) || l.claim < 0 || l.handle < 0 {
		return line{kind: broken}
	}
	for _, m := range slices.Concat(l.counts, l.levels) {
		if !(m.value >= 0 && m.value <= maxValue) {
			return line{kind: broken}
		}
	}
	l.subject, l.record = short(l.subject, maxKey), short(l.record, maxKey)
	l.reason, l.failure = short(l.reason, maxText), short(l.failure, maxText)
	return l
}

const maxValue = 1e12

// isName reports whether a text can be the name of an operation, or, if it is one of an outbox, the name or the ARN of a table.
func isName(text string, outbox bool) bool {
	most := maxOperation
	if outbox {
		most = maxKey
	}
	if text == "" || len(text) > most {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("._-", r) && (!outbox || !strings.ContainsRune(":/", r))
	}) < 0
}

// short is the beginning of a text. It keeps nothing of the line alive in which it was.
func short(text string, most int) string { return strings.Clone(text[:min(len(text), most)]) }
