package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is one write of a [Commit]. [Put], [Update], [Delete] and [Check] make it of the user's own types; one of the SDK is
// Item{TransactWriteItem: write} as it is. Exactly one of its four fields is set.
type Item struct {
	types.TransactWriteItem

	// Err is why the item could not be made. [Commit] returns it before it sends anything.
	Err error

	// key names the attributes of the key of the table, if they are known.
	key []string
}

// Put writes a whole item: row is a struct, a map, or what else attributevalue.MarshalMap takes. It is read now: what becomes of it
// later does not change the item.
func Put(table string, row any, opts ...ItemOption) Item {
	m := newItemMaker(opts)
	put := &types.Put{TableName: aws.String(table), Item: m.marshalled("row", row)}
	put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = m.expressions("")
	put.ReturnValuesOnConditionCheckFailure = m.returns
	return m.made(types.TransactWriteItem{Put: put})
}

// Update changes the item with this key by an update expression, such as "SET stock = stock - :n". If there is no such item, it makes
// one, unless a condition keeps it from that. The key is a struct or a map with the attributes of the key alone.
func Update(table string, key any, update string, opts ...ItemOption) Item {
	m := newItemMaker(opts)
	u := &types.Update{TableName: aws.String(table), Key: m.marshalled("key", key), UpdateExpression: aws.String(update)}
	u.ConditionExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues = m.expressions(update)
	u.ReturnValuesOnConditionCheckFailure = m.returns
	return m.made(types.TransactWriteItem{Update: u})
}

// Delete removes the item with this key. It is no error if there is none, unless a condition makes it one.
func Delete(table string, key any, opts ...ItemOption) Item {
	m := newItemMaker(opts)
	d := &types.Delete{TableName: aws.String(table), Key: m.marshalled("key", key)}
	d.ConditionExpression, d.ExpressionAttributeNames, d.ExpressionAttributeValues = m.expressions("")
	d.ReturnValuesOnConditionCheckFailure = m.returns
	return m.made(types.TransactWriteItem{Delete: d})
}

// Check writes nothing: it only holds the commit to the conditions on the item with this key.
func Check(table string, key any, opts ...ItemOption) Item {
	m := newItemMaker(opts)
	c := &types.ConditionCheck{TableName: aws.String(table), Key: m.marshalled("key", key)}
	c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues = m.expressions("")
	c.ReturnValuesOnConditionCheckFailure = m.returns
	return m.made(types.TransactWriteItem{ConditionCheck: c})
}

// marshalled returns the attributes of a row or of a key.
func (m *itemMaker) marshalled(what string, v any) item {
	if it, ok := v.(map[string]types.AttributeValue); ok {
		return maps.Clone(it)
	}
	if members, ok := v.(map[string]any); ok {
		it := make(item, len(members))
		for name, member := range members {
			it[name] = m.value(fmt.Sprintf("%s: attribute %q", what, name), member)
		}
		return it
	}
	value := m.value(what, v)
	it, ok := value.(*types.AttributeValueMemberM)
	if value != nil && !ok {
		m.problemf("%s: a %T becomes a value of type %s, not an item: pass a struct or a map", what, v, typeName(value))
	}
	if !ok {
		return nil
	}
	return it.Value
}

// value returns a value as DynamoDB has it, nil if it has none. One of the SDK is taken as it is; attributevalue would take it for a
// struct.
func (m *itemMaker) value(what string, v any) types.AttributeValue {
	if value, ok := v.(types.AttributeValue); ok {
		return value
	}
	value, err := attributevalue.Marshal(v)
	_, own := errors.AsType[*attributevalue.InvalidMarshalError](err)
	switch {
	case own:
		m.problemf("%s: a %T: %v", what, v, err)
	case err != nil: // of a marshaler of the user, whose text may quote the value
		m.problemf("%s: a %T does not marshal: a marshaler in it returned a %T", what, v, err)
	case value == nil:
		m.problemf("%s: a %T is nothing that DynamoDB can keep", what, v)
	}
	return value
}

// made returns the item, or what is wrong with it.
func (m *itemMaker) made(w types.TransactWriteItem) Item {
	if len(m.problems) == 0 {
		return Item{TransactWriteItem: w, key: m.key}
	}
	made, err := writeOf(w)
	if err != nil {
		return Item{Err: err}
	}
	slices.Sort(m.problems)
	return Item{Err: fmt.Errorf("%v: %w", made, m.problems)}
}
