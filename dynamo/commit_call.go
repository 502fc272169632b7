package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// Transactor is what [Commit] needs of a client beyond [Client]; [*dynamodb.Client] implements it.
type Transactor interface {
	TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, optFns ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// MaxItems is how many items a [Commit] takes: one less than DynamoDB's 100, because the record of the execution is one of them.
const MaxItems = 99

// Commit stores the answer of the handler and writes the items, in one DynamoDB transaction: both happen, or neither does. The handler
// then returns what Commit returned.
//
//	func order(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
//		row := Order{ID: idempotent.DerivedKey(ctx, "order"), SKU: "A-1"}
//		return dynamo.Commit(ctx, created(row), dynamo.Put("orders", row, dynamo.IfAbsent("order_id")))
//	}
//
// The transaction belongs to the claim of the execution: it is applied only while that claim holds. So an execution that has lost its
// claim, because it was too slow, writes no rows either.
//
// ctx is the handler's, or one made from it, and out is of the type that the handler returns. Commit waits for the steps of the
// execution that still run. It repeats what DynamoDB did not take because another writer was at work (a conflict) or for lack of
// capacity, until the handler's context ends. A reply that got lost is found by the record.
//
// On an error Commit returns the zero value of Out, and nothing was written. The error is
//
//   - a [*ConditionError], if conditions of the items do not hold. The claim stands: the handler may answer, with a 409 for
//     example, try another way, or commit again.
//   - a [*CommitError] with [idempotent.ErrCommitRefused], if the call was wrong and nothing was sent: an item that cannot be made,
//     more than [MaxItems], one item twice, an answer of another type, or one that is not to be stored, a second commit, a context that
//     belongs to no delivery, a handler that has returned, a step. The claim stands.
//   - a [*CommitError] with [idempotent.ErrLeaseLost], if the claim is lost.
//   - a [*CommitError] with [idempotent.ErrCommitFailed], if DynamoDB did not take it in time, or refused it as invalid. Return it: the
//     execution has failed. It stores no answer any more; the next delivery executes, or, with WithEffects(Unrepeatable), the record
//     becomes UNKNOWN. If the reply was lost and not even the record can be read, nobody knows whether the transaction was applied: the
//     record then tells the next delivery.
//
// After a commit the answer is final. If the handler returns another one, an error, or panics, the committed answer is sent, and the
// observer gets an [*idempotent.CommittedError].
//
// In an execution that is not protected (the protection is turned off, or the request carries no key) the items are written in a plain
// transaction, and no answer is stored.
//
// One transaction spans one account and one Region, and at most 4 MB. A table with multi-Region strong consistency has no transactions.
// DynamoDB bills two write units for every KB of each item.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
//
// [idempotent.ErrCommitRefused]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrCommitRefused
// [idempotent.ErrCommitFailed]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrCommitFailed
// [idempotent.ErrLeaseLost]: https://pkg.go.dev/github.com/go-idempotent/idempotent#ErrLeaseLost
// [*idempotent.CommittedError]: https://pkg.go.dev/github.com/go-idempotent/idempotent#CommittedError
func Commit[Out any](ctx context.Context, out Out, items ...Item) (Out, error) {
	if err := commit(ctx, out, items); err != nil {
		var none Out
		return none, err
	}
	return out, nil
}

func commit(ctx context.Context, out any, items []Item) error {
	c, _ := execution.From(ctx)
	commits := execution.CommitsOf(ctx)
	if commits == nil {
		return commitError(c, &execution.CommitFault{
			Kind:   execution.CommitRefused,
			Reason: "its context belongs to no delivery: pass on the one that the handler was given",
		})
	}
	w, err := newWrites(items)
	if err != nil {
		return commitError(c, &execution.CommitFault{Kind: execution.CommitRefused, Err: err})
	}
	if fault := commits.Commit(ctx, out, w); fault != nil {
		return commitError(c, fault)
	}
	return nil
}

// CommitError is why a [Commit] has not happened. It holds nothing of the answer and of the items.
type CommitError struct {
	Operation, RecordKey string
	// Reason says what is wrong, empty if that is all there is to say.
	Reason string
	// Err is the cause, if there is one: of DynamoDB, of an encoder, or of a context.
	Err error

	kind error // the sentinel
}

func (e *CommitError) Error() string {
	text := "idempotent: "
	if e.Operation != "" {
		text += e.Operation + ": "
	}
	text += e.kind.Error()
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Err != nil && !errors.Is(e.kind, execution.ErrLeaseLost) {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return text
}

// Is reports whether target is the sentinel of the error.
func (e *CommitError) Is(target error) bool { return target == e.kind }

// Unwrap returns the cause.
func (e *CommitError) Unwrap() error { return e.Err }

func commitError(c execution.Claim, f *execution.CommitFault) error {
	if refused, ok := errors.AsType[*ConditionError](f.Err); ok && f.Kind == execution.CommitDeclined {
		return refused
	}
	kinds := [...]error{
		execution.CommitRefused: execution.ErrCommitRefused, execution.CommitDeclined: execution.ErrCommitFailed,
		execution.CommitLeaseLost: execution.ErrLeaseLost, execution.CommitFailed: execution.ErrCommitFailed,
	}
	return &CommitError{Operation: c.Operation, RecordKey: c.RecordKey, Reason: f.Reason, Err: f.Err, kind: kinds[f.Kind]}
}
