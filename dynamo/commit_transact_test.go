package dynamo_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

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
	in := &dynamodb.CreateTableInput{
		TableName: aws.String("dynamo-test-orders-" + rand.Text()), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{
			AttributeName: aws.String("order_id"),
			AttributeType: types.ScalarAttributeTypeS,
		}},
		KeySchema: []types.KeySchemaElement{{
			AttributeName: aws.String("order_id"),
			KeyType:       types.KeyTypeHash,
		}},
	}
	makeTable(t, client, in, "")
	return *in.TableName
}

func getOrder(t *testing.T, client *dynamodb.Client, table, id string) item {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(table), Key: item{"order_id": S(id)}, ConsistentRead: aws.Bool(true),
	})
	require.NoError(t, err)
	return out.Item
}

// claimed puts a record in progress into the store.
func claimedRecord(t *testing.T, s *dynamo.Store, key string) store.Record {
	t.Helper()
	r := record(key)
	mustClaim(t, s, r, claimTime)
	return r
}

func requireHeld(t *testing.T, s *dynamo.Store, want store.Record) {
	t.Helper()
	got := mustGet(t, s, want.Key)
	require.Equal(t, want, got)
}

func TestACommitWritesTheAnswerAndTheRows(t *testing.T) {
	t.Parallel()
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	putItem(t, client, orders, item{"order_id": S("stock"), "status": S("open"), "amount": N("3")})
	putItem(t, client, orders, item{"order_id": S("gone"), "status": S("old")})
	putItem(t, client, orders, item{"order_id": S("customer"), "status": S("good")})

	seen := claimedRecord(t, s, "order#1")
	w := writesOf(t,
		dynamo.Put(orders, order{"o-1", "new", 5}, dynamo.IfAbsent("order_id")),
		sdkUpdate(orders, orderKey{"stock"}, "SET amount = amount - :n, #s = :s", terms{
			when: []string{"amount >= :n"}, names: map[string]string{"#s": "status"},
			values: map[string]any{":n": 2, ":s": "less"},
		}),
		sdkDelete(orders, map[string]string{"order_id": "gone"}, terms{
			when: []string{"#s = :s"}, names: map[string]string{"#s": "status"}, values: map[string]any{":s": "old"},
		}),
		sdkCheck(orders, item{"order_id": S("customer")}, terms{when: []string{"attribute_not_exists(amount)"}}),
		dynamo.Item{TransactWriteItem: types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(orders), Item: item{"order_id": S("sdk")},
			ConditionExpression: aws.String("attribute_not_exists(order_id)"),
		}}},
	)
	next, token := committed(seen, []byte(`{"id":"o-1"}`)), rand.Text()
	mustCommit(t, s, seen, next, w, token)
	requireHeld(t, s, next)
	require.Equal(t, item{"order_id": S("o-1"), "status": S("new"), "amount": N("5")},
		getOrder(t, client, orders, "o-1"))
	require.Equal(t, item{"order_id": S("stock"), "status": S("less"), "amount": N("1")},
		getOrder(t, client, orders, "stock"))
	require.Empty(t, getOrder(t, client, orders, "gone"))
	require.NotEmpty(t, getOrder(t, client, orders, "sdk"))

	// DynamoDB recognises the token; afterwards the record tells.
	mustCommit(t, s, seen, next, w, token)
	held, done, err := s.Commit(t.Context(), seen, next, w, rand.Text())
	require.NoError(t, err)
	require.False(t, done)
	require.Equal(t, next, held)
}

// TestACommitOfARecordThatIsAnother writes nothing, whatever the conditions of the rows say.
func TestACommitOfARecordThatIsAnother(t *testing.T) {
	t.Parallel()
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	for name, becomes := range map[string]func(store.Record) store.Record{
		"another owner": func(r store.Record) store.Record { r.Owner = "owner-2"; return r },
		"a later lease": func(r store.Record) store.Record { r.Lease = r.Lease.Add(time.Millisecond); return r },
		"UNKNOWN":       func(r store.Record) store.Record { r.Status = store.StatusUnknown; return r },
		"released":      func(r store.Record) store.Record { r.Reason = store.ReasonReleased; return r },
		"completed":     func(r store.Record) store.Record { return completion(r, []byte(`1`)) },
		"steps more":    func(r store.Record) store.Record { r.StepWrites = 7; return r },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := record("order#" + name)
			held := becomes(seen)
			mustClaim(t, s, held, claimTime)
			w := writesOf(t, dynamo.Put(orders, order{ID: name}),
				sdkCheck(orders, orderKey{"none"}, terms{when: []string{"attribute_exists(order_id)"}}))
			got, done, err := s.Commit(t.Context(), seen, committed(seen, []byte(`2`)), w, rand.Text())
			require.NoError(t, err)
			require.False(t, done)
			require.Equal(t, held, got)
			require.Empty(t, getOrder(t, client, orders, name))
		})
	}
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		seen := record("order#gone")
		w := writesOf(t, dynamo.Put(orders, order{ID: "gone"}))
		got, done, err := s.Commit(t.Context(), seen, committed(seen, []byte(`2`)), w, rand.Text())
		require.NoError(t, err)
		require.False(t, done)
		require.Zero(t, got)
		require.Empty(t, getOrder(t, client, orders, "gone"))
	})
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
	refused := []dynamo.RefusedItem{
		{Index: 1, Table: orders, Old: there},
		{Index: 2, Table: orders},
		{Index: 3, Table: orders},
	}
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
		for i, r := range ce.Refused {
			require.Equal(t, refused[i].Index, r.Index)
			require.Equal(t, refused[i].Table, r.Table)
			require.Equal(t, refused[i].Old, r.Old)
		}
		require.Len(t, ce.Refused, len(refused))
		require.Empty(t, getOrder(t, client, orders, "o-1"))
	}
	seen := claimedRecord(t, s, "order#1")
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

// TestCommitsOfEveryShape: names of attributes, the key, the layout and the size of the answer make
// no difference.
func TestCommitsOfEveryShape(t *testing.T) {
	t.Parallel()
	for shape, opts := range map[string][]dynamo.Config{"default": nil, "another shape": shaped()} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			client, table := newTableOf(t, opts...)
			s := dynamo.New(client, table, opts...)
			orders := ordersTable(t, client)
			for name, change := range map[string]func(*store.Record){
				"small":  func(*store.Record) {},
				"large":  func(r *store.Record) { r.Result = largeAnswer(1 << 20) },
				"text":   func(r *store.Record) { r.Layout = store.LayoutText },
				"value":  func(r *store.Record) { r.Layout = store.LayoutValue },
				"binary": func(r *store.Record) { r.Result = []byte("\"\xff\"") },
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					seen := claimedRecord(t, s, "order#"+name)
					stepped := seen
					stepped.Steps = steps{"reserve": stepValue(seen.Owner, `{"id":"r_1"}`)}
					mustSwap(t, s, seen, stepped)
					seen.Steps, seen.StepWrites = stepped.Steps, 1
					w := writesOf(t, dynamo.Put(orders, order{ID: name}))
					next := seen
					next.Result = []byte(`{"id":"o-1"}`)
					change(&next)
					next = committed(next, next.Result)
					next.Steps, next.StepWrites, next.CompletedAt = nil, 0, claimTime.UTC()
					mustCommit(t, s, seen, next, w, rand.Text())
					require.NotEmpty(t, getOrder(t, client, orders, name))
					got, _, err := s.Get(t.Context(), next.Key)
					require.NoError(t, err)
					if got.Parts != "" {
						got.Result, err = s.ReadResult(t.Context(), got)
						require.NoError(t, err)
						got.Parts = ""
					}
					require.Equal(t, next, got)
				})
			}
		})
	}
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
		s, _ := scripted(failure(http.StatusBadRequest, "ValidationException", message))
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
	for name, c := range map[string]struct {
		item dynamo.Item
		text string
	}{
		"a reserved word": {sdkUpdate(orders, key, "SET status = :n", value), "reserved keyword: status"},
		"bad syntax":      {sdkDelete(orders, key, with(nil, "amount >= ")), "Syntax error"},
		"no such value":   {sdkDelete(orders, key, with(nil, "amount >= :n")), "attribute value: :n"},
		"no such name":    {sdkDelete(orders, key, with(nil, "#a = amount")), "attribute name: #a"},
		"a value too many": {
			sdkDelete(orders, key, with(map[string]any{":m": 1, ":n": secret}, "amount = :m")),
			"unused in expressions: keys: {:n}",
		},
		"a part of the key": {
			sdkUpdate(orders, key, "SET order_id = :n", value),
			"Cannot update attribute order_id. This attribute is part of the key",
		},
		"another key": {
			sdkDelete(orders, map[string]string{"id": secret}, terms{}),
			"has another key than the items for it",
		},
		"a row without a key": {
			dynamo.Put(orders, map[string]string{"id": secret}),
			"has another key than the items for it",
		},
		"the wrong type": {sdkUpdate(orders, orderKey{"text"}, "SET amount = amount + :n",
			with(map[string]any{":n": 1})), "incorrect data type"},
		"an absent attribute": {
			sdkUpdate(orders, key, "SET amount = amount + :n", with(map[string]any{":n": 1})),
			"attribute that does not exist in the item",
		},
		"a range": {
			sdkDelete(orders, key, with(map[string]any{":m": "3", ":n": secret}, "amount BETWEEN :n AND :m")),
			"ValidationException: (message withheld)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, w := claimedRecord(t, s, "order#"+name), writesOf(t, c.item)
			_, done, err := s.Commit(t.Context(), seen, committed(seen, []byte(`1`)), w, rand.Text())
			require.False(t, done)
			requireStoreError(t, err, "commit", store.FailureRejected, true)
			require.ErrorContains(t, err, c.text)
			requireNoSecret(t, err)
			requireHeld(t, s, seen)
		})
	}
	seen, w := claimedRecord(t, s, "order#twice"),
		writesOf(t, dynamo.Put(orders, order{ID: secret}), dynamo.Put(orders, order{ID: secret, Amount: 1}))
	_, _, err := s.Commit(t.Context(), seen, committed(seen, []byte(`1`)), w, rand.Text())
	requireStoreError(t, err, "commit", store.FailureRejected, true)
	require.ErrorContains(t, err, "two of the items are one and the same in their table")
	requireNoSecret(t, err)

	seen, w = claimedRecord(t, s, "order#itself"), writesOf(t, sdkDelete(table, item{"id": S("order#itself")}, terms{}))
	_, _, err = s.Commit(t.Context(), seen, committed(seen, []byte(`1`)), w, rand.Text())
	requireStoreError(t, err, "commit", store.FailureRejected, true)
	require.ErrorContains(t, err, "or one is the record itself")
	requireHeld(t, s, seen)

	seen, w = claimedRecord(t, s, "order#nowhere"),
		writesOf(t, dynamo.Put(orders, order{ID: "o-1"}), dynamo.Item{TransactWriteItem: types.TransactWriteItem{
			Put: &types.Put{Item: item{"order_id": S(secret)}},
		}})
	_, _, err = s.Commit(t.Context(), seen, committed(seen, []byte(`1`)), w, rand.Text())
	requireStoreError(t, err, "commit", store.FailureRejected, true)
	require.ErrorContains(t, err, `items[1] (Put on table ""): `, "the SDK sends no such item")
	requireNoSecret(t, err)

	w = writesOf(t, dynamo.Put("dynamo-test-missing", order{ID: secret}))
	_, _, err = s.Commit(t.Context(), seen, committed(seen, []byte(`1`)), w, rand.Text())
	requireStoreError(t, err, "commit", store.FailureMissingTable, true)
	require.ErrorContains(t, err, `"dynamo-test-missing"`)

	w = writesOf(t, dynamo.Put(orders, order{ID: "grows"}), sdkUpdate(orders, orderKey{"text"}, "SET a = :v, b = :w",
		with(map[string]any{":v": strings.Repeat("x", 300_000), ":w": strings.Repeat("y", 200_000)})))
	_, _, err = s.Commit(t.Context(), seen, committed(seen, []byte(`1`)), w, rand.Text())
	requireStoreError(t, err, "commit", store.FailureTooLarge, true)
	require.Empty(t, getOrder(t, client, orders, "grows"))
}

// TestWhatACommitAdds to the transaction of the user is one item, the update of the record:
// DynamoDB bills two write units for every KB of each item of a transaction, so it costs what a
// completion costs, twice.
func TestWhatACommitAdds(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 2, 99} {
		s, tr := scripted(reply{status: 200, body: "{}"})
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
	s, tr := scripted(reply{status: 200, body: "{}"})
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
