package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// print lists the records.
func (l *listing) print(ctx context.Context, s *source, q operate.Query) error {
	var rows []row
	for listed, err := range s.operator.List(ctx, q) {
		r, err := l.rowOf(listed, err)
		switch {
		case err != nil:
			return err
		case !l.matches(r):
			continue
		case l.limit > 0 && l.listed == l.limit:
			l.cut = true
			return l.flush(s, rows)
		}
		l.listed++
		if l.app.output == outputJSON {
			if err := l.app.json(r.line); err != nil {
				return err
			}
			continue
		}
		if rows = append(rows, r); len(rows) == chunk {
			if err := l.flush(s, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return l.flush(s, rows)
}

// row is a record of a listing.
type row struct {
	line recordLine
	// since is when it began to wait, or was created.
	since time.Time
}

// rowOf makes a row of a record, also of one that cannot be understood. Any other error ends the listing.
func (l *listing) rowOf(listed operate.Listed, err error) (row, error) {
	unreadable, ok := errors.AsType[*store.UnreadableError](err)
	switch {
	case ok:
		l.unreadable++
		return row{line: recordLine{
			RecordKey: listed.Record.Key, Operation: listed.Record.Operation(), Error: unreadable.Reason,
		}}, nil
	case err != nil:
		return row{}, err
	}
	r := row{line: lineOf(listed.Record, listed.State), since: listed.Record.CreatedAt}
	if !listed.Record.AttentionAt.IsZero() {
		r.since = listed.Record.AttentionAt
	}
	r.line.Due, r.line.WithSteps = listed.Due, listed.State == operate.StateReleased && listed.Record.Attention != ""
	return r, nil
}

// matches reports whether a row is of the time that was asked for, and has attention if that was asked for. One that does not say is.
func (l *listing) matches(r row) bool {
	if l.attention && r.line.AttentionAt.IsZero() && r.line.Error == "" {
		return false
	}
	return l.after.IsZero() || r.since.IsZero() || !r.since.Before(l.after)
}

// flush prints rows, the oldest first, under a head of their own.
func (l *listing) flush(s *source, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if d := a.since.Compare(b.since); d != 0 {
			return d
		}
		return strings.Compare(a.line.RecordKey, b.line.RecordKey)
	})
	table := [][]show.Cell{show.Cells("STATE", "REASON", "SINCE", "", "EXPIRES", "ATTEMPT", "RECORD KEY")}
	for _, r := range rows {
		attempt := ""
		if r.line.Attempt > 0 {
			attempt = strconv.Itoa(r.line.Attempt)
		}
		state := show.Cell{Text: string(r.line.State), Colour: stateColour(r.line.State)}
		reason := r.line.Reason
		switch {
		case r.line.WithSteps && r.line.Due:
			reason += ", with steps"
		case r.line.WithSteps:
			reason += ", with steps, not due"
		}
		if r.line.Parked {
			reason += ", parked"
		}
		if r.line.Error != "" {
			state, reason = show.Cell{Text: "unreadable", Colour: show.Red}, r.line.Error
		}
		table = append(table, []show.Cell{
			state,
			{Text: reason},
			{Text: show.Instant(r.since)},
			{Text: show.Relative(r.since, s.now())},
			{Text: show.Relative(r.line.Expiry, s.now())},
			{Text: attempt},
			{Text: r.line.RecordKey},
		})
	}
	return l.app.out().Table(table)
}

// sum says on standard error what was found and read.
func (l *listing) sum() error {
	text := count(int64(l.listed), "record")
	switch {
	case l.cut:
		text += ", and there may be more: --limit"
	case l.listed == 0:
		text = "No records"
	}
	if l.unreadable > 0 {
		text += fmt.Sprintf(", %d of them cannot be understood", l.unreadable)
	}
	if l.units > 0 {
		text += fmt.Sprintf(" (read %s in %s, %s read units)", count(int64(l.read), "record"), count(int64(l.pages), "page"), decimal(l.units))
	}
	return l.app.err().Line(text + ".")
}
