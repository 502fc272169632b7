package charge

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// MaxAnswer bounds the body of every answer, in bytes, whatever the request was. The longest one repeats metadata of which every
// character is written as a pair of escapes.
const MaxAnswer = 350_000

// charged answers with the charge and what it was made from. The metadata is the client's own, with its numbers as they
// were sent.
func charged(c payments.Charge, r payments.Request) (response, error) {
	return answer(http.StatusCreated, "application/json", struct {
		ID       string          `json:"id"`
		Amount   int64           `json:"amount"`
		Currency string          `json:"currency"`
		Status   string          `json:"status"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}{c.ID, r.Amount, r.Currency, c.Status, r.Metadata})
}

// problem answers with a problem document (RFC 9457), the form in which the wrapper answers, too.
func problem(status int, detail string) (response, error) {
	out, err := answer(status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
	if status == http.StatusMethodNotAllowed {
		out.Headers["Allow"] = http.MethodPost
	}
	return out, err
}

func answer(status int, mediaType string, body any) (response, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the metadata comes back as it was sent
	if err := e.Encode(body); err != nil {
		return response{}, err
	}
	return response{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": mediaType},
		Body:       string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))),
	}, nil
}
