package dynamo_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

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
		sdkCheck(orders, orderKey{"missing"}, terms{when: []string{"attribute_exists(order_id)"}, showOld: true}),
		sdkUpdate(orders, orderKey{"missing-2"}, "SET amount = :n",
			terms{when: []string{"amount = :n"}, values: map[string]any{":n": 1}}),
	)
	olds := []item{there, nil, nil}
	text := `dynamo: nothing was written: the conditions of items[1] (Put on table "` + orders +
		`") and items[2] (Check on table "` + orders +
		`") and items[3] (Update on table "` + orders + `") do not hold`
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

// TestARejectedWriteIsNamed where the answer, or the SDK, names it.
func TestARejectedWriteIsNamed(t *testing.T) {
	t.Parallel()
	for message, named := range map[string]string{
		"1 validation error detected: Value at 'transactItems.2.member.update.tableName' is bad": "items[1] (Update",
		"invalid input, TransactItems[0].Put.TableName":                                          "items[0] (Put",
		"Value at 'transactItems.3.member.put' is bad":                                           "",
		"Value at 'transactItems.0.member.put' is bad":                                           "",
		"something that nobody has seen":                                                         "",
	} {
		s, _ := scripted(rejection("ValidationException", message))
		err := s.Apply(t.Context(), twoRows(t), "token-1")
		requireStoreError(t, err, "apply", store.FailureRejected, true)
		require.NotContains(t, err.Error(), "another key")
		if named == "" {
			require.NotContains(t, err.Error(), "items[")
		} else {
			require.ErrorContains(t, err, named)
		}
	}
}

// TestARejectedItemSaysWhy on DynamoDB Local: a newcomer finds the mistake, and no value is quoted.
func TestARejectedItemSaysWhy(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	orders := ordersTable(t, client)
	putItem(t, client, orders, item{"order_id": S("text"), "amount": S(secret)})
	key := orderKey{secret}
	with := func(values map[string]any, when ...string) terms { return terms{values: values, when: when} }
	value := with(map[string]any{":n": secret})
	one := with(map[string]any{":n": 1})
	another := map[string]string{"id": secret}
	large := with(map[string]any{":v": strings.Repeat("x", 300_000), ":w": strings.Repeat("y", 200_000)})
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

// TestWhatACommitAdds to the transaction of the user is one item, the update of the record:
// DynamoDB bills two write units for every KB of each item of a transaction, so it costs what a
// completion costs, twice.
func TestWhatACommitAdds(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 2, 99} {
		s, tr := scripted(done)
		items := make([]dynamo.Item, rows)
		for i := range items {
			items[i] = dynamo.Put("orders", map[string]any{"order_id": i})
		}
		seen, w := record("order#1"), writesOf(t, items...)
		mustCommit(t, s, seen, committed(seen, []byte(`{"id":"o-1"}`)), w, rand.Text())
		var sent struct {
			TransactItems []map[string]struct{ TableName string }
		}
		require.Len(t, tr.requests, 1)
		require.NoError(t, json.Unmarshal(tr.requests[0].Body, &sent))
		require.Len(t, sent.TransactItems, 1+rows)
		require.Equal(t, table, sent.TransactItems[0]["Update"].TableName)
		for _, it := range sent.TransactItems[1:] {
			require.Equal(t, "orders", it["Put"].TableName)
		}
	}
}

// TestTheRequestOfACommit is that of a completion, with the rows behind it.
func TestTheRequestOfACommit(t *testing.T) {
	t.Parallel()
	s, tr := scripted(done)
	w := writesOf(t,
		dynamo.Put("orders", order{"o-1", "new", 5}, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()),
		sdkUpdate("stock", item{"sku": S("A-1")}, "SET stock = stock - :n",
			terms{when: []string{"stock >= :n"}, values: map[string]any{":n": 1}}),
		sdkDelete("carts", item{"id": S("c-1")}, terms{}),
		sdkCheck("customers", item{"id": S("u-1")}, terms{when: []string{"attribute_exists(id)"}}))
	seen := record("order#1")
	next := committed(seen, []byte(`{"id":"o-1"}`))
	seen.Steps, seen.StepWrites = steps{"reserve": stepValue(seen.Owner, `{"id":"r_1"}`)}, store.AnyStepWrites
	_, _, err := s.Commit(t.Context(), seen, next, w, "token-1")
	require.NoError(t, err)
	golden(t, "commit", tr.requests)
}
