package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/examples/orders/shop"
)

// request is what a client wants. The JSON of its parts is what the services get.
type request struct {
	goods struct {
		SKU      string `json:"sku"`
		Quantity int64  `json:"quantity"`
	}
	charge struct {
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
		Source   string `json:"source"`
	}
	email string
}

var currency = regexp.MustCompile(`^[a-z]{3}$`)

// parse reads and validates the body. Its errors are for the client to read. The services get what
// was understood here, so nothing reaches them unvalidated.
func parse(e shop.Request) (r request, err error) {
	o, err := readObject(e, "sku", "quantity", "amount", "currency", "source", "email")
	if err != nil {
		return r, err
	}
	r.goods.SKU, r.goods.Quantity = value[string](o["sku"]), value[int64](o["quantity"])
	r.charge.Amount, r.charge.Currency = value[int64](o["amount"]), value[string](o["currency"])
	r.charge.Source, r.email = value[string](o["source"]), value[string](o["email"])
	switch {
	case r.goods.SKU == "":
		return r, errors.New("sku must be a non-empty string")
	case r.goods.Quantity <= 0:
		return r, errors.New("quantity must be a positive integer")
	case r.charge.Amount <= 0:
		return r, errors.New("amount must be a positive integer, in the smallest unit of the currency")
	case !currency.MatchString(r.charge.Currency):
		return r, errors.New("currency must be an ISO 4217 code of three lower-case letters")
	case r.charge.Source == "":
		return r, errors.New("source must be a non-empty string")
	case !address(r.email):
		return r, errors.New("email must be an address such as a@example.com")
	}
	return r, nil
}

// readObject reads the JSON object in the body of an event, by the exact names of its fields:
// encoding/json would also take "SKU" for a field "sku" of a struct.
func readObject(e shop.Request, names ...string) (o map[string]json.RawMessage, err error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, errors.New("the body is not valid base64")
		}
	}
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not valid UTF-8")
	}
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, errors.New("the body must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("the field %.40q is unknown", name)
		}
	}
	return o, nil
}

// value is what a field has, zero if that is missing or of another type.
func value[T any](field json.RawMessage) (v T) {
	if err := json.Unmarshal(field, &v); err != nil {
		return *new(T)
	}
	return v
}

// address reports whether a text can be an address. Whether it is one only the mail can tell.
func address(text string) bool {
	name, domain, found := strings.Cut(text, "@")
	return found && name != "" && domain != "" && !strings.ContainsAny(text, " \t\r\n") &&
		!strings.Contains(domain, "@")
}
