package payments

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-idempotent/idempotent/examples/internal/body"
)

// Finder tells which charge was made with a key. It is safe for concurrent use.
type Finder interface {
	// Find returns the charge that was made with a key. It reports false only if the provider has said that there is none: every doubt
	// is an error.
	Find(ctx context.Context, key string) (Made, bool, error)
}

// The statuses of a charge.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
)

// Made is a charge as the provider keeps it.
type Made struct {
	Charge

	// Key is the one that it was made with.
	Key string `json:"idempotency_key"`
	// Amount, Currency and Metadata are those of the [Request].
	Amount   int64           `json:"amount"`
	Currency string          `json:"currency"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// list is the answer of the provider: all charges that were made with a key.
type list struct {
	Object string `json:"object"`
	Data   []Made `json:"data"`
}

const objectList = "list"

// Find implements [Finder]: GET /v1/keys/KEY/charges. That nothing was charged is what an empty list says. A 404 says it not: it may
// come from a wrong base URL, and so may a list of another key.
func (c *Client) Find(ctx context.Context, key string) (Made, bool, error) {
	var l list
	if err := c.service.Do(ctx, http.MethodGet, "v1/keys/"+key+"/charges", "", nil, &l); err != nil {
		return Made{}, false, err
	}
	switch {
	case l.Object != objectList || l.Data == nil:
		return Made{}, false, c.service.Misunderstood("the answer is no list")
	case len(l.Data) == 0:
		return Made{}, false, nil
	case len(l.Data) > 1:
		return Made{}, false, c.service.Misunderstood(fmt.Sprintf("there are %d charges with one key", len(l.Data)))
	}
	m := l.Data[0]
	if m.Key != key || m.ID == "" || m.Amount <= 0 || m.Currency == "" {
		return Made{}, false, c.service.Misunderstood("the charge is not one with the key that was asked for")
	}
	return m, true, nil
}

// Find implements [Finder].
func (l *Ledger) Find(_ context.Context, key string) (Made, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, known := l.byKey[key]
	if !known {
		return Made{}, false, nil
	}
	e := l.book[i]
	return Made{Charge: e.Charge, Key: e.Key, Amount: e.Amount, Currency: e.Currency, Metadata: e.Metadata}, true, nil
}

// serveFind answers [Client.Find].
func serveFind(f Finder, w http.ResponseWriter, req *http.Request) {
	status, answer := found(req.Context(), f, req.PathValue("key"))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) // whoever went away asks again
}

func found(ctx context.Context, f Finder, key string) (status int, answer []byte) {
	l := list{Object: objectList, Data: []Made{}}
	m, made, err := f.Find(ctx, key)
	if made {
		l.Data = append(l.Data, m)
	}
	if err == nil {
		answer, err = body.JSON(l)
	}
	if err != nil {
		return failure(http.StatusInternalServerError, "api_error")
	}
	return http.StatusOK, answer
}
