package charge

import (
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
	r := payments.Request{Source: text(fields["source"]), Currency: text(fields["currency"]), Metadata: fields["metadata"]}
	if r.Amount, err = strconv.ParseInt(string(fields["amount"]), 10, 64); err != nil || r.Amount <= 0 {
		return r, errors.New("amount must be a positive integer, in the smallest unit of the currency")
	}
	if !currency.MatchString(r.Currency) {
		return r, errors.New("currency must be an ISO 4217 code of three lower-case letters")
	}
	if r.Source == "" {
		return r, errors.New("source must be a non-empty string")
	}
	if string(r.Metadata) == "null" {
		r.Metadata = nil
	}
	if r.Metadata != nil && r.Metadata[0] != '{' {
		return r, errors.New("metadata must be an object")
	}
	return r, nil
}

var currency = regexp.MustCompile(`^[a-z]{3}$`)

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
