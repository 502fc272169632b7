// Package idempotenttest helps to test handlers that are made idempotent by package idempotent, and the code that they call.
package idempotenttest

import (
	"context"
	"testing"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// Context returns a context that belongs to a first execution, for code that asks for one by idempotent.FromContext or
// idempotent.DerivedKey, or makes an idempotent.Step. It ends with the test. Derived keys are the same in every run of one test, and
// other ones in another test. A step runs, and returns what its record would have kept; its name can be used once in each context.
func Context(tb testing.TB) context.Context {
	tb.Helper()
	return execution.With(tb.Context(), execution.Claim{Operation: "test", RecordKey: "test#" + tb.Name(), Attempt: 1, Steps: new(steps)})
}
