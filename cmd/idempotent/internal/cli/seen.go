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

// parseSeen returns what of a record is in the text that [show.Seen] makes of it.
func parseSeen(text string) (r store.Record, err error) {
	bad := usagef("--seen is not what inspect prints as Seen, status/reason/owner/lease/expiry/steps")
	fields := strings.Split(text, "/")
	if len(fields) != 6 || fields[0] == "" {
		return r, bad
	}
	for i := range 3 {
		if fields[i], err = url.PathUnescape(fields[i]); err != nil {
			return r, bad
		}
	}
	r.Status, r.Reason, r.Owner = store.Status(fields[0]), fields[1], fields[2]
	for i, unit := range []time.Duration{time.Millisecond, time.Second} {
		if fields[3+i] == "" {
			continue
		}
		n, err := strconv.ParseInt(fields[3+i], 10, 64)
		if err != nil {
			return r, bad
		}
		*[]*time.Time{&r.Lease, &r.Expiry}[i] = time.UnixMilli(n * unit.Milliseconds())
	}
	if r.StepWrites, err = strconv.Atoi(fields[5]); err != nil || r.StepWrites < 0 {
		return r, bad
	}
	return r, nil
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
	is := inspectionOf(e.now)
	return &was, &is
}

// rows are what was seen beside what is there.
func (e *changedError) rows() [][]show.Cell {
	was, is := e.seen, e.now.Record
	if was.Expiry.IsZero() { // of a record with an owner, --seen does not tell it
		is.Expiry = time.Time{}
	}
	instant := func(t time.Time) string { return show.Both(t, e.at) }
	rows := [][]show.Cell{show.Cells("", "SEEN", "NOW")}
	for _, f := range [][]string{
		{"Status", string(was.Status), string(is.Status)},
		{"Reason", was.Reason, is.Reason},
		{"Owner", was.Owner, is.Owner},
		{"Lease ends", instant(was.Lease), instant(is.Lease)},
		{"Expires", instant(was.Expiry), instant(is.Expiry)},
		{"Steps written", strconv.Itoa(was.StepWrites), strconv.Itoa(is.StepWrites)},
		{"Settled", "", is.SettledBy},
	} {
		if f[1] != f[2] {
			rows = append(rows, show.Cells(f...))
		}
	}
	return rows
}
