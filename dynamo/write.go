package dynamo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The kinds of writes, as their constructors are called.
const (
	kindPut    = "Put"
	kindUpdate = "Update"
	kindDelete = "Delete"
	kindCheck  = "Check"
)

// write is what the four kinds of writes have in common.
type write struct {
	kind  string
	table *string
	// row is the whole item of a Put, key that of each other one.
	row, key item
	// rowKey is what of a row is its key, nil if that is not known.
	rowKey            item
	condition, update *string
	names             map[string]string
	values            item
	returns           types.ReturnValuesOnConditionCheckFailure
}

// writeOf reads a write of the SDK.
func writeOf(w types.TransactWriteItem) (of write, err error) {
	set := 0
	if p := w.Put; p != nil {
		set++
		of = write{
			kind: kindPut, table: p.TableName, row: p.Item, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, returns: p.ReturnValuesOnConditionCheckFailure,
		}
	}
	if u := w.Update; u != nil {
		set++
		of = write{
			kind: kindUpdate, table: u.TableName, key: u.Key, condition: u.ConditionExpression, update: u.UpdateExpression,
			names: u.ExpressionAttributeNames, values: u.ExpressionAttributeValues, returns: u.ReturnValuesOnConditionCheckFailure,
		}
	}
	if d := w.Delete; d != nil {
		set++
		of = write{
			kind: kindDelete, table: d.TableName, key: d.Key, condition: d.ConditionExpression,
			names: d.ExpressionAttributeNames, values: d.ExpressionAttributeValues, returns: d.ReturnValuesOnConditionCheckFailure,
		}
	}
	if c := w.ConditionCheck; c != nil {
		set++
		of = write{
			kind: kindCheck, table: c.TableName, key: c.Key, condition: c.ConditionExpression,
			names: c.ExpressionAttributeNames, values: c.ExpressionAttributeValues, returns: c.ReturnValuesOnConditionCheckFailure,
		}
	}
	if set != 1 {
		return write{}, fmt.Errorf("%d of the fields Put, Update, Delete and ConditionCheck are set, not one", set)
	}
	return of, nil
}

// String says what the write is, without anything that it writes.
func (w write) String() string {
	if w.kind == "" {
		w.kind = "a write"
	}
	return fmt.Sprintf("%s on table %q", w.kind, aws.ToString(w.table))
}

// at says which item of the call it is.
func (w write) at(index int) string { return fmt.Sprintf("items[%d] (%v)", index, w) }

// check finds what is wrong with the write as it is.
func (w write) check() error {
	var problems sentences
	if table := aws.ToString(w.table); table == "" {
		problems = append(problems, "the name of the table is missing")
	} else if !isTable(table) {
		problems = append(problems, "that is not the name or ARN of a DynamoDB table")
	}
	problems = append(problems, w.checkKey()...)
	switch {
	case w.kind == kindCheck && blank(w.condition):
		problems = append(problems, "there is no condition to check")
	case w.kind == kindUpdate && blank(w.update):
		problems = append(problems, "the update expression is empty")
	case w.condition != nil && blank(w.condition):
		problems = append(problems, "the condition expression is empty")
	}
	for _, attributes := range []item{w.row, w.key, w.values} {
		for name, v := range attributes {
			if !complete(v) {
				problems = append(problems, fmt.Sprintf("%q has no value, or something in it has none", name))
			}
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return problems
	}
	if size := sizeOf(w.row); size > maxItem {
		return fmt.Errorf("it has %d bytes, more than the %d of an item", size, maxItem)
	}
	return nil
}

func (w write) checkKey() (problems sentences) {
	switch {
	case w.kind == kindPut && len(w.row) == 0:
		return sentences{"the item is missing"}
	case w.kind == kindPut:
		return nil
	case len(w.key) == 0:
		return sentences{"the key is missing"}
	case len(w.key) > 2:
		return sentences{fmt.Sprintf("the key has %d attributes: it is the partition key, and the sort key where the table has one", len(w.key))}
	}
	for name, v := range w.key {
		switch v := v.(type) {
		case *types.AttributeValueMemberN, *types.AttributeValueMemberB, nil:
		case *types.AttributeValueMemberS:
			if v != nil && v.Value == "" {
				problems = append(problems, fmt.Sprintf("the key %q is empty", name))
			}
		default:
			problems = append(problems, fmt.Sprintf("the key %q has type %s, not S, N or B", name, typeName(v)))
		}
	}
	return problems
}

func blank(expression *string) bool { return strings.TrimSpace(aws.ToString(expression)) == "" }

// sentences are what is wrong with something, all at once.
type sentences []string

func (s sentences) Error() string { return strings.Join(s, "; ") }

// itemErrors are what is wrong with items.
type itemErrors []error

func (e itemErrors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e itemErrors) Unwrap() []error { return e }
