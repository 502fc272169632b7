package order

import (
	"errors"
	"strings"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// request is what a client wants.
type request struct {
	Goods   Goods
	Payment payments.Request
	Email   string
}

// parse reads and validates the body. Its errors are for the client to read. What the services get is built from what was
// understood here, so nothing reaches them unvalidated.
func parse(event httpapi.Request) (r request, err error) {
	o, err := httpapi.ReadObject(event, "sku", "quantity", "amount", "currency", "source", "email")
	if err != nil {
		return request{}, err
	}
	if r.Goods.SKU, err = o.Text("sku"); err != nil {
		return request{}, err
	}
	if r.Goods.Quantity, err = o.Count("quantity"); err != nil {
		return request{}, err
	}
	if r.Payment, err = payments.Read(o); err != nil {
		return request{}, err
	}
	if r.Email = httpapi.Text(o["email"]); !address(r.Email) {
		return request{}, errors.New("email must be an address such as a@example.com")
	}
	return r, nil
}

// address reports whether a text can be an address. Whether it is one only the mail can tell.
func address(text string) bool {
	name, domain, found := strings.Cut(text, "@")
	return found && name != "" && domain != "" && !strings.ContainsAny(text, " \t\r\n") && !strings.Contains(domain, "@")
}
