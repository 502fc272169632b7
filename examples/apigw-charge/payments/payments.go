// Package payments charges payment sources at a provider: a [Client] at one that is reached over HTTP, a [Ledger] at one
// that is built in and only counts.
package payments

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// Provider charges payment sources. It is safe for concurrent use.
type Provider interface {
	// Charge charges a source once per key: repeated with the same key and the same request it returns the charge that
	// was made before. It returns [ErrDeclined] if the source cannot be charged; after any other error the charge
	// may have been made, and only a repetition with the same key is safe.
	Charge(ctx context.Context, key string, r Request) (Charge, error)
}

// Request is what is to be charged, and its JSON is what the provider gets.
type Request struct {
	// Amount counts the smallest unit of the currency, for example cents. It is an integer: fractions of binary
	// floating point numbers are no money.
	Amount int64 `json:"amount"`
	// Currency is the ISO 4217 code in lower case.
	Currency string `json:"currency"`
	// Source is the token of the card or account to charge. It belongs in no log.
	Source string `json:"source"`
	// Metadata is a JSON object of the client's, kept as text so that its numbers stay what they are; nil if there is none.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Read reads amount, currency and source. Its errors are for the client to read.
func Read(o httpapi.Object) (r Request, err error) {
	if r.Amount, err = o.Amount("amount"); err != nil {
		return Request{}, err
	}
	if r.Currency, err = o.Currency("currency"); err != nil {
		return Request{}, err
	}
	if r.Source, err = o.Text("source"); err != nil {
		return Request{}, err
	}
	return r, nil
}

// Charge is what the provider made of a request.
type Charge struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

var (
	// ErrDeclined is returned when the provider refuses to charge the source. Nothing was charged.
	ErrDeclined = errors.New("payments: the source was declined")
	// ErrKeyReused is returned by a [Ledger] when a key comes back with another request. Nothing was charged.
	ErrKeyReused = errors.New("payments: the idempotency key was used for another charge")
)
