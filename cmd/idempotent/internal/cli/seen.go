package cli

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// seenOf names the record as it is: its status, reason, owner and lease, of a record without an owner its expiry, and how often steps
// were written. A script hands it to --seen, and what it does is then conditional on what somebody has looked at before.
func seenOf(r store.Record) string { return seenWithoutSteps(r) + "/" + strconv.Itoa(r.StepWrites) }

// seenWithoutSteps is the text of versions that knew no steps.
func seenWithoutSteps(r store.Record) string {
	if r.Owner != "" {
		r.Expiry = time.Time{}
	}
	return strings.Join([]string{
		url.PathEscape(string(r.Status)), url.PathEscape(r.Reason), url.PathEscape(r.Owner), number(r.Lease, time.Millisecond),
		number(r.Expiry, time.Second),
	}, "/")
}

func number(t time.Time, unit time.Duration) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli()/unit.Milliseconds(), 10)
}

// seenFields is how many fields such a text has, one less in that of a version that knew no steps.
const seenFields = 6

// parseSeen returns what of a record is in such a text. One without the steps has [store.AnyStepWrites].
func parseSeen(text string) (r store.Record, err error) {
	bad := usagef("--seen is not what inspect prints as Seen, status/reason/owner/lease/expiry/steps")
	fields := strings.Split(text, "/")
	if len(fields) != seenFields && len(fields) != seenFields-1 || fields[0] == "" {
		return r, bad
	}
	for i, f := range fields[:3] {
		if fields[i], err = url.PathUnescape(f); err != nil {
			return r, bad
		}
	}
	r.Status, r.Reason, r.Owner = store.Status(fields[0]), fields[1], fields[2]
	if r.Lease, err = instantOf(fields[3], time.Millisecond); err != nil {
		return r, bad
	}
	if r.Expiry, err = instantOf(fields[4], time.Second); err != nil {
		return r, bad
	}
	r.StepWrites = store.AnyStepWrites
	if len(fields) == seenFields {
		if r.StepWrites, err = strconv.Atoi(fields[5]); err != nil || r.StepWrites < 0 {
			return r, bad
		}
	}
	return r, nil
}

// wasSeen reports whether a record is the one that a text was printed of, which was parsed to seen. A text without the steps tells
// that only of a record that has none: their number only grows.
func wasSeen(r, seen store.Record, text string) (bool, error) {
	if seen.StepWrites != store.AnyStepWrites {
		return seenOf(r) == text, nil
	}
	same := seenWithoutSteps(r) == text
	if same && r.StepWrites > 0 {
		return false, usagef("--seen is of a version of this program that did not tell steps, and the record has some: nobody knows which of them " +
			"were there then. Inspect it again")
	}
	return same, nil
}

func instantOf(text string, unit time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(n * unit.Milliseconds()), nil
}

// changedError is a record that is not the one that was seen, with both.
type changedError struct {
	seen store.Record
	now  operate.Shown
	gone bool
	at   time.Time
}

func (e *changedError) Error() string {
	if e.gone {
		return "refused: the record is gone; nothing was changed"
	}
	return fmt.Sprintf("refused: the record has changed since it was seen, it is %s now; nothing was changed", e.now.State)
}

// Is reports whether target is [operate.ErrChanged].
func (e *changedError) Is(target error) bool { return target == operate.ErrChanged }

// lines are what was seen and what is there, for programs.
func (e *changedError) lines() (seen *recordLine, now *inspection) {
	was := lineOf(e.seen, "")
	if e.gone {
		return &was, nil
	}
	is := inspectionOf(e.now, derivedKeys(e.now, nil))
	return &was, &is
}

// rows are what was seen beside what is there.
func (e *changedError) rows() [][]show.Cell {
	rows := [][]show.Cell{show.Cells("", "SEEN", "NOW")}
	for _, f := range e.fields() {
		if f.was != f.is {
			rows = append(rows, show.Cells(f.name, f.was, f.is))
		}
	}
	return rows
}

// change is a field of a record that differs.
type change struct{ name, was, is string }

func (e *changedError) fields() []change {
	was, is := e.seen, e.now.Record
	if was.Expiry.IsZero() {
		is.Expiry = time.Time{}
	}
	if was.StepWrites == store.AnyStepWrites {
		is.StepWrites = was.StepWrites
	}
	instant := func(t time.Time) string { return show.Both(t, e.at) }
	return []change{
		{"Status", string(was.Status), string(is.Status)},
		{"Reason", was.Reason, is.Reason},
		{"Owner", was.Owner, is.Owner},
		{"Lease ends", instant(was.Lease), instant(is.Lease)},
		{"Expires", instant(was.Expiry), instant(is.Expiry)},
		{"Steps written", stepWrites(was), stepWrites(is)},
		{"Settled", "", is.SettledBy},
	}
}

// stepWrites is how often steps were written, empty if nobody knows.
func stepWrites(r store.Record) string {
	if r.StepWrites == store.AnyStepWrites {
		return ""
	}
	return strconv.Itoa(r.StepWrites)
}
