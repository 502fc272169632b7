package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
	"github.com/go-idempotent/idempotent/outbox"
)

// keep commits the row of an order and its message with its answer: all are written, or none is. If the commit has failed, the next delivery
// goes on behind the last step. Other errors are returned as they are: idempotent.Wrap knows what to do with them.
func keep(ctx context.Context, tables Tables, row Row) (httpapi.Response, error) {
	answer, err := ordered(row)
	if err != nil || tables == (Tables{}) {
		return answer, err
	}
	out, err := dynamo.Commit(ctx, answer,
		dynamo.Put(tables.Orders, row, dynamo.IfAbsent(partitionKey), dynamo.ReturnOld()),
		outbox.New(tables.Outbox).Message(ctx, PlacedTopic, Placed{OrderID: row.OrderID, Email: row.Email}))
	refused, taken := errors.AsType[*dynamo.ConditionError](err)
	if taken {
		return exists(ctx, row, refused.Refused[0].Old)
	}
	return out, err
}

// exists answers when the table has a row with the id of the order, and nothing was written. The id is derived from the request, so the
// row is that of an earlier execution of the same request, whose record is gone: its retention is over, or somebody has deleted it, or
// restored an older table. The services took the same keys then as now. If they have remembered them, this is the same order,
// its answer is right, and its message left with the row. If one has forgotten, there is a second reservation or a second charge, and only somebody can tell what is to
// become of it. That answer is stored like a failure: a retry would find the same.
func exists(ctx context.Context, row Row, old map[string]types.AttributeValue) (httpapi.Response, error) {
	var found Row
	if err := attributevalue.UnmarshalMap(old, &found); err == nil && found == row {
		return ordered(row)
	}
	slog.ErrorContext(ctx, "the table has another order by this id", "order", row.OrderID,
		"reservation", row.ReservationID, "charge", row.ChargeID)
	out, err := httpapi.Problem(http.StatusConflict, "There is another order by this id. Do not retry.")
	if err != nil {
		return out, err
	}
	return out, idempotent.Terminal(fmt.Errorf("there is another order %s", row.OrderID))
}

func ordered(row Row) (httpapi.Response, error) {
	return httpapi.Answer(http.StatusCreated, struct {
		OrderID       string `json:"order_id"`
		ReservationID string `json:"reservation_id"`
		ChargeID      string `json:"charge_id"`
	}{row.OrderID, row.ReservationID, row.ChargeID})
}
