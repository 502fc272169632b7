// Package show says in words what a record is, and writes tables, times and colours on terminals.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Colour is how a text stands out on a terminal.
type Colour string

// The colours. They say the same everywhere: red needs somebody, yellow may, green is well.
const (
	Plain  Colour = ""
	Red    Colour = "31"
	Yellow Colour = "33"
	Green  Colour = "32"
	Faint  Colour = "2"
)

// Cell is a text of a table.
type Cell struct {
	Text   string
	Colour Colour
}

// Cells are texts without colours.
func Cells(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	return cells
}

// Rows are a table of names and values.
type Rows [][]Cell

// Add adds a value, unless it is empty.
func (r *Rows) Add(name, value string) { r.AddIn(Plain, name, value) }

// AddIn does it in a colour.
func (r *Rows) AddIn(c Colour, name, value string) {
	if value != "" {
		*r = append(*r, []Cell{{Text: name}, {Text: value, Colour: c}})
	}
}

// Printer writes to one stream. Out is needed. It is not safe for concurrent use.
type Printer struct {
	Out io.Writer
	// Colours are written only if this is true.
	Colours bool
}

// Table writes rows with aligned columns, two spaces between them. What a cell holds beside
// printable characters is escaped: what somebody else wrote into a table of records must not steer
// a terminal.
func (p Printer) Table(rows [][]Cell) error {
	widths := make(map[int]int)
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(Printable(c.Text)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			text := Printable(c.Text)
			behind := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2)
			if p.Colours && c.Colour != Plain && text != "" {
				text = "\x1b[" + string(c.Colour) + "m" + text + "\x1b[0m"
			}
			line.WriteString(text + behind)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// Line writes a text and ends the line.
func (p Printer) Line(text string) error {
	_, err := fmt.Fprintln(p.Out, text)
	return err
}

// Printable returns text with everything escaped that is no printable character.
func Printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// JSON writes a value as one line. As [Printable] does, it escapes every character that is not
// printable: inside of texts, which are the only place where JSON has others, that is another
// spelling of the same value.
func JSON(w io.Writer, v any) error {
	var b, escaped bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	for _, r := range b.String() {
		if r == '\n' || unicode.IsPrint(r) {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		}
	}
	_, err := w.Write(escaped.Bytes())
	return err
}

// Document returns a text with everything escaped but printable characters, tabs and ends of lines.
func Document(text string) string { return field.ReplaceAllStringFunc(text, Printable) }

var field = regexp.MustCompile(`[^\n\t]+`)

// Instant writes a time in the form of RFC 3339, in UTC, and nothing for none.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Relative says how long ago a time is, or in how long it comes, in the largest unit that fits.
func Relative(t, now time.Time) string {
	switch d := t.Sub(now); {
	case t.IsZero():
		return ""
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return rough(-d) + " ago"
	default:
		return "in " + rough(d)
	}
}

// rough cuts a duration down to its largest unit; two days are the first that count as days.
func rough(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%dd", d/day)
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
