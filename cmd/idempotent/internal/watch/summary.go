package watch

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-idempotent/idempotent/operate"
)

// translation is how a record of a log about many things says what a line of EMF does.
type translation struct {
	topic topic
	// metrics are the names of metrics, by attribute.
	metrics map[string][]string
}

// translated are the translations by message.
var translated = map[string]translation{
	messageBatch: {batches, map[string][]string{
		"succeeded": {"BatchRecordSucceeded"}, "terminal": {"BatchRecordTerminal"}, "poison": {"BatchRecordPoison"},
		"in_progress": {"BatchRecordInProgress"}, attributeFailed: {"BatchRecordFailed"}, "panicked": {"BatchRecordPanicked"},
		attributeNotBegun: {"BatchRecordNotBegun"}, "again": {"BatchRecordAgain"}, "functions_failed": {"BatchFunctionFailed"},
		attributeError: {"BatchFailed"},
	}},
	messageOutbox: {outboxes, map[string][]string{
		"delivered": {"MessageDelivered"}, attributeFailed: {"MessageFailed"}, "put_off": {"MessagePutOff"}, "parked": {"MessageParked"},
		"unmarked": {"MessageUnmarked"}, "uncounted": {"MessageUncounted"}, attributeNotBegun: {"MessageNotBegun"}, "foreign": {"MessageForeign"},
		attributeError: {"RelayFailed"},
	}},
	messageReconcile: {reconciliations, map[string][]string{
		"asked": {"ReconcileAsked"}, "completed": {"ReconcileResolved"}, "released": {"ReconcileResolved", "ReconcileReleased"},
		"scheduled": {"ReconcileScheduled"}, "parked": {"ReconcileParked"}, attributeFailed: {"ReconcileFailed"}, "elsewhere": {"ReconcileElsewhere"},
		"unreadable": {"ReconcileUnreadable"}, "not_ended": {"ReconcileNotEnded"}, attributeNotBegun: {"ReconcileNotBegun"},
		attributeError: {"ReconcileRunFailed"},
	}},
	messageSweepOperation: {sweeps, map[string][]string{
		"lapsed": {"SweepLapsed"}, "became_unknown": {"SweepBecameUnknown"}, "abandoned": {"SweepAbandoned"}, "listed": {"SweepListed"},
	}},
	messageSweep: {sweeps, map[string][]string{
		"records": {"SweepRecords"}, attributeDone: {"SweepDone"}, "deleted": {"SweepDeleted"}, "changed": {"SweepChanged"},
		"foreign": {"SweepForeign"}, "unreadable": {"SweepUnreadable"}, "errors": {"SweepErrors"}, attributeError: {"SweepFailed"},
	}},
}

// Attributes that several kinds of records have. Each record about a run of a sweep has attributeDone.
const (
	attributeDone     = "done"
	attributeFailed   = "failed"
	attributeNotBegun = "not_begun"
	isTrue            = "true"
)

// subjectOf is what a record of a log is about. It is not ours if its message only happens to be one of the words.
func subjectOf(message string, members map[string]string) (name string, outbox, ours bool) {
	switch {
	case members["operation"] != "":
		return members["operation"], false, true
	case members["outbox"] != "":
		return members["outbox"], true, true
	case message == messageSweep && members[attributeDone] != "", message == messageSweepRecord && members["record_key"] != "":
		return operate.SweepOperation, false, true
	default:
		return "", false, false
	}
}

// summaryOf reads a record about an invocation that worked on many things, or about one of those.
func summaryOf(message string, members map[string]string) line {
	as, whole := translated[message]
	l := line{kind: counted, topic: as.topic, form: ofSlog}
	var ours bool
	l.subject, l.outbox, ours = subjectOf(message, members)
	switch {
	case !ours:
		return line{kind: foreign}
	case !whole, members["dry_run"] == isTrue: // EMF tells of no dry run
		return line{kind: detailed}
	}
	for _, name := range slices.Sorted(maps.Keys(as.metrics)) {
		text, is := members[name]
		if !is {
			continue
		}
		value, err := amount(text)
		switch {
		case name == attributeError:
			value = 1
		case err != nil:
			return line{kind: broken}
		case value == 0:
			continue
		}
		for _, metric := range as.metrics[name] {
			l.counts = append(l.counts, measure{metric, value})
		}
	}
	if members["left.pending"] != "" && !l.left(members) {
		return line{kind: broken}
	}
	return l
}

// amount is a number, or 1 for what is true.
func amount(text string) (float64, error) {
	switch text {
	case isTrue:
		return 1, nil
	case "false":
		return 0, nil
	default:
		return strconv.ParseFloat(text, 64)
	}
}

// left reads what is in an outbox, and reports whether it can be understood.
func (l *line) left(members map[string]string) bool {
	pending, err := amount(members["left.pending"])
	parked, err2 := amount(members["left.parked"])
	oldest, err3 := took(members["left.oldest"])
	l.levels = []measure{{"PendingMessages", pending}, {"OldestMessage", oldest.Seconds()}, {"ParkedMessages", parked}}
	return err == nil && err2 == nil && err3 == nil
}
