package payments

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/go-idempotent/idempotent/examples/internal/body"
)

// Serve returns the HTTP API of a provider, as [Client] expects it: POST /v1/charges, and GET /v1/keys/KEY/charges if it is a [Finder].
func Serve(p Provider) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/charges", func(w http.ResponseWriter, req *http.Request) {
		status, answer := serve(p, w, req)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(answer) // a client that went away repeats its request
	})
	if f, is := p.(Finder); is {
		mux.HandleFunc("GET /v1/keys/{key}/charges", func(w http.ResponseWriter, req *http.Request) { serveFind(f, w, req) })
	}
	return mux
}

func serve(p Provider, w http.ResponseWriter, req *http.Request) (status int, answer []byte) {
	var r Request
	sent, err := io.ReadAll(http.MaxBytesReader(w, req.Body, body.Max))
	if err != nil || json.Unmarshal(sent, &r) != nil {
		return failure(http.StatusBadRequest, "invalid_request_error")
	}
	c, err := p.Charge(req.Context(), req.Header.Get("Idempotency-Key"), r)
	switch {
	case errors.Is(err, ErrDeclined):
		return failure(http.StatusPaymentRequired, "card_error")
	case errors.Is(err, ErrKeyReused):
		return failure(http.StatusBadRequest, "idempotency_error")
	case err != nil:
		return failure(http.StatusInternalServerError, "api_error")
	}
	answer, err = body.JSON(struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Request
		Status string `json:"status"`
	}{c.ID, "charge", r, c.Status})
	if err != nil {
		return failure(http.StatusInternalServerError, "api_error")
	}
	return http.StatusOK, answer
}

func failure(status int, kind string) (int, []byte) {
	return status, []byte(`{"error":{"type":"` + kind + `"}}`)
}
