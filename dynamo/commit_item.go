package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is one write of a [Commit]. [Put] makes the most frequent one of the user's own types. Every
// other one is a write of the SDK, as it is: Item{TransactWriteItem: write}.
type Item struct {
	types.TransactWriteItem

	// Err is why the item could not be made. [Commit] returns it before it sends anything.
	Err error
}

// Put writes a whole item: row is a struct, a map, or what else attributevalue.MarshalMap takes. It
// is read now: what becomes of it later does not change the item. The options are [IfAbsent],
// [ReturnOld] and functions of the caller that change the SDK's write.
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

// itemOf returns the attributes of a row.
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

// attributeOf returns a value as DynamoDB has it. One of the SDK is taken as it is; attributevalue
// would take it for a struct.
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

// writes are the items of a commit. It implements [store.Writes].
//
// It refers to what the caller's items refer to. A commit ends before it returns to the caller, who
// cannot change them meanwhile.
type writes []types.TransactWriteItem

// Len implements [store.Writes].
func (w writes) Len() int { return len(w) }

// newWrites returns the items, or why some could not be made, all at once. What DynamoDB checks it
// does not check.
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

// described says what a write is, without anything that it writes, and names its table.
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
