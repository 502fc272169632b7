package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/orders/shop"
	"github.com/go-idempotent/idempotent/outbox"
)

// orders takes orders.
type orders struct {
	table           string
	outbox          *outbox.Outbox
	stock, payments shop.Service
}

// place is the handler. Each effect is a step, so a retry goes on where an earlier try has ended.
// What becomes of its answers when the client sends the same key again:
//
//	201       ordered                                 replayed
//	400, 402  invalid, or the source was declined     replayed
//	404, 405  another path or method                  replayed, if the request carried a key
//	409       the table has another order by this id  replayed: somebody has to look
//	502       a service failed or did not answer      not stored: the handler goes on after the last step
//	503       the order could not be written          not stored, likewise
//
// A message leaves with the first answer 201 of an order, and with no other answer.
func (o *orders) place(ctx context.Context, e shop.Request) (shop.Response, error) {
	if out, elsewhere, err := misrouted(e); elsewhere {
		return out, err
	}
	r, err := parse(e)
	if err != nil {
		return shop.Problem(http.StatusBadRequest, "The request is invalid: "+err.Error()+".")
	}

	reservationID, err := idempotent.Step(ctx, "reserve", func(ctx context.Context) (string, error) {
		return o.stock.Do(ctx, http.MethodPost, "v1/reservations", idempotent.DerivedKey(ctx, ""), r.goods)
	})
	if err != nil {
		return failed(ctx, err)
	}
	paid, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (payment, error) {
		chargeID, err := o.payments.Do(ctx, http.MethodPost, "v1/charges", idempotent.DerivedKey(ctx, ""), r.charge)
		if failure, is := errors.AsType[*shop.Error](err); is && failure.Status == http.StatusPaymentRequired {
			return payment{Declined: true}, nil // an answer, too: what is recorded is not tried again
		}
		return payment{ChargeID: chargeID}, err
	})
	if err != nil {
		return failed(ctx, err)
	}
	if paid.Declined {
		return o.cancel(ctx, reservationID)
	}
	return o.keep(ctx, shop.Row{
		OrderID:       idempotent.DerivedKey(ctx, shop.OrderKey), // the same for every attempt of this request
		ReservationID: reservationID, ChargeID: paid.ChargeID, SKU: r.goods.SKU, Quantity: r.goods.Quantity,
		Amount: r.charge.Amount, Currency: r.charge.Currency, Email: r.email,
	})
}

// misrouted answers a request that is not POST /orders. The gateway may have matched it already,
// whatever its stage puts in front of the path.
func misrouted(e shop.Request) (out shop.Response, is bool, err error) {
	const only = "The only operation is POST /orders."
	switch {
	case e.RouteKey == "POST /orders":
		return out, false, nil
	case e.RawPath != "/orders":
		out, err = shop.Problem(http.StatusNotFound, only)
		return out, true, err
	case e.RequestContext.HTTP.Method != http.MethodPost:
		out, err = shop.Problem(http.StatusMethodNotAllowed, only)
		out.Headers["Allow"] = http.MethodPost
		return out, true, err
	}
	return out, false, nil
}

// payment is what the payment provider answered.
type payment struct {
	ChargeID string
	Declined bool
}

// cancel undoes the reservation of an order whose payment was declined. Undoing is an effect, too.
func (o *orders) cancel(ctx context.Context, reservationID string) (shop.Response, error) {
	_, err := idempotent.Step(ctx, "cancel", func(ctx context.Context) (struct{}, error) {
		path := "v1/reservations/" + url.PathEscape(reservationID)
		_, err := o.stock.Do(ctx, http.MethodDelete, path, idempotent.DerivedKey(ctx, ""), nil)
		return struct{}{}, err
	})
	if err != nil {
		return failed(ctx, err)
	}
	return shop.Problem(http.StatusPaymentRequired, "The payment source was declined.")
}

// keep commits the row of an order and its message with its answer: all are written, or none is. If
// the commit has failed, the next delivery goes on behind the last step.
func (o *orders) keep(ctx context.Context, row shop.Row) (shop.Response, error) {
	answer, err := row.Answer()
	if err != nil {
		return answer, err
	}
	out, err := dynamo.Commit(ctx, answer,
		dynamo.Put(o.table, row, dynamo.IfAbsent(shop.PartitionKey), dynamo.ReturnOld()),
		o.outbox.Message(ctx, shop.PlacedTopic, shop.Placed{OrderID: row.OrderID, Email: row.Email}))
	if refused, taken := errors.AsType[*dynamo.ConditionError](err); taken {
		return exists(ctx, row, refused.Refused[0].Old)
	}
	return out, err
}

// exists answers when the table has a row with the id of the order. The id is derived from the
// request, so an earlier execution of the same request has written the row, and its record is gone.
// If the services have remembered their keys, this is the same order. If one has forgotten, there
// is a second reservation or a second charge. Then the answer is stored as a failure, because only
// somebody can tell what is to become of it.
func exists(ctx context.Context, row shop.Row, old map[string]types.AttributeValue) (shop.Response, error) {
	var found shop.Row
	if err := attributevalue.UnmarshalMap(old, &found); err == nil && found == row {
		return row.Answer()
	}
	slog.ErrorContext(ctx, "the table has another order by this id", "order", row.OrderID,
		"reservation", row.ReservationID, "charge", row.ChargeID)
	out, err := shop.Problem(http.StatusConflict, "There is another order by this id. Do not retry.")
	if err != nil {
		return out, err
	}
	return out, idempotent.Terminal(fmt.Errorf("there is another order %s", row.OrderID))
}

// failed answers when a service has failed: the client may retry. Other errors of a step say that
// it could not be begun or recorded, and idempotent.Wrap knows what to do with them.
func failed(ctx context.Context, err error) (shop.Response, error) {
	if !errors.As(err, new(*shop.Error)) {
		return shop.Response{}, err
	}
	slog.ErrorContext(ctx, "order failed", "error", err) // the cause is for the log
	return shop.Problem(http.StatusBadGateway, "A service failed. Retry with the same idempotency key.")
}
