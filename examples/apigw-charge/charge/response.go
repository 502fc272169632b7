package charge

import (
	"encoding/json"
	"net/http"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// MaxAnswer bounds the body of every answer, in bytes, whatever the request was. The longest one repeats metadata of which every
// character is written as a pair of escapes.
const MaxAnswer = 350_000

// charged answers with the charge and what it was made from. The metadata is the client's own, with its numbers as they
// were sent.
func charged(c payments.Charge, r payments.Request) (httpapi.Response, error) {
	return httpapi.Answer(http.StatusCreated, struct {
		ID       string          `json:"id"`
		Amount   int64           `json:"amount"`
		Currency string          `json:"currency"`
		Status   string          `json:"status"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}{c.ID, r.Amount, r.Currency, c.Status, r.Metadata})
}
