package dynamo_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
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

// TestItemsThatCannotBeWrittenAreRefused before anything is sent, and each says what is wrong with it.
func TestItemsThatCannotBeWrittenAreRefused(t *testing.T) {
	t.Parallel()
	one := map[string]any{":v": secret}
	key := item{"order_id": S(secret)}
	tx := func(w types.TransactWriteItem) dynamo.Item { return dynamo.Item{TransactWriteItem: w} }
	for name, c := range map[string]struct {
		item dynamo.Item
		text string
	}{
		"nothing": {dynamo.Item{}, "0 of the fields Put, Update, Delete and ConditionCheck are set, not one"},
		"two things": {
			tx(types.TransactWriteItem{Put: &types.Put{}, Delete: &types.Delete{}}),
			"2 of the fields Put, Update, Delete and ConditionCheck are set, not one",
		},
		"its own error":       {dynamo.Item{Err: errors.New("outbox: no topic")}, "outbox: no topic"},
		"no table":            {dynamo.Put("", order{ID: secret}), `Put on table "": the name of the table is missing`},
		"no table of the SDK": {tx(types.TransactWriteItem{Put: &types.Put{Item: key}}), `Put on table "": the name of the table is missing`},
		"no name":             {dynamo.Put("my table", order{ID: secret}), `Put on table "my table": that is not the name or ARN of a DynamoDB table`},
		"an unknown key":      {dynamo.Put("orders", order{ID: secret}, dynamo.KeyedBy("id")), `Put on table "orders": KeyedBy: the item has no attribute "id"`},
		"a key of no names":   {dynamo.Put("orders", order{ID: secret}, dynamo.KeyedBy()), `KeyedBy: [] are no names of a partition key, or of it and a sort key`},
		"a key of three":      {dynamo.Put("orders", order{ID: secret}, dynamo.KeyedBy("a", "b", "c")), `KeyedBy: ["a" "b" "c"] are no names`},
		"a nameless key":      {dynamo.Put("orders", order{ID: secret}, dynamo.KeyedBy("")), `KeyedBy: [""] are no names`},
		"no row":              {dynamo.Put("orders", nil), `Put on table "orders": row: a <nil> becomes a value of type NULL, not an item: pass a struct or a map`},
		"no struct":           {dynamo.Put("orders", secret), `Put on table "orders": row: a string becomes a value of type S, not an item: pass a struct or a map`},
		"a nil pointer":       {dynamo.Put("orders", (*order)(nil)), `row: a *dynamo_test.order becomes a value of type NULL, not an item`},
		"an empty row":        {dynamo.Put("orders", struct{}{}), `Put on table "orders": the item is missing`},
		"a function":          {dynamo.Put("orders", func() {}), `Put on table "orders": row: a func() is nothing that DynamoDB can keep`},
		"a marshaler that fails": {
			dynamo.Put("orders", struct{ A moody }{moody{secret}}),
			`row: a struct { A dynamo_test.moody } does not marshal: a marshaler in it returned a *errors.errorString`,
		},
		"a map with odd keys": {dynamo.Put("orders", map[struct{}]int{{}: 1}), `row: a map[struct {}]int: marshal failed, map key type not supported`},
		"no key":              {dynamo.Delete("orders", nil), `Delete on table "orders": key: a <nil> becomes a value of type NULL`},
		"an empty key":        {dynamo.Delete("orders", item{}), `Delete on table "orders": the key is missing`},
		"a key of the SDK":    {tx(types.TransactWriteItem{Update: &types.Update{TableName: aws.String("orders"), UpdateExpression: aws.String("SET a = b")}}), `Update on table "orders": the key is missing`},
		"a whole row as key":  {dynamo.Check("orders", order{ID: secret}, dynamo.IfPresent("order_id")), `Check on table "orders": the key has 3 attributes`},
		"a key without text":  {dynamo.Delete("orders", orderKey{}), `Delete on table "orders": the key "order_id" is empty`},
		"a key that is true":  {dynamo.Delete("orders", map[string]bool{"order_id": true}), `the key "order_id" has type BOOL, not S, N or B`},
		"no update":           {dynamo.Update("orders", key, " "), `Update on table "orders": the update expression is empty`},
		"no update of the SDK": {
			tx(types.TransactWriteItem{Update: &types.Update{TableName: aws.String("orders"), Key: key}}),
			`Update on table "orders": the update expression is empty`,
		},
		"nothing to check": {dynamo.Check("orders", key), `Check on table "orders": there is no condition to check`},
		"an empty condition of the SDK": {
			tx(types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("orders"), Key: key, ConditionExpression: aws.String("")}}),
			`Delete on table "orders": the condition expression is empty`,
		},
		"a value that is none": {
			tx(types.TransactWriteItem{Put: &types.Put{TableName: aws.String("orders"), Item: item{"order_id": S(secret), "b": nil}}}),
			`Put on table "orders": "b" has no value, or something in it has none`,
		},
		"a value deep inside that is none": {
			dynamo.Put("orders", item{"a": &types.AttributeValueMemberM{Value: item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{(*types.AttributeValueMemberS)(nil)}}}}}),
			`Put on table "orders": "a" has no value, or something in it has none`,
		},
		"a value of no kind": {dynamo.Put("orders", item{"a": &types.UnknownUnionMember{}}), `"a" has no value, or something in it has none`},
		"too large":          {dynamo.Put("orders", item{"order_id": S(secret), "b": B(strings.Repeat("x", 400<<10))}), `it has 409625 bytes, more than the 409600 of an item`},
		"an empty option":    {dynamo.Put("orders", key, nil), `Put on table "orders": option 1 is nil`},
		"no attribute":       {dynamo.Put("orders", key, dynamo.IfAbsent("")), `Put on table "orders": IfAbsent: the name of the attribute is empty`},
		"no attribute there": {dynamo.Put("orders", key, dynamo.IfPresent("")), `IfPresent: the name of the attribute is empty`},
		"no condition":       {dynamo.Put("orders", key, dynamo.If(" ")), `If: the condition is empty`},
		"a value without a colon": {
			dynamo.Put("orders", key, dynamo.If("a = :v"), dynamo.Values(map[string]any{"v": secret})),
			`Values: "v" is no name of a value, such as ":n"`,
		},
		"only a colon": {dynamo.Put("orders", key, dynamo.If("a = :"), dynamo.Values(map[string]any{":": secret})), `Values: ":" is no name of a value`},
		"a value that does not marshal": {
			dynamo.Put("orders", key, dynamo.If("a = :v"), dynamo.Values(map[string]any{":v": moody{secret}})),
			`Values: :v: a dynamo_test.moody does not marshal: a marshaler in it returned a *errors.errorString`,
		},
		"two values of one name": {
			dynamo.Put("orders", key, dynamo.If("a = :v"), dynamo.Values(one), dynamo.Values(map[string]any{":v": 2})),
			`Values: :v has two values`,
		},
		"a name without a hash": {dynamo.Put("orders", key, dynamo.If("#s = a"), dynamo.Names(map[string]string{"s": "status"})), `Names: "s" is no name that stands for an attribute, such as "#s"`},
		"a name of nothing":     {dynamo.Put("orders", key, dynamo.If("#s = a"), dynamo.Names(map[string]string{"#s": ""})), `Names: #s stands for an attribute without a name`},
		"two attributes of one name": {
			dynamo.Put("orders", key, dynamo.If("#s = a"), dynamo.Names(map[string]string{"#s": "a"}), dynamo.Names(map[string]string{"#s": "b"})),
			`Names: #s stands for two attributes, "a" and "b"`,
		},
		"values for nothing": {dynamo.Put("orders", key, dynamo.Values(one)), `there are Values or Names, but no expression that refers to them`},
		"names for nothing":  {dynamo.Delete("orders", key, dynamo.Names(map[string]string{"#s": "status"})), `there are Values or Names, but no expression that refers to them`},
		"everything": {
			dynamo.Update("", nil, "", dynamo.If(""), dynamo.IfAbsent("")),
			`Update on table "": If: the condition is empty; IfAbsent: the name of the attribute is empty; key: a <nil> becomes`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := tryWrites(dynamo.Delete("orders", item{"order_id": S("fine")}), c.item)
			require.Nil(t, w)
			require.ErrorIs(t, err, idempotent.ErrCommitRefused)
			require.ErrorContains(t, err, "items[1]: ")
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "items[0]")
			requireNoSecret(t, err)
		})
	}
	mine := errors.New("mine")
	_, err := tryWrites(dynamo.Item{Err: mine}, dynamo.Item{})
	require.ErrorIs(t, err, mine)
	require.ErrorContains(t, err, "items[0]: mine; items[1]: 0 of the fields", "all at once")
}

// TestItemsThatNoTransactionTakesTogether are refused before anything is sent.
func TestItemsThatNoTransactionTakesTogether(t *testing.T) {
	t.Parallel()
	many := func(n int) (items []dynamo.Item) {
		for i := range n {
			items = append(items, dynamo.Put("orders", item{"order_id": S(fmt.Sprint(i))}))
		}
		return items
	}
	const place = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	for name, c := range map[string]struct {
		items []dynamo.Item
		text  string // none if it is fine
	}{
		"99":                 {many(99), ""},
		"100":                {many(100), "100 items are more than 99, which is how many a commit takes"},
		"none":               {nil, ""},
		"nearly 4 MB":        {filled(10, 400_000), ""},
		"more than 4 MB":     {filled(11, 400_000), "bytes together, more than the 4194304 of a transaction"},
		"more in an update":  {append(filled(10, 400_000), dynamo.Update("orders", item{"order_id": S("u")}, "SET a = :v", dynamo.Values(map[string]any{":v": strings.Repeat("x", 300_000)}))), "bytes together"},
		"the same key twice": {[]dynamo.Item{dynamo.Delete("orders", orderKey{secret}), dynamo.Update("orders", item{"order_id": S(secret)}, "SET a = b")}, `items[0] (Delete on table "orders") and items[1] (Update on table "orders") are about the same item, of which a transaction takes one write`},
		"a check of what is put": {
			[]dynamo.Item{dynamo.Put("orders", order{ID: secret}), dynamo.Delete("stock", orderKey{secret}), dynamo.Check("orders", orderKey{secret}, dynamo.IfAbsent("order_id"))},
			`items[0] (Put on table "orders") and items[2] (Check on table "orders") are about the same item`,
		},
		"two puts of a table whose key is known": {
			[]dynamo.Item{dynamo.Put("orders", order{ID: secret, Amount: 1}), dynamo.Put("orders", order{ID: secret, Amount: 2}), dynamo.Delete("orders", orderKey{"other"})},
			`items[0] (Put on table "orders") and items[1] (Put on table "orders") are about the same item`,
		},
		"two puts that are the same": {
			[]dynamo.Item{dynamo.Put("orders", order{ID: secret}), dynamo.Put("orders", order{ID: secret}, dynamo.IfAbsent("order_id"))}, "are about the same item",
		},
		"a table by its ARN": {
			[]dynamo.Item{dynamo.Delete(place+"orders", orderKey{secret}), dynamo.Delete("orders", orderKey{secret})}, "are about the same item",
		},
		"puts whose key nobody knows": {[]dynamo.Item{dynamo.Put("lines", order{ID: secret, Amount: 1}), dynamo.Put("lines", order{ID: secret, Amount: 2})}, ""},
		"two puts that tell their key": {
			[]dynamo.Item{
				dynamo.Put("lines", order{ID: secret, Amount: 1}, dynamo.KeyedBy("order_id")),
				dynamo.Put("lines", order{ID: secret, Amount: 2}, dynamo.KeyedBy("order_id")),
			},
			`items[0] (Put on table "lines") and items[1] (Put on table "lines") are about the same item`,
		},
		"a put that tells the key of its table": {
			[]dynamo.Item{dynamo.Put("lines", order{ID: secret, Amount: 1}), dynamo.Put("lines", order{ID: secret, Amount: 2}, dynamo.KeyedBy("order_id"))},
			`items[0] (Put on table "lines") and items[1] (Put on table "lines") are about the same item`,
		},
		"puts that tell a sort key, too": {
			[]dynamo.Item{
				dynamo.Put("lines", order{ID: secret, Amount: 1}, dynamo.KeyedBy("order_id", "amount")),
				dynamo.Put("lines", order{ID: secret, Amount: 2}, dynamo.KeyedBy("order_id", "amount")),
			}, "",
		},
		"puts with another sort key": {
			[]dynamo.Item{
				dynamo.Put("lines", order{ID: secret, Amount: 1}, dynamo.IfAbsent("order_id")), dynamo.Put("lines", order{ID: secret, Amount: 2}, dynamo.IfAbsent("order_id")),
				dynamo.Delete("lines", map[string]any{"order_id": secret, "amount": 3}),
			}, "",
		},
		"the same key in two tables": {[]dynamo.Item{dynamo.Delete("orders", orderKey{secret}), dynamo.Delete("stock", orderKey{secret})}, ""},
		"keys of two types":          {[]dynamo.Item{dynamo.Delete("orders", item{"id": N("1")}), dynamo.Delete("orders", item{"id": S("1")})}, ""},
		"one account and Region":     {[]dynamo.Item{dynamo.Delete(place+"orders", orderKey{"a"}), dynamo.Delete("stock", orderKey{"a"}), dynamo.Delete(place+"lines", orderKey{"a"})}, ""},
		"two accounts": {
			[]dynamo.Item{dynamo.Delete("stock", orderKey{"a"}), dynamo.Delete(place+"orders", orderKey{"a"}), dynamo.Delete(strings.Replace(place, "123456789012", "210987654321", 1)+"lines", orderKey{"a"})},
			`items[1] (Delete on table "` + place + `orders") and items[2] (Delete on table "arn:aws:dynamodb:eu-central-1:210987654321:table/lines") are in different accounts or Regions, which no transaction spans`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := tryWrites(c.items...)
			if c.text == "" {
				require.NoError(t, err)
				require.Equal(t, len(c.items), w.Len())
				return
			}
			require.ErrorIs(t, err, idempotent.ErrCommitRefused)
			require.ErrorContains(t, err, c.text)
			requireNoSecret(t, err)
		})
	}
}

// filled are items of this size each, about.
func filled(n, size int) (items []dynamo.Item) {
	for i := range n {
		items = append(items, dynamo.Put("orders", map[string]any{"order_id": fmt.Sprint(i), "text": strings.Repeat("x", size)}))
	}
	return items
}

// TestExpressionsOfItems: what the options add does not collide with what the user has named.
func TestExpressionsOfItems(t *testing.T) {
	t.Parallel()
	key := item{"id": S("1")}
	for name, c := range map[string]struct {
		opts      []dynamo.ItemOption
		update    string
		condition string
		names     map[string]string
	}{
		"none":            {nil, "SET a = b", "", nil},
		"a reserved word": {[]dynamo.ItemOption{dynamo.IfAbsent("status")}, "SET a = b", "attribute_not_exists(#attribute1)", map[string]string{"#attribute1": "status"}},
		"a name with dots": {
			[]dynamo.ItemOption{dynamo.IfPresent("a.b[0]")},
			"SET a = b", "attribute_exists(#attribute1)",
			map[string]string{"#attribute1": "a.b[0]"},
		},
		"one attribute twice": {
			[]dynamo.ItemOption{dynamo.IfPresent("a"), dynamo.IfAbsent("a")},
			"SET a = b",
			"attribute_exists(#attribute1) AND attribute_not_exists(#attribute1)",
			map[string]string{"#attribute1": "a"},
		},
		"a name that is taken": {
			[]dynamo.ItemOption{dynamo.IfPresent("a"), dynamo.IfPresent("c"), dynamo.Names(map[string]string{"#attribute1": "b"})},
			"SET #attribute1 = b",
			"attribute_exists(#attribute2) AND attribute_exists(#attribute3)",
			map[string]string{"#attribute1": "b", "#attribute2": "a", "#attribute3": "c"},
		},
		"a name that somebody forgot": {
			[]dynamo.ItemOption{dynamo.IfPresent("a"), dynamo.If("#attribute2 = b")},
			"SET #attribute1 = b",
			"attribute_exists(#attribute3) AND (#attribute2 = b)",
			map[string]string{"#attribute3": "a"},
		},
		"one condition":  {[]dynamo.ItemOption{dynamo.If("a = b OR c = d")}, "SET a = b", "a = b OR c = d", nil},
		"two conditions": {[]dynamo.ItemOption{dynamo.If("a = b OR c = d"), dynamo.If("(e = f OR g = h) ")}, "SET a = b", "(a = b OR c = d) AND (e = f OR g = h)", nil},
		"parentheses at both ends": {
			[]dynamo.ItemOption{dynamo.If("(a = b) OR (c = d)"), dynamo.If("size(a) < size(b)")},
			"SET a = b",
			"((a = b) OR (c = d)) AND (size(a) < size(b))", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			it := dynamo.Update("orders", key, c.update, c.opts...)
			require.NoError(t, it.Err)
			require.Equal(t, c.condition, aws.ToString(it.Update.ConditionExpression))
			require.Equal(t, c.names, it.Update.ExpressionAttributeNames)
			require.Nil(t, it.Update.ExpressionAttributeValues)
			require.Equal(t, c.update, *it.Update.UpdateExpression)
		})
	}
	again := map[string]any{":v": 1}
	it := dynamo.Delete("orders", key, dynamo.If("a = :v"), dynamo.Values(again), dynamo.Values(maps.Clone(again)), dynamo.ReturnOld())
	require.NoError(t, it.Err, "the same value twice is one")
	require.Equal(t, item{":v": N("1")}, it.Delete.ExpressionAttributeValues)
	require.Equal(t, types.ReturnValuesOnConditionCheckFailureAllOld, it.Delete.ReturnValuesOnConditionCheckFailure)
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
