package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/execution"
)

type transactor interface {
	TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

const maxItems = 99 // of DynamoDB's 100: the record is one of them

// Commit stores the answer of the handler and writes the items, in one DynamoDB transaction: both
// happen, or neither does. The handler then returns what Commit returned.
//
//	func order(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
//		row := Order{ID: idempotent.DerivedKey(ctx, "order"), SKU: "A-1"}
//		return dynamo.Commit(ctx, created(row), dynamo.Put("orders", row, dynamo.IfAbsent("order_id")))
//	}
//
// ctx is the handler's, or one made from it, and out is of the type that the handler returns. The
// transaction is applied only while the claim of the execution holds: one that was too slow, and
// has lost it, writes no rows either.
//
// Commit waits for the steps of the execution that still run. It repeats what DynamoDB did not take
// because another writer was at work (a conflict) or for lack of capacity, until ctx ends. A reply
// that got lost is found by the record.
//
// On an error Commit returns the zero value of Out, and nothing was written. The error is
//
//   - a [*ConditionError], if conditions of the items do not hold. The claim stands: the handler
//     may answer, with a 409 for example, try another way, or commit again.
//   - an *idempotent.Error with idempotent.ErrCommitRefused, if the call was wrong and nothing was
//     sent: an item that cannot be made, more than 99, an answer of another type, or one that is
//     not to be stored, a second commit, a context that belongs to no delivery, a handler that has
//     returned, a step. The claim stands.
//   - an *idempotent.Error with idempotent.ErrLeaseLost, if the claim is lost.
//   - an *idempotent.Error with idempotent.ErrCommitFailed, if DynamoDB did not take it in time, or
//     refused it as invalid. Return it: the execution has failed, and stores no answer any more.
//     The next delivery executes, or, with WithEffects(Unrepeatable), the record becomes UNKNOWN.
//     If the reply was lost and the record cannot be read either, nobody knows whether the
//     transaction was applied: the record then tells the next delivery.
//
// After a commit the answer is final. If the handler returns another one, an error, or panics, the
// committed answer is sent, and the observer gets idempotent.ErrOtherAnswer.
//
// In an execution that is not protected (the protection is turned off, or the request carries no
// key) the items are written in a plain transaction, and no answer is stored.
//
// The client needs the method TransactWriteItems of [*dynamodb.Client]. One transaction spans one
// account and one Region, and at most 99 items and 4 MB. A table with multi-Region strong
// consistency has none. DynamoDB bills two write units for every KB of each item. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
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

// Item is one write of a [Commit]. [Put] makes the most frequent one. Every other one is a write of
// the SDK, as it is: Item{TransactWriteItem: write}.
type Item struct {
	types.TransactWriteItem

	Err error // why the item could not be made: [Commit] returns it before it sends anything
}

// Put writes a whole item: row is a struct, a map, or what else attributevalue.MarshalMap takes, as
// it is now. The options are [IfAbsent], [ReturnOld] and functions that change the SDK's write.
func Put(table string, row any, opts ...func(*types.Put)) Item {
	it, err := itemOf(row)
	if err != nil {
		return Item{Err: fmt.Errorf("Put on table %q: %w", table, err)}
	}
	put := &types.Put{TableName: aws.String(table), Item: it}
	for _, opt := range opts {
		opt(put)
	}
	return Item{TransactWriteItem: types.TransactWriteItem{Put: put}}
}

// IfAbsent is the condition that there is no item, or that it lacks this attribute. Name the
// partition key to write an item only once. The name is taken as it is: reserved words and names
// with dots are fine. Several conditions of one item must all hold.
func IfAbsent(attribute string) func(*types.Put) {
	return func(p *types.Put) {
		if p.ExpressionAttributeNames == nil {
			p.ExpressionAttributeNames = make(map[string]string)
		}
		ref := "#attribute" + strconv.Itoa(len(p.ExpressionAttributeNames)+1)
		p.ExpressionAttributeNames[ref] = attribute
		condition := "attribute_not_exists(" + ref + ")"
		if p.ConditionExpression != nil {
			condition = *p.ConditionExpression + " AND " + condition
		}
		p.ConditionExpression = aws.String(condition)
	}
}

// ReturnOld asks for the item as it is, if a condition on it does not hold, see [RefusedItem].
func ReturnOld() func(*types.Put) {
	return func(p *types.Put) {
		p.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
}

func itemOf(row any) (item, error) {
	switch row := row.(type) {
	case item:
		return maps.Clone(row), nil
	case map[string]any:
		it := make(item, len(row))
		for name, member := range row {
			value, err := attributeOf(member)
			if err != nil {
				return nil, fmt.Errorf("attribute %q: %w", name, err)
			}
			it[name] = value
		}
		return it, nil
	}
	value, err := attributeOf(row)
	if err != nil {
		return nil, err
	}
	m, is := value.(*types.AttributeValueMemberM)
	if !is {
		return nil, fmt.Errorf("a %T becomes a value of type %s, not an item: pass a struct or a map", row,
			typeName(value))
	}
	return m.Value, nil
}

// attributeOf returns a value as DynamoDB has it. attributevalue takes one of the SDK for a struct.
func attributeOf(v any) (types.AttributeValue, error) {
	if value, is := v.(types.AttributeValue); is {
		return value, nil
	}
	value, err := attributevalue.Marshal(v)
	_, own := errors.AsType[*attributevalue.InvalidMarshalError](err)
	switch {
	case own:
		return nil, fmt.Errorf("a %T: %w", v, err)
	case err != nil: // of a marshaler of the user, whose text may quote the value
		return nil, fmt.Errorf("a %T does not marshal: a marshaler in it returned a %T", v, err)
	case value == nil:
		return nil, fmt.Errorf("a %T is nothing that DynamoDB can keep", v)
	}
	return value, nil
}

// writes implements [store.Writes]. It refers to what the caller's items refer to: a commit ends
// before the caller can change them.
type writes []types.TransactWriteItem

// Len implements [store.Writes].
func (w writes) Len() int { return len(w) }

// newWrites returns the items, or all reasons why some could not be made. DynamoDB checks the rest.
func newWrites(items []Item) (writes, error) {
	if len(items) > maxItems {
		return nil, fmt.Errorf("%d items are more than %d, which is how many a commit takes", len(items), maxItems)
	}
	w := make(writes, len(items))
	var problems error // in one line
	for i, it := range items {
		switch {
		case it.Err == nil:
		case problems == nil:
			problems = fmt.Errorf("items[%d]: %w", i, it.Err)
		default:
			problems = fmt.Errorf("%w; items[%d]: %w", problems, i, it.Err)
		}
		w[i] = it.TransactWriteItem
	}
	return w, problems
}

// described says what a write is, and names its table, without anything that it writes.
func described(w types.TransactWriteItem) (kind, table string) {
	switch {
	case w.Put != nil:
		return "Put", aws.ToString(w.Put.TableName)
	case w.Update != nil:
		return "Update", aws.ToString(w.Update.TableName)
	case w.Delete != nil:
		return "Delete", aws.ToString(w.Delete.TableName)
	case w.ConditionCheck != nil:
		return "Check", aws.ToString(w.ConditionCheck.TableName)
	default:
		return "", ""
	}
}

// at says which item of the call a write is.
func at(index int, kind, table string) string {
	if kind == "" {
		kind = "a write"
	}
	return fmt.Sprintf("items[%d] (%s on table %q)", index, kind, table)
}
