package dynamo_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// moody is a type whose marshaler fails, and says what it was given.
type moody struct{ Text string }

func (m moody) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("cannot marshal " + m.Text)
}

// TestItemsThatCannotBeMadeAreRefused before anything is sent, and each says what is wrong with it.
func TestItemsThatCannotBeMadeAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		item dynamo.Item
		text string
	}{
		"its own error": {dynamo.Item{Err: errors.New("outbox: no topic")}, "outbox: no topic"},
		"no row": {
			dynamo.Put("orders", nil),
			`Put on table "orders": a <nil> becomes a value of type NULL, not an item: pass a struct or a map`,
		},
		"no struct": {
			dynamo.Put("orders", secret),
			`Put on table "orders": a string becomes a value of type S, not an item: pass a struct or a map`,
		},
		"a nil pointer": {
			dynamo.Put("orders", (*order)(nil)),
			`a *dynamo_test.order becomes a value of type NULL, not an item`,
		},
		"a function": {
			dynamo.Put("orders", func() {}),
			`Put on table "orders": a func() is nothing that DynamoDB can keep`,
		},
		"a marshaler that fails": {
			dynamo.Put("orders", struct{ A moody }{moody{secret}}),
			`a struct { A dynamo_test.moody } does not marshal: a marshaler in it returned a *errors.errorString`,
		},
		"a member that does not marshal": {
			dynamo.Put("orders", map[string]any{"a": moody{secret}}),
			`attribute "a": a dynamo_test.moody does not marshal`,
		},
		"a map with odd keys": {
			dynamo.Put("orders", map[struct{}]int{{}: 1}),
			`a map[struct {}]int: marshal failed, map key type not supported`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := tryWrites(sdkDelete("orders", item{"order_id": S("fine")}, terms{}), c.item)
			require.Nil(t, w)
			require.ErrorIs(t, err, idempotent.ErrCommitRefused)
			require.ErrorContains(t, err, "items[1]: ")
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "items[0]")
			requireNoSecret(t, err)
		})
	}
	mine := errors.New("mine")
	_, err := tryWrites(dynamo.Item{Err: mine}, dynamo.Put("orders", nil))
	require.ErrorIs(t, err, mine)
	require.ErrorContains(t, err, "items[0]: mine; items[1]: Put on table", "all at once")
}

func TestACommitTakesNinetyNineItems(t *testing.T) {
	t.Parallel()
	many := func(n int) (items []dynamo.Item) {
		for i := range n {
			items = append(items, dynamo.Put("orders", item{"order_id": S(fmt.Sprint(i))}))
		}
		return items
	}
	for _, n := range []int{0, dynamo.MaxItems} {
		w, err := tryWrites(many(n)...)
		require.NoError(t, err)
		require.Equal(t, n, w.Len())
	}
	_, err := tryWrites(many(100)...)
	require.ErrorIs(t, err, idempotent.ErrCommitRefused)
	require.ErrorContains(t, err, "100 items are more than 99, which is how many a commit takes")
}

func TestConditionsOfAPut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts      []dynamo.ItemOption
		condition string
		names     map[string]string
	}{
		"none": {nil, "", nil},
		"a reserved word": {
			[]dynamo.ItemOption{dynamo.IfAbsent("status")},
			"attribute_not_exists(#attribute1)",
			map[string]string{"#attribute1": "status"},
		},
		"two": {
			[]dynamo.ItemOption{dynamo.IfAbsent("a.b[0]"), dynamo.ReturnOld(), dynamo.IfAbsent("c")},
			"attribute_not_exists(#attribute1) AND attribute_not_exists(#attribute2)",
			map[string]string{"#attribute1": "a.b[0]", "#attribute2": "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			it := dynamo.Put("orders", item{"id": S("1")}, c.opts...)
			require.NoError(t, it.Err)
			require.Equal(t, c.condition, aws.ToString(it.Put.ConditionExpression))
			require.Equal(t, c.names, it.Put.ExpressionAttributeNames)
			require.Nil(t, it.Put.ExpressionAttributeValues)
			require.Equal(t, len(c.opts) == 3,
				it.Put.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld)
		})
	}
}

// TestRowsAreOfTheUsersOwnTypes.
func TestRowsAreOfTheUsersOwnTypes(t *testing.T) {
	t.Parallel()
	want := item{"order_id": S("o-1"), "status": S("new"), "amount": N("5")}
	own := maps.Clone(want)
	for name, row := range map[string]any{
		"a struct":          order{"o-1", "new", 5},
		"a pointer":         &order{"o-1", "new", 5},
		"a map":             map[string]any{"order_id": "o-1", "status": "new", "amount": 5},
		"an item":           own,
		"a map with values": map[string]any{"order_id": S("o-1"), "status": "new", "amount": N("5")},
	} {
		it := dynamo.Put("orders", row)
		require.NoError(t, it.Err, name)
		require.Equal(t, want, it.Put.Item, name)
	}
	it := dynamo.Put("orders", own)
	own["order_id"] = S("o-2")
	require.Equal(t, want, it.Put.Item, "the row was read when the item was made")
}
