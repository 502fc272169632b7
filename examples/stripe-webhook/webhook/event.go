package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// The members of the metadata of a charge by which its event finds the record.
const (
	metadataRecord = "idempotency_record"
	metadataCheck  = "idempotency_check"
)

// Metadata is what a function puts into the metadata of the charge that it makes, so that the event of the charge finds its record. The
// context is that of its handler. The check is a derived key whose name has the amount and the currency: who charges another amount under
// the same record key has another one.
func Metadata(ctx context.Context, amount int64, currency string) map[string]string {
	x, _ := idempotent.FromContext(ctx) // without one, DerivedKey panics or is random
	return map[string]string{metadataRecord: x.RecordKey, metadataCheck: idempotent.DerivedKey(ctx, checkName(amount, currency))}
}

const checkPrefix = "charge of "

func checkName(amount int64, currency string) string {
	return fmt.Sprintf("%s%d %s", checkPrefix, amount, strings.ToLower(currency))
}

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
}

// read reads an event, and the charge that it is about if it is of a type that is handled here.
func read(body []byte) (e event, c object, known bool, err error) {
	if err := json.Unmarshal(body, &e); err != nil || e.Object != "event" || e.ID == "" {
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

// made is the charge as the function that has made it knows it: without the metadata that is for this one.
func (c object) made(key string) (payments.Made, error) {
	own := maps.Clone(c.Metadata)
	delete(own, metadataRecord)
	delete(own, metadataCheck)
	m := payments.Made{Charge: payments.Charge{ID: c.ID, Status: c.Status}, Key: key, Amount: c.Amount, Currency: c.Currency}
	if len(own) == 0 {
		return m, nil
	}
	var err error
	m.Metadata, err = json.Marshal(own)
	return m, err
}
