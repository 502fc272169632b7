package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// order is a row as a user has it.
type order struct {
	ID     string `dynamodbav:"order_id"`
	Status string `dynamodbav:"status"`
	Amount int    `dynamodbav:"amount"`
}

type orderKey struct {
	ID string `dynamodbav:"order_id"`
}

// taker is the hook of a delivery that keeps the writes of a commit.
type taker struct{ writes store.Writes }

func (h *taker) Commit(_ context.Context, _ any, w store.Writes, unfit error) error {
	if unfit != nil {
		return &execution.Fault{Kind: execution.ErrCommitRefused, Err: unfit}
	}
	h.writes = w
	return nil
}

// writesOf returns what a commit makes of items.
func writesOf(t testing.TB, items ...dynamo.Item) store.Writes {
	t.Helper()
	w, err := tryWrites(items...)
	require.NoError(t, err)
	return w
}

func tryWrites(items ...dynamo.Item) (store.Writes, error) {
	var h taker
	ctx := execution.With(context.Background(), execution.Claim{Operation: "order", RecordKey: "order#1", Commits: &h})
	_, err := dynamo.Commit(ctx, "out", items...)
	return h.writes, err
}

// committed is the record as it is completed with writes.
func committed(r store.Record, result []byte) store.Record {
	r = completion(r, result)
	r.Seal = store.CommitSeal(r.Owner, result, 1)
	return r
}

// ordersTable makes a table of orders, with the partition key order_id.
func ordersTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	return keyedTable(t, client, "dynamo-test-orders-"+rand.Text(), "order_id")
}

// keyedTable makes a table with a partition key, a text.
func keyedTable(t *testing.T, client *dynamodb.Client, name, key string) string {
	t.Helper()
	makeTable(t, client, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(key), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String(key), KeyType: types.KeyTypeHash}},
	}, "")
	return name
}

func getOrder(t *testing.T, client *dynamodb.Client, table, id string) item {
	t.Helper()
	return getByKey(t, client, table, item{"order_id": S(id)})
}

func TestConditionsThatDoNotHoldAreNamed(t *testing.T) {
	t.Parallel()
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	there := item{"order_id": S(secret), "amount": N("1")}
	putItem(t, client, orders, there)
	w := writesOf(t,
		dynamo.Put(orders, order{ID: "o-1"}),
		dynamo.Put(orders, order{ID: secret}, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()),
		sdkCheck(orders, orderKey{"missing"}, terms{when: "attribute_exists(order_id)", showOld: true}),
		sdkUpdate(orders, orderKey{"missing-2"}, "SET amount = :n",
			terms{when: "amount = :n", values: map[string]any{":n": 1}}),
		sdkDelete(orders, orderKey{"missing-3"}, terms{when: "attribute_exists(order_id)"}),
	)
	olds := []item{there, nil, nil, nil}
	text := `dynamo: nothing was written: the conditions of items[1] (Put on table "` + orders +
		`") and items[2] (Check on table "` + orders +
		`") and items[3] (Update on table "` + orders + `") and items[4] (Delete on table "` + orders + `") do not hold`
	requireRefused := func(t *testing.T, err error, op string) {
		t.Helper()
		requireStoreError(t, err, op, store.FailureRejected, true)
		require.ErrorIs(t, err, store.ErrWritesRefused)
		require.NotErrorIs(t, err, store.ErrNoCommit)
		var ce *dynamo.ConditionError
		require.ErrorAs(t, err, &ce)
		require.Equal(t, text, ce.Error())
		requireNoSecret(t, err)
		require.Len(t, ce.Refused, len(olds))
		for i, r := range ce.Refused {
			require.Equal(t, 1+i, r.Index)
			require.Equal(t, orders, r.Table)
			require.Equal(t, olds[i], r.Old)
		}
		require.Empty(t, getOrder(t, client, orders, "o-1"))
	}
	seen := claims(t, s, record("order#1"))
	held, done, err := s.Commit(t.Context(), seen, committed(seen, []byte(`2`)), w, rand.Text())
	require.False(t, done)
	require.Zero(t, held)
	requireRefused(t, err, "commit")
	requireHeld(t, s, seen)
	requireRefused(t, s.Apply(t.Context(), w, rand.Text()), "apply")
}

func TestApplyWritesTheRowsAlone(t *testing.T) {
	t.Parallel()
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	token := rand.Text()
	require.NoError(t, s.Apply(t.Context(), writesOf(t), token), "nothing to write")
	w := writesOf(t, dynamo.Put(orders, order{ID: "o-1"}, dynamo.IfAbsent("order_id")))
	require.NoError(t, s.Apply(t.Context(), w, token))
	require.NotEmpty(t, getOrder(t, client, orders, "o-1"))
	require.NoError(t, s.Apply(t.Context(), w, token), "the same call again")
	require.ErrorIs(t, s.Apply(t.Context(), w, rand.Text()), store.ErrWritesRefused)
}

// TestARejectedItemSaysWhy on DynamoDB Local: a newcomer finds the mistake, and no value is quoted.
func TestARejectedItemSaysWhy(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	orders := ordersTable(t, client)
	putItem(t, client, orders, item{"order_id": S("text"), "amount": S(secret)})
	key := orderKey{secret}
	with := func(values map[string]any, when string) terms { return terms{values: values, when: when} }
	value := terms{values: map[string]any{":n": secret}}
	one := terms{values: map[string]any{":n": 1}}
	another := map[string]string{"id": secret}
	large := terms{values: map[string]any{":v": strings.Repeat("x", 300_000), ":w": strings.Repeat("y", 200_000)}}
	noTable := dynamo.Put("", order{ID: secret})
	noTable.Put.TableName = nil
	of := func(items ...dynamo.Item) []dynamo.Item { return items }
	for name, c := range map[string]struct {
		items []dynamo.Item
		kind  store.Failure
		text  string
	}{
		"a reserved word": {
			of(sdkUpdate(orders, key, "SET status = :n", value)), store.FailureRejected, "reserved keyword: status",
		},
		"bad syntax":    {of(sdkDelete(orders, key, with(nil, "amount >= "))), store.FailureRejected, "Syntax error"},
		"no such value": {of(sdkDelete(orders, key, with(nil, "amount >= :n"))), store.FailureRejected, "value: :n"},
		"no such name":  {of(sdkDelete(orders, key, with(nil, "#a = amount"))), store.FailureRejected, "name: #a"},
		"a value too many": {
			of(sdkDelete(orders, key, with(map[string]any{":m": 1, ":n": secret}, "amount = :m"))),
			store.FailureRejected, "unused in expressions: keys: {:n}",
		},
		"a part of the key": {
			of(sdkUpdate(orders, key, "SET order_id = :n", value)),
			store.FailureRejected, "Cannot update attribute order_id. This attribute is part of the key",
		},
		"another key": {
			of(sdkDelete(orders, another, terms{})), store.FailureRejected, "has another key than the items for it",
		},
		"a row without a key": {
			of(dynamo.Put(orders, another)), store.FailureRejected, "has another key than the items for it",
		},
		"the wrong type": {
			of(sdkUpdate(orders, orderKey{"text"}, "SET amount = amount + :n", one)),
			store.FailureRejected, "incorrect data type",
		},
		"an absent attribute": {
			of(sdkUpdate(orders, key, "SET amount = amount + :n", one)),
			store.FailureRejected, "attribute that does not exist in the item",
		},
		"a range": {
			of(sdkDelete(orders, key, with(map[string]any{":m": "3", ":n": secret}, "amount BETWEEN :n AND :m"))),
			store.FailureRejected, "ValidationException: (message withheld)",
		},
		"twice": {
			of(dynamo.Put(orders, order{ID: secret}), dynamo.Put(orders, order{ID: secret, Amount: 1})),
			store.FailureRejected, "two of the items are one and the same in their table",
		},
		"itself": {
			of(sdkDelete(table, item{"id": S("order#itself")}, terms{})),
			store.FailureRejected, "or one is the record itself",
		},
		"no table": { // the SDK sends no such item
			of(dynamo.Put(orders, order{ID: "o-1"}), noTable), store.FailureRejected, `items[1] (Put on table ""): `,
		},
		"a missing table": {
			of(dynamo.Put("dynamo-test-missing", order{ID: secret})),
			store.FailureMissingTable, `"dynamo-test-missing"`,
		},
		"too large": {
			of(dynamo.Put(orders, order{ID: "grows"}),
				sdkUpdate(orders, orderKey{"text"}, "SET a = :v, b = :w", large)),
			store.FailureTooLarge, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := claims(t, s, record("order#"+name))
			next, w := committed(seen, []byte(`1`)), writesOf(t, c.items...)
			_, done, err := s.Commit(t.Context(), seen, next, w, rand.Text())
			require.False(t, done)
			requireStoreError(t, err, "commit", c.kind, true)
			require.ErrorContains(t, err, c.text)
			requireNoSecret(t, err)
			requireHeld(t, s, seen)
			require.Empty(t, getOrder(t, client, orders, "grows"))
		})
	}
}

// TestTheRequestOfACommit is that of a completion, with the rows behind it: what is added to the
// transaction of the user is one item, the update of the record. TestCostsOfCommits counts it.
func TestTheRequestOfACommit(t *testing.T) {
	t.Parallel()
	s, tr := scripted(done)
	w := writesOf(t,
		dynamo.Put("orders", order{"o-1", "new", 5}, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()),
		sdkUpdate("stock", item{"sku": S("A-1")}, "SET stock = stock - :n",
			terms{when: "stock >= :n", values: map[string]any{":n": 1}}),
		sdkDelete("carts", item{"id": S("c-1")}, terms{}),
		sdkCheck("customers", item{"id": S("u-1")}, terms{when: "attribute_exists(id)"}))
	seen := record("order#1")
	next := committed(seen, []byte(`{"id":"o-1"}`))
	seen.Steps, seen.StepWrites = steps{"reserve": stepValue(seen.Owner, `{"id":"r_1"}`)}, store.AnyStepWrites
	_, _, err := s.Commit(t.Context(), seen, next, w, "token-1")
	require.NoError(t, err)
	golden(t, "commit", tr.requests)
}

// terms are what a write of the SDK is given: its condition, and what its expressions refer to.
type terms struct {
	when    string
	values  map[string]any
	showOld bool
}

func (x terms) condition() *string {
	if x.when == "" {
		return nil
	}
	return &x.when
}

func (x terms) returns() types.ReturnValuesOnConditionCheckFailure {
	if x.showOld {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return ""
}

func (x terms) items() item {
	if len(x.values) == 0 {
		return nil
	}
	return marshalled(x.values)
}

// marshalled returns the attributes of a key or of values.
func marshalled(v any) item {
	if it, is := v.(item); is {
		return it
	}
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		panic(err)
	}
	return it
}

func sdkUpdate(table string, key any, update string, x terms) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(table), Key: marshalled(key), UpdateExpression: aws.String(update),
		ConditionExpression: x.condition(), ExpressionAttributeValues: x.items(),
		ReturnValuesOnConditionCheckFailure: x.returns(),
	}}}
}

func sdkDelete(table string, key any, x terms) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{Delete: &types.Delete{
		TableName: aws.String(table), Key: marshalled(key), ConditionExpression: x.condition(),
		ExpressionAttributeValues: x.items(), ReturnValuesOnConditionCheckFailure: x.returns(),
	}}}
}

func sdkCheck(table string, key any, x terms) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: aws.String(table), Key: marshalled(key), ConditionExpression: x.condition(),
		ExpressionAttributeValues: x.items(), ReturnValuesOnConditionCheckFailure: x.returns(),
	}}}
}

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
	for _, n := range []int{0, 99} {
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
		opts      []func(*types.Put)
		condition string
		names     map[string]string
	}{
		"none": {nil, "", nil},
		"a reserved word": {
			[]func(*types.Put){dynamo.IfAbsent("status")},
			"attribute_not_exists(#attribute1)",
			map[string]string{"#attribute1": "status"},
		},
		"two": {
			[]func(*types.Put){dynamo.IfAbsent("a.b[0]"), dynamo.ReturnOld(), dynamo.IfAbsent("c")},
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
