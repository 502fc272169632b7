// Package idempotenttest helps to test handlers that are made idempotent by package idempotent, and
// the code that they call.
package idempotenttest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/store"
)

// Config adjusts a [Context]. Its zero value is that of a delivery to which nothing happens.
type Config struct {
	// CommitErrors let commits end with errors: the first one with the first error, and so on. A
	// nil error lets one happen, and so do those behind the last error.
	//
	//	idempotenttest.Config{CommitErrors: []error{&dynamo.ConditionError{Refused: []dynamo.RefusedItem{{Index: 0}}}}}
	//
	// The commit returns a *dynamo.ConditionError as it is, and the code may go on as it does then.
	// With idempotent.ErrLeaseLost, and with every other error, which stands for
	// idempotent.ErrCommitFailed, the execution can commit no more. A commit that is refused before
	// it is sent takes none of the errors.
	CommitErrors []error
}

// The times of the delivery are the defaults of package idempotent. Lambda gives an invocation up
// to 15 minutes.
const (
	longest   = 15 * time.Minute
	retention = 24 * time.Hour
)

// Context returns a context that belongs to a first execution, for code that asks for one by
// idempotent.FromContext or idempotent.DerivedKey, makes an idempotent.Step, or commits. It is that
// of a real delivery, on a store in memory, and ends with the test, or after 15 minutes. Derived
// keys are the same in every run of one test, and other ones in another test. A step runs, and
// returns what its record keeps; its name can be used once in each context.
//
// idempotent.Mark notes errors in it, and [Marked] tells which.
//
// A commit, such as dynamo.Commit, writes its items nowhere: [Commits] tells what was committed,
// and Config.CommitErrors lets a commit fail. A second one, one inside of a step, and a step behind
// one are refused. What the items mean to a table, and whether an answer is one that is stored,
// only a test with that table and with the wrapped handler can tell.
func Context(tb testing.TB, config ...Config) context.Context {
	tb.Helper()
	if len(config) > 1 {
		tb.Fatalf("idempotenttest: Context: there are %d values of Config, and one counts", len(config))
	}
	of := new(delivery)
	for _, c := range config {
		of.errs = c.CommitErrors
	}
	of.Settings = &protocol.Settings{Operation: "test", Store: of, Now: time.Now, Timing: protocol.Timing{
		Lease: 30 * time.Second, Margin: 2 * time.Second, Reserve: 500 * time.Millisecond, ClaimBudget: 3 * time.Second,
		UnknownRetention: 30 * 24 * time.Hour,
	}}
	of.Retention = retention
	of.RecordKey = "test#" + tb.Name()
	ctx, cancel := context.WithTimeout(context.WithValue(tb.Context(), deliveryKey{}, of), longest-time.Second)
	under, r, claimed := of.Begin(ctx, of)
	if !claimed {
		tb.Fatalf("idempotenttest: Context: the delivery did not begin: %s", r.Outcome)
	}
	tb.Cleanup(func() {
		of.End(under, protocol.Ended{Keep: true, Result: []byte("null")})
		cancel()
	})
	return under
}

type deliveryKey struct{}

// deliveryOf returns the delivery of a context that [Context] has made. It panics if ctx is another
// one.
func deliveryOf(ctx context.Context, caller string) *delivery {
	of, _ := ctx.Value(deliveryKey{}).(*delivery)
	under, within := execution.From(ctx)
	if of == nil || !within || under.RecordKey != of.RecordKey {
		panic("idempotenttest: " + caller + ": the context was not made by Context")
	}
	return of
}

// Marked returns the errors that idempotent.Mark has noted in a context that [Context] has made, or
// in one made from it, in their order. There are 20 at most. It panics if ctx is another one.
func Marked(ctx context.Context) []error {
	deliveryOf(ctx, "Marked")
	under, _ := execution.From(ctx)
	return under.Notes.All()
}

// Answer implements [protocol.Work]: it keeps what is about to be committed.
func (d *delivery) Answer(answer any) (text []byte, problem string, err error) {
	if text, err = json.Marshal(answer); err != nil {
		return nil, "its answer has no JSON form", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = answer
	return text, "", nil
}

// Execute implements [protocol.Work]. Nothing calls it: the test executes.
func (*delivery) Execute(context.Context, *bool) protocol.Ended { return protocol.Ended{} }

// Resolve implements [protocol.Work]. Nothing crashed before, so nothing calls it.
func (*delivery) Resolve(context.Context, execution.Claim) protocol.Resolution {
	return protocol.Resolution{Finding: execution.StillUnknown}
}

var _ store.Committer = (*delivery)(nil)
