package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// recordLine is a record for programs. A time that is not there is left out.
type recordLine struct {
	RecordKey     string        `json:"record_key,omitempty"`
	Operation     string        `json:"operation,omitempty"`
	State         operate.State `json:"state,omitempty"`
	Status        store.Status  `json:"status,omitempty"`
	Reason        string        `json:"reason,omitempty"`
	Attempt       int           `json:"attempt,omitempty"`
	Since         time.Time     `json:"since,omitzero"`
	CreatedAt     time.Time     `json:"created_at,omitzero"`
	Lease         time.Time     `json:"lease,omitzero"`
	CompletedAt   time.Time     `json:"completed_at,omitzero"`
	AttentionAt   time.Time     `json:"attention_at,omitzero"`
	Tries         int           `json:"tries,omitempty"`
	GivenUp       bool          `json:"given_up,omitempty"`
	Expiry        time.Time     `json:"expiry,omitzero"`
	SettledBy     string        `json:"settled_by,omitempty"`
	SettledAt     time.Time     `json:"settled_at,omitzero"`
	SettledReason string        `json:"settled_reason,omitempty"`
	// WithSteps is of a listing: the record was released with steps. Due says that somebody has to
	// settle it now.
	WithSteps bool `json:"with_steps,omitempty"`
	Due       bool `json:"due,omitempty"`
	// Error says what is wrong with a record that cannot be understood.
	Error string `json:"error,omitempty"`
}

func lineOf(r store.Record, s operate.State) recordLine {
	return recordLine{
		RecordKey: r.Key, Operation: r.Operation(), State: s, Status: r.Status, Reason: r.Reason,
		Attempt: operate.Executions(r),
		Since:   operate.Since(r, s).UTC(), CreatedAt: r.CreatedAt.UTC(), Lease: r.Lease.UTC(),
		CompletedAt: r.CompletedAt.UTC(), AttentionAt: r.AttentionAt.UTC(),
		Tries: r.Tries, GivenUp: r.GivenUp(), Expiry: r.Expiry.UTC(), SettledBy: r.SettledBy,
		SettledAt:     r.SettledAt.UTC(),
		SettledReason: r.SettledReason,
	}
}

// inspection is a record with what only the record itself tells.
type inspection struct {
	recordLine

	Powertools  bool              `json:"powertools,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	DerivedKeys map[string]string `json:"derived_keys,omitempty"`
	// DerivedKeysUnknown says, of a record that may have handed out keys under other names, how to
	// compute those.
	DerivedKeysUnknown string         `json:"derived_keys_unknown,omitempty"`
	Steps              []operate.Step `json:"steps,omitempty"`
	RetryGets          string         `json:"retry_gets"`
	// ResultBytes is the size of a result in the record; ResultInParts says that it is kept beside
	// it.
	ResultBytes   int  `json:"result_bytes,omitempty"`
	ResultInParts bool `json:"result_in_parts,omitempty"`
	// Seen is what --seen takes.
	Seen string `json:"seen"`
	// Result is there if it was asked for: JSON as it is, anything else as a text. ResultOfStep is
	// the step that it is of, if it is.
	ResultOfStep string          `json:"result_of_step,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	ResultText   *string         `json:"result_text,omitempty"`
	// Where is where the record is.
	Where connect.Place `json:"where,omitzero"`
}

func inspectionOf(s operate.Shown, names ...string) inspection {
	r := s.Record
	return inspection{
		recordLine: lineOf(r, s.State), Powertools: show.ByPowertools(r), Fingerprint: r.Fingerprint,
		DerivedKeys: show.DerivedKeys(s, names...), DerivedKeysUnknown: show.MoreDerivedKeys(s), Steps: s.Steps(),
		RetryGets:   show.RetryGets(r, s.State),
		ResultBytes: len(r.Result), ResultInParts: r.Parts != "", Seen: show.Seen(r),
	}
}

// withResult adds a result that was asked for.
func (i *inspection) withResult(result []byte) {
	if json.Valid(result) && utf8.Valid(result) {
		i.Result = result
		return
	}
	text := strings.ToValidUTF8(string(result), "\uFFFD")
	i.ResultText = &text
}

// rows are the inspection for people.
func (i *inspection) rows(now time.Time) [][]show.Cell {
	means := show.Meaning(store.Record{Reason: i.Reason}, i.State)
	if i.State == operate.StateReleased && len(i.Steps) > 0 {
		means += "; it has stopped between two steps"
	}
	rows := [][]show.Cell{
		show.Cells("Record", i.RecordKey),
		{{Text: "State"}, {Text: string(i.State) + ": " + means, Colour: show.StateColour(i.State)}},
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, show.Cells(name, value))
		}
	}
	add("Reason", show.Because(i.Reason))
	if i.Powertools {
		add("Written by", "AWS Powertools")
	}
	if i.Attempt > 0 {
		add("Attempt", strconv.Itoa(i.Attempt))
	}
	add("Created", show.Both(i.CreatedAt, now))
	i.waits(add, now)
	if i.State == operate.StateInProgress || i.State == operate.StateCrashed {
		add("Lease ends", show.Both(i.Lease, now))
	}
	add("Completed", show.Both(i.CompletedAt, now))
	if i.SettledBy != "" {
		add("Settled", fmt.Sprintf("by %s, %s: %s", i.SettledBy, show.Both(i.SettledAt, now), i.SettledReason))
	}
	add("Expires", show.Both(i.Expiry, now))
	for _, name := range slices.Sorted(maps.Keys(i.DerivedKeys)) {
		add("Derived key", name+": "+i.DerivedKeys[name])
	}
	add("Derived keys", i.DerivedKeysUnknown)
	for _, s := range i.Steps {
		means := s.Name + ": " + show.StepMeaning(s)
		if show.HasResult(s) {
			means += "; --step " + s.Name + " shows it"
		}
		add("Step", means)
	}
	switch {
	case i.ResultInParts:
		add("Result", "kept beside the record; --result shows it")
	case i.ResultBytes > 0:
		add("Result", fmt.Sprintf("%d bytes; --result shows it", i.ResultBytes))
	}
	add("A retry gets", i.RetryGets)
	add("Seen", i.Seen)
	return rows
}

// waits says since when somebody has to settle the record, and how often a reconciliation has asked
// about it.
func (i *inspection) waits(add func(name, value string), now time.Time) {
	at := show.Both(i.AttentionAt, now)
	switch {
	case i.AttentionAt.IsZero():
	case i.GivenUp:
		add("Given up", at+": a reconciliation asks about it no more")
	case store.Reached(i.AttentionAt, now):
		add("Waits since", at)
	case i.State == operate.StateReleased && i.Tries == 0:
		add("Due", at+", if nobody retries")
	case i.State == operate.StateInProgress:
		add("Due", at+", if the reconciliation that asks about it dies")
	default:
		add("Asked again", at)
	}
	if i.Tries > 0 {
		add("Asked", show.Count(int64(i.Tries), "time")+", without an answer")
	}
}
