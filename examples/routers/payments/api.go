// Package payments is an API of five routes, as ordinary handlers of net/http that know nothing of Lambda. [ServeMux] and [Chi] put them
// behind a router, and [Function] makes a Lambda function of either:
//
//	POST /charges               protected
//	POST /charges/{id}/refund   protected
//	POST /v1/transfers          protected, with answers in the words of the Stripe API
//	POST /search                unprotected: it changes nothing
//	POST /webhooks/{provider}   unprotected: its callers send no key, and the same message twice does no harm
package payments

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-idempotent/idempotent"
)

// The routes, as both routers write them.
const (
	routeCharges   = "POST /charges"
	routeRefunds   = "POST /charges/{id}/refund"
	routeTransfers = "POST /v1/transfers"
	routeSearch    = "POST /search"
	routeWebhooks  = "POST /webhooks/{provider}"
)

// API is the state behind the handlers. It is safe for concurrent use.
type API struct {
	bank   *Bank
	secret []byte
}

// New returns an API of a bank. The secret is what webhooks are signed with.
func New(b *Bank, secret string) *API { return &API{b, []byte(secret)} }

// handlers are the routes and who serves them.
func (a *API) handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		routeCharges: a.charge, routeRefunds: a.refund, routeTransfers: a.transfer, routeSearch: a.search, routeWebhooks: a.webhook,
	}
}

// charge charges a source. The bank takes the derived key, so an answer that got lost on the way from the bank does no harm: the answer is
// not stored, and the next try charges with the same key.
func (a *API) charge(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Amount int64  `json:"amount"`
		Source string `json:"source"`
	}
	if !read(w, r, &order) {
		return
	}
	id, err := a.bank.Charge(idempotent.DerivedKey(r.Context(), "charge"), order.Source, order.Amount)
	switch {
	case errors.Is(err, ErrDeclined):
		problem(w, http.StatusPaymentRequired, "The source was declined.") // 402 is stored: each retry gets it
	case err != nil:
		slog.ErrorContext(r.Context(), "charge failed", "error", err)
		problem(w, http.StatusBadGateway, "The bank did not answer. Retry with the same key.")
	default:
		answer(w, http.StatusCreated, map[string]any{"id": id, "amount": order.Amount})
	}
}

// refund gives a charge back, once. A 409 is not stored unless the handler says that it is final: a charge that is refunded stays so.
func (a *API) refund(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	switch err := a.bank.Refund(idempotent.DerivedKey(r.Context(), "refund"), id); {
	case errors.Is(err, ErrRefunded):
		idempotent.Mark(r.Context(), idempotent.Terminal(err))
		problem(w, http.StatusConflict, "The charge is refunded already.")
	case errors.Is(err, ErrNoCharge):
		problem(w, http.StatusNotFound, "There is no such charge.")
	default:
		answer(w, http.StatusCreated, map[string]any{"charge": id, "status": statusRefunded})
	}
}

// transfer sends money through a network that takes no key. If the network does not answer, nobody knows whether the money has left. The
// handler says so, and no retry sends it again before somebody has looked.
func (a *API) transfer(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Amount  int64  `json:"amount"`
		Account string `json:"account"`
	}
	if !read(w, r, &order) {
		return
	}
	id, err := a.bank.Transfer(order.Account, order.Amount)
	switch {
	case errors.Is(err, ErrClosed): // the network says that it has done nothing
		idempotent.Mark(r.Context(), idempotent.NotExecuted(err))
		problem(w, http.StatusServiceUnavailable, "Transfers are closed. Retry later with the same key.")
	case err != nil:
		idempotent.Mark(r.Context(), idempotent.Uncertain(err))
		problem(w, http.StatusGatewayTimeout, "We do not know yet whether the money has left.")
	default:
		answer(w, http.StatusCreated, map[string]any{"id": id, "amount": order.Amount})
	}
}

// search lists charges. Its question is in the body, so it is a POST.
func (a *API) search(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Status string `json:"status"`
	}
	if !read(w, r, &question) {
		return
	}
	answer(w, http.StatusOK, map[string]any{"charges": a.bank.Find(question.Status)})
}
