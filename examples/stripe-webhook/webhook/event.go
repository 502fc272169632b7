package webhook

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/body"
)

// event is what is read of an event: https://docs.stripe.com/api/events/object
type event struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Type    string `json:"type"`
	Created int64  `json:"created"`
	// Account is the connected account that the event is about, empty if it is about one's own.
	Account  string `json:"account"`
	Livemode bool   `json:"livemode"`
	// Request is the request that has caused the event, if one has.
	Request struct {
		IdempotencyKey string `json:"idempotency_key"`
	} `json:"request"`
	Data struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// object is what is read of a charge.
type object struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
	Status   string            `json:"status"`
	Metadata map[string]string `json:"metadata"`
	// Captured is false of a charge that is only authorised, and nil if the event does not say.
	Captured *bool `json:"captured"`
}

// authorised reports whether the money of a charge that has succeeded is still to be captured. Of one that has failed none ever is.
func (c object) authorised() bool {
	return c.Status == payments.Succeeded && c.Captured != nil && !*c.Captured
}

// read reads an event, and the charge that it is about if it is of a type that is handled here.
func read(text []byte) (e event, c object, known bool, err error) {
	if err := json.Unmarshal(text, &e); err != nil || e.Object != "event" || e.ID == "" {
		return event{}, object{}, false, errors.New("the body is no event")
	}
	want, known := map[string]string{"charge.succeeded": payments.Succeeded, "charge.failed": payments.Failed}[e.Type]
	if !known {
		return e, object{}, false, nil
	}
	err = json.Unmarshal(e.Data.Object, &c)
	if err != nil || c.Object != "charge" || c.ID == "" || c.Amount <= 0 || c.Currency == "" || c.Status != want {
		return e, object{}, false, errors.New("the event is not about a charge as its type says")
	}
	return e, c, true, nil
}

// young reports whether the execution that has made the charge may still run.
func (e event) young(now time.Time) bool { return now.Sub(time.Unix(e.Created, 0)) < early }

// made is the charge as the function that has made it knows it.
func (c object) made(key string) (payments.Made, error) {
	m := payments.Made{Charge: payments.Charge{ID: c.ID, Status: c.Status}, Key: key, Amount: c.Amount, Currency: c.Currency}
	if len(c.Metadata) == 0 {
		return m, nil
	}
	var err error
	m.Metadata, err = body.JSON(c.Metadata)
	return m, err
}
