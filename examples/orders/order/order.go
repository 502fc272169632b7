// Package order is the handler of POST /orders. It has two effects at two services: it reserves goods, and charges a payment source. Each
// effect is a step, so a retry goes on where an earlier try has ended. The order itself is a row in a DynamoDB table, and the mail that
// confirms it begins as a message in another one. Both are committed: written in one transaction with the answer. A function of its own,
// orders/relay, delivers the message to the mail.
package order

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// Route is the one that the handler serves.
const Route = "POST /orders"

// Effects says that repeating an effect does no harm: the services take the derived keys, and know what they have done. So the key of a
// request whose answer, or a step of it, could not be stored heals by itself.
func Effects() idempotent.Option { return idempotent.WithEffects(idempotent.Repeatable) }

// Handler returns the handler. What becomes of its answers when the client sends the same key again:
//
//	201  ordered                              replayed
//	400  the body is invalid                  replayed: a corrected request is another one and needs a new key
//	402  the payment source was declined,     replayed, likewise
//	     and the reservation is cancelled
//	404, 405  another path or method          replayed, if the request carried a key
//	409  the table has another order by       replayed: somebody has to look
//	     this id
//	502  a service failed or did not answer   not stored: the handler runs again; what its steps have recorded stays done, and
//	     in time, or misunderstood us         the rest is tried with the same derived keys
//	503  the order could not be written       not stored, likewise
//
// A message leaves with the first answer 201 of an order, and with no other answer.
func Handler(s Services, tables Tables) httpapi.Handler {
	return httpapi.Only(Route, func(ctx context.Context, event httpapi.Request) (httpapi.Response, error) {
		o, err := parse(event)
		if err != nil {
			return httpapi.Problem(http.StatusBadRequest, "The request is invalid: "+err.Error()+".")
		}
		orderID := idempotent.DerivedKey(ctx, "order") // the same for every attempt of this request

		reservationID, err := idempotent.Step(ctx, "reserve", func(ctx context.Context) (string, error) {
			return s.Stock.Reserve(ctx, idempotent.DerivedKey(ctx, ""), o.Goods)
		})
		if err != nil {
			return failed(ctx, err)
		}

		paid, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (payment, error) {
			charge, err := s.Payments.Charge(ctx, idempotent.DerivedKey(ctx, ""), o.Payment)
			if errors.Is(err, payments.ErrDeclined) {
				return payment{Declined: true}, nil // an answer, too: what is recorded is not tried again
			}
			return payment{ChargeID: charge.ID}, err
		})
		if err != nil {
			return failed(ctx, err)
		}
		if paid.Declined {
			return cancel(ctx, s.Stock, reservationID)
		}

		return keep(ctx, tables, Row{
			OrderID: orderID, ReservationID: reservationID, ChargeID: paid.ChargeID, SKU: o.Goods.SKU, Quantity: o.Goods.Quantity,
			Amount: o.Payment.Amount, Currency: o.Payment.Currency, Email: o.Email,
		})
	})
}

// payment is what the payment provider answered.
type payment struct {
	ChargeID string
	Declined bool
}

// cancel undoes the reservation of an order whose payment was declined. Undoing is an effect, too.
func cancel(ctx context.Context, stock Stock, reservationID string) (httpapi.Response, error) {
	_, err := idempotent.Step(ctx, "cancel", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, stock.Cancel(ctx, idempotent.DerivedKey(ctx, ""), reservationID)
	})
	if err != nil {
		return failed(ctx, err)
	}
	return httpapi.Problem(http.StatusPaymentRequired, "The payment source was declined.")
}

// failed answers when a service has failed: the client may retry. Other errors of a step say that it could not be begun or recorded;
// idempotent.Wrap knows what to do with them.
func failed(ctx context.Context, err error) (httpapi.Response, error) {
	if !errors.As(err, new(*downstream.Error)) {
		return httpapi.Response{}, err
	}
	slog.ErrorContext(ctx, "order failed", "error", err) // the cause is for the log
	return httpapi.Problem(http.StatusBadGateway, "A service failed. Retry with the same idempotency key.")
}
