package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

// Frame returns the lines of the view for a terminal of this width, the most important ones first. It has no more than height of them.
func (v *View) Frame(width, height int) [][]show.Cell {
	f := &frame{v: v, width: width}
	f.head()
	f.openings()
	f.numbers()
	f.became()
	f.failure()
	f.slow()
	f.operations()
	f.others()
	return f.fit(height)
}

type frame struct {
	v     *View
	width int
	lines [][]show.Cell
}

func (f *frame) line(cells ...show.Cell) { f.lines = append(f.lines, cells) }

func (f *frame) textf(c show.Colour, format string, args ...any) {
	f.line(show.Cell{Text: fmt.Sprintf(format, args...), Colour: c})
}

// title begins a part, after an empty line.
func (f *frame) titlef(format string, args ...any) {
	f.line()
	f.textf(show.Faint, format, args...)
}

// fit leaves the lines that fit, and says how many do not.
func (f *frame) fit(height int) [][]show.Cell {
	if height < 1 || len(f.lines) <= height {
		return f.lines
	}
	left := len(f.lines) - height + 1
	return append(f.lines[:height-1], []show.Cell{{Text: fmt.Sprintf("… and %d more lines: make the terminal higher", left), Colour: show.Faint}})
}

func (f *frame) head() {
	v := f.v
	state := fmt.Sprintf("idempotent watch  %s UTC  for %s  %s", v.At.UTC().Format(time.TimeOnly), brief(v.At.Sub(v.Started)), plural(v.Lines.All.Total, "line"))
	if v.Lines.Foreign.Total > 0 {
		state += fmt.Sprintf(", %s of others", number(v.Lines.Foreign.Total))
	}
	f.textf(show.Plain, "%s", state)
	if s := v.Tail; s != nil && !s.Began.IsZero() {
		f.textf(show.Faint, "live tail of %s: session %d, for %s", ascii(strings.Join(s.Groups, ", ")), s.Sessions, brief(v.At.Sub(s.Began)))
	}
	for _, w := range v.warnings() {
		for i, part := range wrap(string(w), max(f.width-3, 1), 3) {
			mark := "!! "
			if i > 0 {
				mark = "   "
			}
			f.textf(show.Red, "%s%s", mark, part)
		}
	}
}

// wrap breaks a text into lines at spaces, most of them at the most.
func wrap(text string, width, most int) (lines []string) {
	for len(text) > width && len(lines) < most-1 {
		at := strings.LastIndexByte(text[:width+1], ' ')
		if at <= 0 {
			at = width
		}
		lines, text = append(lines, text[:at]), strings.TrimLeft(text[at:], " ")
	}
	return append(lines, text)
}

// wide is the width from which all columns fit.
const wide = 60

// numbers are the outcomes and signals.
func (f *frame) numbers() {
	v := f.v
	f.line()
	f.columns(show.Faint, "DELIVERIES", "MINUTE", "PER SECOND", "IN ALL")
	f.count(v.Deliveries, show.Plain)
	for _, c := range v.Outcomes {
		f.count(c, colourOf(c.Name))
	}
	if len(v.Signals) == 0 {
		return
	}
	f.titlef("OF THESE")
	for _, c := range v.Signals {
		f.count(c, colourOf(c.Name))
	}
}

// count is a line of numbers. What did not happen within the last minute is pale.
func (f *frame) count(c Count, colour show.Colour) {
	if c.Minute == 0 && colour != show.Plain {
		colour = show.Faint
	}
	f.columns(colour, label(c.Name), number(c.Minute), f.v.rate(c.Minute), number(c.Total))
}

// columns leaves out what does not fit into a narrow terminal.
func (f *frame) columns(c show.Colour, name, minute, rate, total string) {
	if f.width >= wide {
		f.textf(c, "%-24s %10s %11s %12s", name, minute, rate, total)
		return
	}
	f.textf(c, "%-*s %8s", max(f.width-9, 1), cut(name, max(f.width-9, 1)), minute)
}

func cut(text string, width int) string {
	if len(text) > width {
		return text[:width]
	}
	return text
}

// openings is what waits in the table.
func (f *frame) openings() {
	o := f.v.Open
	if o == nil {
		return
	}
	f.line()
	if o.At.IsZero() {
		f.textf(show.Faint, "OPEN in %s: not listed yet", ascii(o.Name))
		return
	}
	f.textf(show.Faint, "OPEN in %s, %s ago", ascii(o.Name), brief(f.v.At.Sub(o.At)))
	if len(o.Waiting) == 0 {
		f.textf(show.Green, "nothing")
	}
	for _, w := range o.Waiting {
		f.textf(show.Red, "%s", w.text(f.v.At))
	}
	if o.More {
		f.textf(show.Red, "and more: only the first %s were counted", number(maxListed))
	}
}

func (w *Waiting) text(now time.Time) string {
	text := fmt.Sprintf("%s: %d open", ascii(w.Operation), w.Open)
	if !w.Since.IsZero() {
		text += ", the oldest " + show.Relative(w.Since, now)
	}
	if w.Parked > 0 {
		text += fmt.Sprintf(", %d parked", w.Parked)
	}
	if w.Unreadable > 0 {
		text += fmt.Sprintf(", %d unreadable", w.Unreadable)
	}
	return text
}

// became are the records that became UNKNOWN last.
func (f *frame) became() {
	if len(f.v.Unknown) == 0 {
		return
	}
	f.titlef("BECAME UNKNOWN LAST")
	for _, b := range f.v.Unknown {
		f.textf(show.Red, "%-8s %s  %s", brief(f.v.At.Sub(b.At).Truncate(time.Second)), ascii(b.Record), ascii(b.Reason))
	}
}

func (f *frame) failure() {
	e := f.v.Failure
	if e == nil {
		return
	}
	f.titlef("LAST STORE ERROR")
	colour := show.Red
	if f.v.At.Sub(e.At) > window {
		colour = show.Faint
	}
	f.textf(colour, "%-8s %s  %s", brief(f.v.At.Sub(e.At).Truncate(time.Second)), e.Operation, ascii(e.Why))
}

func (f *frame) slow() {
	for _, s := range []struct {
		title string
		all   []Slow
	}{{"SLOWEST CLAIMS", f.v.SlowClaims}, {"SLOWEST HANDLERS", f.v.SlowHandles}} {
		if len(s.all) == 0 {
			continue
		}
		f.titlef("%s of the last minute", s.title)
		for _, one := range s.all {
			f.textf(show.Plain, "%-8s %s", brief(one.Took), ascii(nameOf(one)))
		}
	}
}

func nameOf(s Slow) string {
	if s.Record == "" {
		return s.Operation
	}
	return s.Record
}

// operations are told apart if there are several.
func (f *frame) operations() {
	if len(f.v.Operations) < 2 {
		return
	}
	f.line()
	f.columns(show.Faint, "OPERATIONS", "MINUTE", "TROUBLES", "IN ALL")
	for _, o := range f.v.Operations {
		colour := show.Plain
		if o.Troubles > 0 {
			colour = show.Red
		}
		name := cut(o.Name, 24)
		if f.width >= wide {
			f.textf(colour, "%-24s %10s %11s %12s", name, number(o.Minute), number(o.Troubles), number(o.Total))
			continue
		}
		f.columns(colour, name, number(o.Minute), "", "")
	}
}

// others is what is not about single deliveries.
func (f *frame) others() {
	if len(f.v.Others)+len(f.v.Levels) == 0 {
		return
	}
	f.titlef("BATCHES, MESSAGES AND SCHEDULES")
	for _, c := range f.v.Others {
		f.columns(show.Plain, c.Name, number(c.Minute), f.v.rate(c.Minute), number(c.Total))
	}
	for _, l := range f.v.Levels {
		f.textf(show.Plain, "%s %s is %s now", ascii(cut(l.Of, 64)), l.Name, number(l.Value))
	}
}
