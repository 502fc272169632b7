package idempotenttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

type order struct {
	ID  string `dynamodbav:"order_id"`
	SKU string `dynamodbav:"sku"`
}

type answer struct {
	Status int
	Body   string
}

// place is a handler. It answers a second order of the same id with a 409 of its own.
func place(ctx context.Context, o order) (answer, error) {
	out, err := dynamo.Commit(ctx, answer{201, "ordered " + o.SKU},
		dynamo.Put("orders", o, dynamo.IfAbsent("order_id")))
	if _, there := errors.AsType[*dynamo.ConditionError](err); there {
		return answer{409, "ordered before"}, nil
	}
	return out, err
}

// testOfYours stands for a test, which an example has not.
type testOfYours struct{ testing.TB }

func (testOfYours) Helper()                  {}
func (testOfYours) Cleanup(func())           {}
func (testOfYours) Name() string             { return "TestPlace" }
func (testOfYours) Context() context.Context { return context.Background() }

// A test of a handler that commits needs no table.
func ExampleCommits() {
	t := testOfYours{} // a *testing.T
	ctx := idempotenttest.Context(t)
	out, err := place(ctx, order{ID: "o-1", SKU: "A-1"})
	fmt.Println(out, err)
	for _, c := range idempotenttest.Commits(ctx) {
		fmt.Println("committed", c.Answer, "with", c.Writes.Len(), "item")
	}

	taken := &dynamo.ConditionError{Refused: []dynamo.RefusedItem{{Index: 0, Table: "orders"}}}
	ctx = idempotenttest.Context(t, idempotenttest.Config{CommitErrors: []error{taken}})
	out, err = place(ctx, order{ID: "o-1", SKU: "A-1"})
	fmt.Println(out, err)
	fmt.Println(len(idempotenttest.Commits(ctx)), "commits")
	// Output:
	// {201 ordered A-1} <nil>
	// committed {201 ordered A-1} with 1 item
	// {409 ordered before} <nil>
	// 0 commits
}
