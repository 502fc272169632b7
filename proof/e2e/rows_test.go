package e2e_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// orderRow is an order in the table, and placed the body of its message.
type (
	orderRow struct {
		OrderID       string `dynamodbav:"order_id"`
		ReservationID string `dynamodbav:"reservation_id"`
		ChargeID      string `dynamodbav:"charge_id"`
		SKU           string `dynamodbav:"sku"`
		Quantity      int64  `dynamodbav:"quantity"`
		Amount        int64  `dynamodbav:"amount"`
		Currency      string `dynamodbav:"currency"`
		Email         string `dynamodbav:"email"`
	}
	placed struct {
		OrderID string `json:"order_id"`
		Email   string `json:"email"`
	}
)

// rows are all orders in the table, read past the library.
func (w *warehouse) rows() (all []orderRow) {
	w.t.Helper()
	require.NoError(w.t, attributevalue.UnmarshalListOfMaps(w.scan(w.orders), &all))
	return all
}

// row is what the table has to hold of a cart whose client was told this.
func (c cart) row(told ids) orderRow {
	return orderRow{
		OrderID: told.Order, ReservationID: told.Reservation, ChargeID: told.Charge,
		SKU: "A-1", Quantity: 2, Amount: c.amount, Currency: "usd", Email: "a@example.com",
	}
}

// assertWhole checks that there are a row and a message exactly for each answer that tells of an
// order. It holds at any moment, also while orders are under way: what was there before the answers
// were looked at has its answer, and what had its answer is there afterwards.
func (w *warehouse) assertWhole() {
	w.t.Helper()
	rows, messages := orderIDs(w.rows()), w.announced()
	told := w.told()
	for what, ids := range map[string][]string{"a row": rows, "a message": messages} {
		for _, id := range ids {
			assert.Contains(w.t, told, id, "%s without its answer", what)
		}
	}
	rows, messages = orderIDs(w.rows()), w.announced()
	for what, ids := range map[string][]string{"row": rows, "message": messages} {
		for id := range told {
			assert.Contains(w.t, ids, id, "an answer without its %s", what)
		}
		assert.Len(w.t, slices.Compact(ids), len(ids), "%ss of one order", what)
	}
}

// watch looks again and again, until it is stopped, whether there are a row and a message exactly
// for each answer. It takes a tenth of the time at most: the more there is to look at, the rarer it
// looks. stop tells how often it has.
func (w *warehouse) watch() (stop func() (looks int)) {
	ended, looks := make(chan struct{}), make(chan int)
	go func() {
		count := 0
		for pause := time.Duration(0); ; count++ {
			select {
			case <-ended:
				looks <- count
				return
			case <-time.After(pause):
			}
			began := time.Now()
			w.assertWhole()
			pause = 9 * time.Since(began)
		}
	}()
	return func() int {
		close(ended)
		return <-looks
	}
}

// told are the orders of which answers tell that are stored, each with its ids.
func (w *warehouse) told() map[string]ids {
	w.t.Helper()
	all := map[string]ids{}
	for _, r := range w.records() {
		if r.Status != "COMPLETED" {
			continue
		}
		response := r.response(w.t)
		if response.StatusCode != http.StatusCreated {
			continue
		}
		var told ids
		require.NoError(w.t, json.Unmarshal([]byte(response.Body), &told))
		assert.NotContains(w.t, all, told.Order, "two answers tell of one order")
		all[told.Order] = told
	}
	return all
}

// orderIDs are those of rows, in order.
func orderIDs(rows []orderRow) []string {
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r.OrderID
	}
	slices.Sort(all)
	return all
}
