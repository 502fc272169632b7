package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// transactor is what [Commit] needs of a client beyond [Client].
type transactor interface {
	TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// maxItems is how many items a commit takes: one less than DynamoDB's 100, because the record of
// the execution is one of them.
const maxItems = 99

// Commit stores the answer of the handler and writes the items, in one DynamoDB transaction: both
// happen, or neither does. The handler then returns what Commit returned.
//
//	func order(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
//		row := Order{ID: idempotent.DerivedKey(ctx, "order"), SKU: "A-1"}
//		return dynamo.Commit(ctx, created(row), dynamo.Put("orders", row, dynamo.IfAbsent("order_id")))
//	}
//
// The transaction belongs to the claim of the execution: it is applied only while that claim holds.
// So an execution that has lost its claim, because it was too slow, writes no rows either.
//
// ctx is the handler's, or one made from it, and out is of the type that the handler returns.
// Commit waits for the steps of the execution that still run. It repeats what DynamoDB did not take
// because another writer was at work (a conflict) or for lack of capacity, until the handler's
// context ends. A reply that got lost is found by the record.
//
// On an error Commit returns the zero value of Out, and nothing was written. The error is
//
//   - a [*ConditionError], if conditions of the items do not hold. The claim stands: the handler
//     may answer, with a 409 for example, try another way, or commit again.
//   - an [*idempotent.Error] with [idempotent.ErrCommitRefused], if the call was wrong and nothing
//     was sent: an item that cannot be made, more than 99, one item twice, an answer of
//     another type, or one that is not to be stored, a second commit, a context that belongs to no
//     delivery, a handler that has returned, a step. The claim stands.
//   - an [*idempotent.Error] with [idempotent.ErrLeaseLost], if the claim is lost.
//   - an [*idempotent.Error] with [idempotent.ErrCommitFailed], if DynamoDB did not take it in
//     time, or refused it as invalid. Return it: the execution has failed. It stores no answer any
//     more; the next delivery executes, or, with WithEffects(Unrepeatable), the record becomes
//     UNKNOWN. If the reply was lost and not even the record can be read, nobody knows whether the
//     transaction was applied: the record then tells the next delivery.
//
// After a commit the answer is final. If the handler returns another one, an error, or panics, the
// committed answer is sent, and the observer gets [idempotent.ErrOtherAnswer].
//
// In an execution that is not protected (the protection is turned off, or the request carries no
// key) the items are written in a plain transaction, and no answer is stored.
//
// It needs a client that has the method TransactWriteItems of [*dynamodb.Client]. One transaction
// spans one account and one Region, and at most 99 items and 4 MB. A table with multi-Region
// strong consistency has no transactions. DynamoDB bills two write units for every KB of each item.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
//
// [idempotent.ErrCommitRefused]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrCommitRefused
// [idempotent.ErrCommitFailed]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrCommitFailed
// [idempotent.ErrLeaseLost]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrLeaseLost
// [idempotent.ErrOtherAnswer]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrOtherAnswer
// [*idempotent.Error]: https://pkg.go.dev/github.com/go-idempotent/idempotent#Error
func Commit[Out any](ctx context.Context, out Out, items ...Item) (Out, error) {
	var none Out
	commits := execution.CommitsOf(ctx)
	if commits == nil {
		return none, &execution.Fault{
			Kind:   execution.ErrCommitRefused,
			Reason: "its context belongs to no delivery: pass on the one that the handler was given",
		}
	}
	w, err := newWrites(items)
	if err := commits.Commit(ctx, out, w, err); err != nil {
		return none, err
	}
	return out, nil
}
