package storetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// inProgress returns a record as a first claim writes it, under a key of its own.
func (p *probe) inProgress() store.Record {
	return store.Record{
		Key:         "storetest#" + rand.Text(),
		Status:      store.StatusInProgress,
		Owner:       rand.Text(),
		Lease:       p.now.Add(30*time.Second + 123*time.Millisecond),
		Expiry:      p.now.Add(time.Hour),
		Fingerprint: "1:" + rand.Text(),
		Attempt:     1,
		CreatedAt:   p.now.Add(-7 * time.Millisecond),
	}
}

// completed returns a completed record that has a value in every field.
func (p *probe) completed() store.Record {
	return completion(p.inProgress(), []byte(`{"id":"ch_1"}`))
}

// unknown returns a record of unknown outcome.
func (p *probe) unknown() store.Record {
	r := p.inProgress()
	r.Status, r.Reason = store.StatusUnknown, "result-lost"
	r.Attention, r.AttentionAt = store.AttentionOf(r.Key), p.now.Add(-3*time.Millisecond)
	r.Derived = []string{charge, mail}
	return r
}

// ownerless returns a record in progress as AWS Powertools writes it.
func (p *probe) ownerless() store.Record {
	r := p.inProgress()
	return store.Record{Key: r.Key, Status: r.Status, Lease: r.Lease, Expiry: r.Expiry}
}

// completion returns r as its owner completes it. Every field has a value, and all that may change does.
func completion(r store.Record, result []byte) store.Record {
	r.Status = store.StatusCompleted
	r.Lease = r.Lease.Add(time.Second)
	r.Expiry = r.Expiry.Add(24 * time.Hour)
	r.Result = result
	r.Seal = store.Seal(r.Owner, result)
	r.Reason = "error"
	r.CompletedAt = r.Expiry.Add(-25*time.Hour + 5*time.Millisecond)
	return r
}

// takeover returns the record with which another owner takes r over.
func takeover(r store.Record) store.Record {
	next := renewal(r)
	next.Status, next.Owner = store.StatusInProgress, rand.Text()
	next.Result, next.Seal, next.Reason = nil, "", ""
	next.CompletedAt, next.Attention, next.AttentionAt, next.Derived, next.Tries = time.Time{}, "", time.Time{}, nil, 0
	next.Attempt++
	return next
}

// settled returns r as an operator releases it.
func settled(r store.Record) store.Record {
	next := takeover(r)
	next.Attempt, next.Reason = r.Attempt, store.ReasonReleased
	next.SettledBy, next.SettledReason, next.SettledAt = "dana", "ticket 4711", r.Expiry.Add(-time.Hour+9*time.Millisecond)
	return next
}

// renewal returns r with a later lease and expiry. It has a lease also if r has none.
func renewal(r store.Record) store.Record {
	r.Expiry = r.Expiry.Add(30 * time.Second)
	r.Lease = r.Expiry.Add(-59*time.Minute + 123*time.Millisecond)
	return r
}

// rival returns a first claim by another owner of the key of r.
func (p *probe) rival(r store.Record) store.Record {
	next := p.inProgress()
	next.Key = r.Key
	return next
}

// equal reports whether two records are the same in every field.
func equal(a, b store.Record) bool { return difference(a, b) == "" }

// difference names the fields in which got is not want; it is empty if there are none. No result and an empty one are
// the same, instants are the same in every time zone.
func difference(want, got store.Record) string {
	var b strings.Builder
	field(&b, "Key", want.Key, got.Key)
	field(&b, "Status", want.Status, got.Status)
	field(&b, "Owner", want.Owner, got.Owner)
	instant(&b, "Lease", want.Lease, got.Lease)
	instant(&b, "Expiry", want.Expiry, got.Expiry)
	field(&b, "Fingerprint", want.Fingerprint, got.Fingerprint)
	if !bytes.Equal(want.Result, got.Result) {
		fmt.Fprintf(&b, "Result: want %s, got %s\n", excerpt(want.Result), excerpt(got.Result))
	}
	field(&b, "Layout", want.Layout, got.Layout)
	field(&b, "Parts", want.Parts, got.Parts)
	field(&b, "Commit", want.Seal, got.Seal)
	field(&b, "Attempt", want.Attempt, got.Attempt)
	instant(&b, "CreatedAt", want.CreatedAt, got.CreatedAt)
	field(&b, "Reason", want.Reason, got.Reason)
	instant(&b, "CompletedAt", want.CompletedAt, got.CompletedAt)
	field(&b, "SettledBy", want.SettledBy, got.SettledBy)
	instant(&b, "SettledAt", want.SettledAt, got.SettledAt)
	field(&b, "SettledReason", want.SettledReason, got.SettledReason)
	field(&b, "Attention", want.Attention, got.Attention)
	instant(&b, "AttentionAt", want.AttentionAt, got.AttentionAt)
	if !slices.Equal(want.Derived, got.Derived) {
		fmt.Fprintf(&b, "Derived: want %q, got %q\n", want.Derived, got.Derived)
	}
	field(&b, "Tries", want.Tries, got.Tries)
	field(&b, "Questions", want.Questions, got.Questions)
	field(&b, "Unmarked", want.Unmarked, got.Unmarked)
	if !slices.Equal(want.StepNames, got.StepNames) {
		fmt.Fprintf(&b, "StepNames: want %q, got %q\n", want.StepNames, got.StepNames)
	}
	field(&b, "Trace", want.Trace, got.Trace)
	field(&b, "Story", want.Story, got.Story)
	field(&b, "StepWrites", want.StepWrites, got.StepWrites)
	steps(&b, want.Steps, got.Steps)
	return b.String()
}

// steps names the steps in which got is not want.
func steps(b *strings.Builder, want, got map[string]store.Step) {
	for name, w := range want {
		g, has := got[name]
		if !has {
			fmt.Fprintf(b, "Steps: there is no %q\n", name)
			continue
		}
		field(b, "Kind of step "+name, w.Kind, g.Kind)
		field(b, "Seal of step "+name, w.Seal, g.Seal)
		field(b, "Parts of step "+name, w.Parts, g.Parts)
		if !bytes.Equal(w.Result, g.Result) {
			fmt.Fprintf(b, "Result of step %s: want %s, got %s\n", name, excerpt(w.Result), excerpt(g.Result))
		}
	}
	for name := range got {
		if _, wanted := want[name]; !wanted {
			fmt.Fprintf(b, "Steps: there is %q\n", name)
		}
	}
}

func field[V comparable](b *strings.Builder, name string, want, got V) {
	if want != got {
		fmt.Fprintf(b, "%s: want %#v, got %#v\n", name, want, got)
	}
}

func instant(b *strings.Builder, name string, want, got time.Time) {
	if !want.Equal(got) {
		fmt.Fprintf(b, "%s: want %s, got %s\n", name, want.Format(time.RFC3339Nano), got.Format(time.RFC3339Nano))
	}
}

// describe returns a record for a message, with the beginning of its result.
func describe(r store.Record) string {
	var steps strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		s := r.Steps[name]
		fmt.Fprintf(&steps, " step %s (%q %q %s %q)", name, s.Kind, s.Seal, excerpt(s.Result), s.Parts)
	}
	result := excerpt(r.Result)
	r.Result, r.Steps = nil, nil
	return fmt.Sprintf("\t%+v result %s%s", r, result, steps.String())
}

// excerpt shows the beginning of a result, which may have megabytes.
func excerpt(result []byte) string {
	const enough = 100
	if len(result) <= enough {
		return fmt.Sprintf("%q", result)
	}
	return fmt.Sprintf("%q… (%d bytes)", result[:enough], len(result))
}
