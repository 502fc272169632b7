package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Line is the view in one line, for a log or a pipe.
func (v *View) Line() string {
	parts := []string{v.At.UTC().Format(time.RFC3339), plural(v.Deliveries.Minute, "delivery in the last minute")}
	if v.Deliveries.Minute != 1 {
		parts[1] = number(v.Deliveries.Minute) + " deliveries in the last minute"
	}
	var counts []string
	for _, c := range slices.Concat(v.Outcomes, v.Signals) {
		if c.Minute > 0 {
			counts = append(counts, label(c.Name)+" "+number(c.Minute))
		}
	}
	text := strings.Join(parts, " ")
	if len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	text += fmt.Sprintf("; %s in all, of %s.", number(v.Deliveries.Total), plural(v.Lines.All.Total, "line"))
	if o := v.Open; o != nil && !o.At.IsZero() {
		waiting := make([]string, 0, len(o.Waiting))
		for _, w := range o.Waiting {
			waiting = append(waiting, w.text(v.At))
		}
		if len(waiting) == 0 {
			waiting = []string{"nothing open"}
		}
		text += " Table: " + strings.Join(waiting, "; ") + "."
	}
	warnings := v.warnings()
	loud := make([]string, 0, 1+len(warnings))
	loud = append(loud, text)
	for _, w := range warnings {
		loud = append(loud, string(w))
	}
	return strings.Join(loud, " !! ")
}

// Report is the view for programs.
type Report struct {
	Time         time.Time          `json:"time"`
	Started      time.Time          `json:"started"`
	Minute       map[string]float64 `json:"minute"`
	Total        map[string]float64 `json:"total"`
	Operations   map[string]float64 `json:"operations,omitempty"`
	Lines        float64            `json:"lines"`
	Foreign      float64            `json:"foreign_lines"`
	Broken       float64            `json:"broken_lines"`
	Open         []ReportedOpen     `json:"open,omitempty"`
	OpenListed   *time.Time         `json:"open_listed,omitempty"`
	Unknown      []ReportedUnknown  `json:"became_unknown,omitempty"`
	StoreFailure string             `json:"store_failure,omitempty"`
	Warnings     []string           `json:"warnings,omitempty"`
}

// ReportedOpen is what waits of an operation.
type ReportedOpen struct {
	Operation  string     `json:"operation"`
	Open       int        `json:"open"`
	Parked     int        `json:"parked"`
	Unreadable int        `json:"unreadable,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
}

// ReportedUnknown is a record that became UNKNOWN.
type ReportedUnknown struct {
	Record string    `json:"record"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

// Report returns the view for programs. Its texts are escaped as on a terminal.
func (v *View) Report() Report {
	r := Report{
		Time: v.At.UTC(), Started: v.Started.UTC(), Minute: make(map[string]float64), Total: make(map[string]float64),
		Operations: make(map[string]float64), Lines: v.Lines.All.Total, Foreign: v.Lines.Foreign.Total, Broken: v.Lines.Broken.Total,
	}
	for _, all := range [][]Count{v.Outcomes, v.Signals, v.Others} {
		for _, c := range all {
			r.Minute[c.Name] += c.Minute
			r.Total[c.Name] += c.Total
		}
	}
	for _, o := range v.Operations {
		r.Operations[o.Name] = o.Total
	}
	if o := v.Open; o != nil && !o.At.IsZero() {
		at := o.At.UTC()
		r.OpenListed = &at
		for _, w := range o.Waiting {
			r.Open = append(r.Open, w.reported())
		}
	}
	for _, b := range v.Unknown {
		r.Unknown = append(r.Unknown, ReportedUnknown{ascii(b.Record), ascii(b.Reason), b.At.UTC()})
	}
	if v.Failure != nil {
		r.StoreFailure = ascii(v.Failure.Why)
	}
	for _, w := range v.warnings() {
		r.Warnings = append(r.Warnings, string(w))
	}
	return r
}

func (w *Waiting) reported() ReportedOpen {
	r := ReportedOpen{Operation: ascii(w.Operation), Open: w.Open, Parked: w.Parked, Unreadable: w.Unreadable}
	if !w.Since.IsZero() {
		since := w.Since.UTC()
		r.Since = &since
	}
	return r
}
