package store

import (
	"maps"
	"strings"
	"time"
)

// Step is what a record in progress, or an UNKNOWN one, keeps of one step of its execution. It is a
// plain value. Nobody changes Result after the step was handed to or returned by a store.
type Step struct {
	// Kind tells what the step holds. In [Record.Steps] of the next record of a Swap, a step
	// without a kind removes the held one.
	Kind StepKind
	// Seal names the claim that wrote the step and the digest of its result, see [Seal]. The digest
	// of a start mark is that of no bytes.
	Seal string
	// Result is the JSON text of the result or of the failure; nil in a start mark, or when Parts
	// is set.
	Result []byte
	// Parts is non-empty when the result is kept beside the record, see [Record.Parts].
	// [Record.OfStep] returns what [ResultReader.ReadResult] takes.
	Parts string
	// Until, of a step that is written, is until when its record can live at most: the parts of its
	// result have to stay as long. A store does not keep it, and the zero time asks for nothing.
	Until time.Time
}

// StepKind is what a [Step] holds, as stored.
type StepKind string

// The kinds of steps.
const (
	// StepStarted is a start mark: the effect may have begun, and nobody has recorded its end.
	StepStarted StepKind = "started"
	// StepValue is a result.
	StepValue StepKind = "value"
	// StepFailure is a final failure, in the form in which Lambda reports errors.
	StepFailure StepKind = "failure"
)

// AnyStepWrites is the StepWrites of a record that is seen by somebody who does not compare it: the
// owner of the record, or who takes it over.
const AnyStepWrites = -1

// Owner is the token of the claim that wrote the step.
func (s Step) Owner() string { return s.Seal[:max(strings.LastIndexByte(s.Seal, '.'), 0)] }

// Sealed reports whether Result is the one that the step's seal names.
func (s Step) Sealed() bool {
	return s.Seal != "" && s.Seal == string(appendSeal(make([]byte, 0, sealSize), s.Owner(), s.Result))
}

// OfStep returns a record that has the result of a step in the place of its own, for
// [ResultReader.ReadResult].
func (r Record) OfStep(s Step) Record {
	if r.Expiry.Before(s.Until) {
		r.Expiry = s.Until
	}
	return Record{
		Key: r.Key, Status: StatusCompleted, Owner: s.Owner(), Expiry: r.Expiry, Seal: s.Seal,
		Result: s.Result, Parts: s.Parts,
	}
}

// Resumable reports whether the steps of the record tell all that its execution did: there is one
// at least, and none has begun without an end.
func (r Record) Resumable() bool {
	for _, s := range r.Steps {
		if s.Kind == StepStarted {
			return false
		}
	}
	return len(r.Steps) > 0
}

// Matches reports whether the held record r is the one that was seen, as [Store.Swap] and
// [Store.Delete] compare. Stores that cannot express this as a condition of their own call it.
func (r Record) Matches(seen Record) bool {
	switch {
	case r.Status != seen.Status || r.Owner != seen.Owner:
		return false
	case r.Status == StatusInProgress && r.Reason != seen.Reason:
		return false
	case r.Status != StatusCompleted && seen.StepWrites != AnyStepWrites && r.StepWrites != seen.StepWrites:
		return false
	case r.Owner == "":
		return r.Lease.Equal(seen.Lease) && r.Expiry.Equal(seen.Expiry)
	default:
		return seen.Lease.IsZero() || r.Lease.Equal(seen.Lease)
	}
}

// HandsOver reports whether a Swap of r for next gives the record another owner and does not
// complete it. Such a Swap returns the record as it is after the write.
func (r Record) HandsOver(next Record) bool {
	return r.Owner != next.Owner && next.Status != StatusCompleted
}

// Merged returns the steps of the held record r after a write of next, and the count of step
// writes: those of next replace those of the same name, and one without a kind removes it. A
// completion drops all. It reports false if next marks a step as started that r has.
func (r Record) Merged(next Record) (steps map[string]Step, writes int, ok bool) {
	if next.Status == StatusCompleted {
		return nil, 0, true
	}
	if len(next.Steps) == 0 {
		return r.Steps, r.StepWrites, true
	}
	steps = make(map[string]Step, len(r.Steps)+len(next.Steps))
	maps.Copy(steps, r.Steps)
	for name, s := range next.Steps {
		if _, has := r.Steps[name]; has && s.Kind == StepStarted {
			return nil, 0, false
		}
		if s.Kind == "" {
			delete(steps, name)
		} else {
			steps[name] = s
		}
	}
	if len(steps) == 0 {
		steps = nil
	}
	return steps, r.StepWrites + 1, true
}
