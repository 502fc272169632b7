package explore

import (
	"errors"
	"fmt"

	"github.com/go-idempotent/idempotent"
)

// Ending is how a handler ends.
type Ending int

// The endings.
const (
	Succeeds Ending = iota
	Fails
	FailsNotExecuted
	FailsTerminal
	FailsUncertain
	Panics
	// ObeysContext returns the error of its context, which has ended.
	ObeysContext
	// GoesOn is that of a handler which may end early and does not.
	GoesOn
	// FailsInStep returns the error of a step, and is no choice. FailsInCommit returns that of a
	// commit.
	FailsInStep
	FailsInCommit
	// Differs returns another result than the one that was committed, if one was. Succeeds returns
	// that one.
	Differs

	firstOfMany // the endings of SeveralMarks follow
)

// forEver is how a failure is told that is final.
const forEver = "fails for ever"

var endingNames = map[Ending]string{
	Succeeds: "succeeds", Fails: "fails", FailsNotExecuted: "fails, nothing executed", FailsTerminal: forEver,
	FailsUncertain: "fails, the downstream may have acted", Panics: "panics",
	ObeysContext: "returns the error of its context",
	GoesOn:       "goes on", FailsInStep: "returns the error of a step", FailsInCommit: "returns the error of a commit",
	Differs: "returns a result that it has not committed",
}

// marks are those of a handler, each with the ending that has it alone. Of several the last one
// here counts.
var marks = []struct {
	alone Ending
	mark  func(error) error
}{
	{FailsNotExecuted, idempotent.NotExecuted},
	{FailsTerminal, idempotent.Terminal},
	{FailsUncertain, idempotent.Uncertain},
}

// shapes are the ways in which two marks stand in one error. own is what the caller gets, without
// the mark around it.
var shapes = []struct {
	name string
	of   func(err error, one, other func(error) error) (marked, own error)
}{
	{"joined", func(err error, one, other func(error) error) (error, error) {
		joined := errors.Join(one(err), other(err))
		return joined, joined
	}},
	{"wrapped together", func(err error, one, other func(error) error) (error, error) {
		both := fmt.Errorf("two: %w, %w", one(err), other(err))
		return both, both
	}},
	{"one around the other", func(err error, one, other func(error) error) (error, error) {
		inner := fmt.Errorf("inner: %w", other(err))
		return one(inner), inner
	}},
	{"joined deep inside", func(err error, one, other func(error) error) (error, error) {
		outer := fmt.Errorf("outer: %w",
			errors.Join(err, fmt.Errorf("inner: %w", errors.Join(one(err), err)), other(err)))
		return outer, outer
	}},
}

// SeveralMarks are the endings with an error that carries two different marks: every two, in both
// orders, in every shape.
func SeveralMarks() (all []Ending) {
	for n := range len(shapes) * len(marks) * (len(marks) - 1) {
		all = append(all, firstOfMany+Ending(n))
	}
	return all
}

// several takes an ending of SeveralMarks apart: its shape and its marks, as indices.
func (e Ending) several() (shape, one, other int, ok bool) {
	n := int(e - firstOfMany)
	if n < 0 {
		return 0, 0, 0, false
	}
	pairs := len(marks) * (len(marks) - 1)
	shape, n = n/pairs, n%pairs
	one, other = n/(len(marks)-1), n%(len(marks)-1)
	if other >= one {
		other++
	}
	return shape, one, other, true
}

// mark is the ending that an ending counts as: the one that has its most cautious mark alone.
func (e Ending) mark() Ending {
	if _, one, other, ok := e.several(); ok {
		return marks[max(one, other)].alone
	}
	return e
}

// answers reports whether the handler returned a result.
func (f *facts) answers() bool { return f.ending == Succeeds || f.ending == Differs }

// fail is the error that a handler returns, and the one that its caller gets.
func (e Ending) fail(err error) (marked, own error) {
	if shape, one, other, ok := e.several(); ok {
		return shapes[shape].of(err, marks[one].mark, marks[other].mark)
	}
	for _, m := range marks {
		if m.alone == e {
			return m.mark(err), err
		}
	}
	return err, err
}

func (e Ending) String() string {
	if shape, one, other, ok := e.several(); ok {
		return fmt.Sprintf("returns two marks, %s: %q and %q", shapes[shape].name, marks[one].alone, marks[other].alone)
	}
	return endingNames[e]
}
