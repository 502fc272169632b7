// Package idempotenttest helps to test handlers that are made idempotent by package idempotent, and the code that they call.
package idempotenttest

import (
	"context"
	"testing"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// Context returns a context that belongs to a first execution, for code that asks for one by idempotent.FromContext or
// idempotent.DerivedKey, makes an idempotent.Step, or commits. It ends with the test. Derived keys are the same in every run of one
// test, and other ones in another test. A step runs, and returns what its record would have kept; its name can be used once in each
// context.
//
// idempotent.Mark notes errors in it, and [Marked] tells which.
//
// A commit, such as dynamo.Commit, writes its items nowhere: [Commits] tells what was committed, and [WithCommitErrors] lets a commit
// fail. A second one, one inside of a step, and a step behind one are refused, as in a delivery. What the items mean to a table, and
// whether an answer is one that is stored, only a test with that table and with the wrapped handler can tell.
func Context(tb testing.TB, opts ...Option) context.Context {
	tb.Helper()
	of := new(commits)
	for _, opt := range opts {
		if opt != nil {
			opt(of)
		}
	}
	of.notes.Open()
	return execution.With(tb.Context(), execution.Claim{
		Operation: "test", RecordKey: "test#" + tb.Name(), Attempt: 1, Steps: &of.steps, Commits: of, Notes: &of.notes,
	})
}

// Option adjusts a [Context].
type Option func(*commits)
