package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

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
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return r, errors.New("the body is not valid base64")
		}
	}
	var o struct {
		SKU      string `json:"sku"`
		Quantity int64  `json:"quantity"`
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
		Source   string `json:"source"`
		Email    string `json:"email"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil || d.More() {
		return r, errors.New("the body must be a JSON object of sku, quantity, amount, currency, source and email")
	}
	r.goods.SKU, r.goods.Quantity = o.SKU, o.Quantity
	r.charge.Amount, r.charge.Currency, r.charge.Source, r.email = o.Amount, o.Currency, o.Source, o.Email
	switch {
	case o.SKU == "" || o.Source == "":
		return r, errors.New("sku and source must be non-empty strings")
	case o.Quantity <= 0 || o.Amount <= 0:
		return r, errors.New("quantity and amount must be positive integers, amount in the smallest unit of the currency")
	case !currency.MatchString(o.Currency):
		return r, errors.New("currency must be an ISO 4217 code of three lower-case letters")
	case !address(o.Email):
		return r, errors.New("email must be an address such as a@example.com")
	}
	return r, nil
}

// address reports whether a text can be an address. Whether it is one only the mail can tell.
func address(text string) bool {
	name, domain, found := strings.Cut(text, "@")
	return found && name != "" && domain != "" && !strings.ContainsAny(text, " \t\r\n") && !strings.Contains(domain, "@")
}
