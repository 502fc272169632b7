package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/services"
)

// What is in the tables, read past the library.
type (
	item = map[string]types.AttributeValue
	row  = map[string]any // of an order

	record struct {
		ID         string `dynamodbav:"id"`
		Status     string `dynamodbav:"status"`
		Owner      string `dynamodbav:"owner"`
		Lease      int64  `dynamodbav:"in_progress_expiration"` // epoch milliseconds
		Expiration int64  `dynamodbav:"expiration"`             // epoch seconds
		Data       string `dynamodbav:"data"`                   // the result, unless it is in parts
		Parts      string `dynamodbav:"parts"`
		Reason     string `dynamodbav:"reason"`
		Attention  int64  `dynamodbav:"attention_at"`
		Attempt    int    `dynamodbav:"attempt"`
	}
	message struct {
		ID        string `dynamodbav:"id"`
		Body      string `dynamodbav:"body"`
		Due       int64  `dynamodbav:"outbox_due"`
		Shard     string `dynamodbav:"outbox_shard"`
		Tries     int    `dynamodbav:"tries"`
		GivenUpAt int64  `dynamodbav:"given_up_at"`
		DoneAt    int64  `dynamodbav:"done_at"`
		Expires   int64  `dynamodbav:"expiration"`
	}
)

// pending: it waits for its delivery, and nothing will delete it.
func (m message) pending() bool {
	return m.Due > 0 && m.Shard != "" && m.Shard != "given-up" && m.DoneAt == 0 && m.Expires == 0
}

// done: it was delivered, nobody looks for it any more, and it will be deleted.
func (m message) done() bool {
	return m.Due == 0 && m.Shard == "" && m.Tries == 0 && m.GivenUpAt == 0 && m.DoneAt > 0 && m.Expires > m.DoneAt/1000
}

// ids are what an answer, or a message, tells of an order.
type ids struct {
	Order       string `json:"order_id"`
	Reservation string `json:"reservation_id"`
	Charge      string `json:"charge_id"`
}

// idsIn are those in a text, none if it tells of no order.
func idsIn(text string) (told ids) {
	if json.Unmarshal([]byte(text), &told) != nil {
		return ids{}
	}
	return told
}

// row is what the table has to hold of a purchase whose client was told this.
func (p purchase) row(told ids) row {
	return row{
		"order_id": told.Order, "reservation_id": told.Reservation, "charge_id": told.Charge,
		"sku": "A-1", "quantity": 2.0, "amount": float64(p.amount), "currency": "usd", "email": "a@example.com",
	}
}

// scan returns all items of a table.
func (w *world) scan(table string) (all []item) {
	w.t.Helper()
	for pages := dynamodb.NewScanPaginator(w.dynamo, &dynamodb.ScanInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
	}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		require.NoError(w.t, err)
		all = append(all, page.Items...)
	}
	return all
}

func read[T any](w *world, items []item) (all []T) {
	w.t.Helper()
	require.NoError(w.t, attributevalue.UnmarshalListOfMaps(items, &all))
	return all
}

// records are all of the table, without their parts.
func (w *world) records() []record {
	w.t.Helper()
	return read[record](w, slices.DeleteFunc(w.scan(w.table), func(i item) bool { return i["status"] == nil }))
}

func (w *world) rows() []row         { return read[row](w, w.scan(w.orders)) }
func (w *world) messages() []message { return read[message](w, w.scan(w.outbox)) }

// record is the only one of the table.
func (w *world) record() record {
	w.t.Helper()
	all := w.records()
	require.Len(w.t, all, 1, "records")
	return all[0]
}

// response is the stored one.
func (r record) response(t *testing.T) (response events.APIGatewayV2HTTPResponse) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.Data), &response), r.Data)
	return response
}

// makePast sets an attribute of an item to a time long ago, if it is this one, past the library,
// and reports whether it was. It is done instead of waiting.
func (w *world) makePast(table, id, name string, value int64) bool {
	w.t.Helper()
	number := func(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }
	_, err := w.dynamo.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(table),
		Key:                       item{"id": &types.AttributeValueMemberS{Value: id}},
		ConditionExpression:       aws.String(name + " = :value"),
		UpdateExpression:          aws.String("SET " + name + " = :past"),
		ExpressionAttributeValues: item{":value": number(value), ":past": number(1)},
	})
	if err != nil {
		require.ErrorAs(w.t, err, new(*types.ConditionalCheckFailedException))
	}
	return err == nil
}

// endLease ends the lease of the record now.
func (w *world) endLease() {
	w.t.Helper()
	r := w.record()
	require.True(w.t, w.makePast(w.table, r.ID, "in_progress_expiration", r.Lease))
}

// age makes all messages due that are pending. It returns how many there are.
func (w *world) age() (count int) {
	w.t.Helper()
	for _, m := range w.messages() {
		if m.pending() {
			count++
			w.makePast(w.outbox, m.ID, "outbox_due", m.Due) // it may be done by now, or taken
		}
	}
	return count
}

// assertServed checks what must be true of a purchase whose client has its answer, the only one of
// the world: each effect happened once, under one key of its own, and whoever asked again asked
// with that key; its record is completed, has no step any more, and is what every client was told.
func (w *world) assertServed(p purchase, answers []answer) {
	w.t.Helper()
	stored := w.record()
	w.assertAnswered(stored, answers)
	body := answers[len(answers)-1].body
	if stored.Parts == "" {
		body = stored.response(w.t).Body
	}
	made := w.assertEffects(p)
	if w.orders == "" {
		assert.Contains(w.t, body, made[services.Charge])
		return
	}
	for _, i := range w.scan(w.table) {
		for name := range i {
			assert.False(w.t, strings.HasPrefix(name, "step"), "%s is left", name)
		}
	}
	if p.source == services.DeclinedSource {
		assert.Equal(w.t, http.StatusPaymentRequired, stored.response(w.t).StatusCode)
		assert.Empty(w.t, w.rows())
		assert.Empty(w.t, w.messages())
		return
	}
	told := idsIn(body)
	assert.Len(w.t, told.Order, 36)
	assert.Equal(w.t, ids{told.Order, made[services.Reservation], made[services.Charge]}, told)
	assert.Equal(w.t, []row{p.row(told)}, w.rows(), "the order is what was answered")
	require.Len(w.t, w.messages(), 1)
	assert.JSONEq(w.t, fmt.Sprintf(`{"order_id":%q,"email":"a@example.com"}`, told.Order), w.messages()[0].Body)
	assert.True(w.t, w.messages()[0].pending(), "nobody delivers here")
}

// assertEffects checks the effects of the only purchase, and returns their ids by kind.
func (w *world) assertEffects(p purchase) map[services.Kind]string {
	w.t.Helper()
	done := map[services.Kind]bool{services.Charge: p.source != services.DeclinedSource}
	if w.orders != "" {
		done[services.Reservation] = true
	}
	if !done[services.Charge] {
		done[services.Cancellation] = true
	}
	made := map[services.Kind]string{}
	for _, e := range w.services.Effects("", "") {
		assert.NotContains(w.t, made, e.Kind, "two effects")
		made[e.Kind] = e.ID
		assert.Equal(w.t, done[e.Kind], e.Done)
		for _, x := range w.requests(routes[e.Kind]) {
			assert.Equal(w.t, e.Key, x.Header.Get("Idempotency-Key"), "one key downstream: %s", e.Kind)
		}
	}
	assert.ElementsMatch(w.t, slices.Collect(maps.Keys(done)), slices.Collect(maps.Keys(made)))
	return made
}

// assertAnswered checks that a record is completed, and that no client was ever told anything else
// than what it holds.
func (w *world) assertAnswered(stored record, answers []answer) {
	w.t.Helper()
	assert.Equal(w.t, "COMPLETED", stored.Status)
	var want *events.APIGatewayV2HTTPResponse // of a large result what the first client was told
	if stored.Parts == "" {
		response := stored.response(w.t)
		want = &response
	}
	for _, a := range answers {
		if !a.ok() && (want == nil || a.status != want.StatusCode) {
			continue
		}
		expires, answered := a.unmarked(w.t)
		if want == nil {
			want = &answered
		}
		assert.Equal(w.t, *want, answered, "every answer is the one that is stored")
		if expires != "" || a.replayed() { // an owner that could not learn whether its completion landed says nothing
			assert.Equal(w.t, time.Unix(stored.Expiration, 0).UTC().Format(http.TimeFormat), expires)
		}
	}
}

// assertWhole checks that there are a row and a message exactly for each answer that tells of an
// order. It holds at any moment, also while orders are under way: what was there before the answers
// were looked at has its answer, and what had its answer is there afterwards.
func (w *world) assertWhole() {
	w.t.Helper()
	if w.orders == "" {
		return
	}
	rows, messages := w.ordered(), w.announced()
	told := map[string]bool{}
	for _, r := range w.records() {
		if r.Status == "COMPLETED" && r.response(w.t).StatusCode == http.StatusCreated {
			id := idsIn(r.response(w.t).Body).Order
			assert.NotContains(w.t, told, id, "two answers tell of one order")
			told[id] = true
		}
	}
	assert.Subset(w.t, told, append(rows, messages...), "a row or a message without its answer")
	for what, ids := range map[string][]string{"row": w.ordered(), "message": w.announced()} {
		assert.Subset(w.t, ids, slices.Collect(maps.Keys(told)), "an answer without its %s", what)
		assert.Len(w.t, slices.Compact(ids), len(ids), "%ss of one order", what)
	}
}

// ordered are the ids of the orders that have rows, and announced those of which messages tell, in
// order.
func (w *world) ordered() []string {
	w.t.Helper()
	return idsOf(w.rows(), func(r row) string { return r["order_id"].(string) })
}

func (w *world) announced() []string {
	w.t.Helper()
	return idsOf(w.messages(), func(m message) string { return idsIn(m.Body).Order })
}

func idsOf[T any](told []T, of func(T) string) (all []string) {
	for _, one := range told {
		all = append(all, of(one))
	}
	slices.Sort(all)
	return all
}
