package charge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// parse reads and validates the body. Its errors are for the client to read. What the provider gets is built from
// what was understood here, so nothing reaches it unvalidated.
func parse(event request) (payments.Request, error) {
	body, err := bodyOf(event)
	if err != nil {
		return payments.Request{}, err
	}
	// Field by field instead of into a struct: encoding/json would also take "AMOUNT" for "amount".
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return payments.Request{}, errors.New("the body must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"amount", "currency", "source", "metadata"}, name) {
			return payments.Request{}, fmt.Errorf("the field %.40q is unknown", name)
		}
	}
	r := payments.Request{Source: text(fields["source"]), Currency: text(fields["currency"])}
	if r.Amount, err = strconv.ParseInt(string(fields["amount"]), 10, 64); err != nil || r.Amount <= 0 {
		return r, errors.New("amount must be a positive integer, in the smallest unit of the currency")
	}
	if !currency.MatchString(r.Currency) {
		return r, errors.New("currency must be an ISO 4217 code of three lower-case letters")
	}
	if r.Source == "" {
		return r, errors.New("source must be a non-empty string")
	}
	r.Metadata, err = metadata(fields["metadata"])
	return r, err
}

var currency = regexp.MustCompile(`^[a-z]{3}$`)

// The limits of metadata are those of Stripe, see https://docs.stripe.com/api/metadata. Characters are code points. What is no
// text counts as its JSON, without the space between its parts.
const (
	maxMembers = 50
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
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return err
	}
	counted := text(value)
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

// bodyOf returns the body. The gateway encodes it in base64 unless its media type is known to be text.
func bodyOf(event request) ([]byte, error) {
	body := []byte(event.Body)
	if event.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(event.Body); err != nil {
			return nil, errors.New("the body is not valid base64")
		}
	}
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not valid UTF-8")
	}
	return body, nil
}

// text is the string in a JSON value, empty for anything else.
func text(value json.RawMessage) string {
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return ""
	}
	return s
}
