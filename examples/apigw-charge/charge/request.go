package charge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// parse reads and validates the body. Its errors are for the client to read. What the provider gets is built from
// what was understood here, so nothing reaches it unvalidated.
func parse(event httpapi.Request) (payments.Request, error) {
	o, err := httpapi.ReadObject(event, "amount", "currency", "source", "metadata")
	if err != nil {
		return payments.Request{}, err
	}
	r, err := payments.Read(o)
	if err != nil {
		return payments.Request{}, err
	}
	r.Metadata, err = metadata(o["metadata"])
	return r, err
}

// The limits of metadata are those of Stripe, see https://docs.stripe.com/api/metadata: of its 50 members the function needs two, see
// [Metadata]. Characters are code points. What is no text counts as its JSON, without the space between its parts.
const (
	maxMembers = 50 - 2
	maxName    = 40
	maxValue   = 500
)

// metadata checks the metadata, which the answer repeats: without limits a client would decide how much is stored for each key.
// It is nil if there is none.
func metadata(object json.RawMessage) (json.RawMessage, error) {
	if object == nil || string(object) == "null" {
		return nil, nil
	}
	if object[0] != '{' {
		return nil, errors.New("metadata must be an object")
	}
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token() // the brace
	for count := 1; err == nil && d.More(); count++ {
		if count > maxMembers {
			return nil, fmt.Errorf("metadata has more than %d members", maxMembers)
		}
		err = member(d)
	}
	return object, err
}

// member checks the next member of an object.
func member(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	name, _ := token.(string)
	if utf8.RuneCountInString(name) > maxName {
		return fmt.Errorf("metadata has the name %.*q…, which is longer than %d characters", maxName, name, maxName)
	}
	if isMark(name) {
		return fmt.Errorf("metadata has the name %q, which is taken", name)
	}
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return err
	}
	counted := httpapi.Text(value)
	if value[0] != '"' {
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
		counted = compact.String()
	}
	if utf8.RuneCountInString(counted) > maxValue {
		return fmt.Errorf("%q in metadata has a value which is longer than %d characters", name, maxValue)
	}
	return nil
}
