package dynamo_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// agreeable is a client that accepts every transaction.
type agreeable struct{ fake }

func (agreeable) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// committer is the hook of a delivery that commits at once.
type committer struct {
	store *dynamo.Store
	seen  store.Record
}

func (c *committer) Commit(ctx context.Context, _ any, w store.Writes, _ error) error {
	next := c.seen
	next.Status, next.Result = store.StatusCompleted, []byte(`{"id":"o-1"}`)
	next.Seal = store.CommitSeal(next.Owner, next.Result, 1)
	if _, done, err := c.store.Commit(ctx, c.seen, next, w, "token-1"); err != nil || !done {
		return &execution.Fault{Kind: execution.ErrCommitFailed, Err: err}
	}
	return nil
}

// oneRow commits an order with the answer of a record, as a handler does.
func oneRow(tb testing.TB) func() {
	tb.Helper()
	hook := &committer{store: dynamo.New(agreeable{}, table), seen: record("order#1")}
	ctx := execution.With(tb.Context(), execution.Claim{Operation: "order", RecordKey: "order#1", Commits: hook})
	return func() {
		_, err := dynamo.Commit(ctx, "out", dynamo.Put("orders", order{"o-1", "new", 5}, dynamo.IfAbsent("order_id")))
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkCommit is what this package takes for one row, without the SDK and the network.
func BenchmarkCommit(b *testing.B) {
	commit := oneRow(b)
	b.ReportAllocs()
	for b.Loop() {
		commit()
	}
}
