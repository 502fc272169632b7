package shop

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

type (
	// Request is the event of the function that takes orders.
	Request = events.APIGatewayV2HTTPRequest
	// Response is its result.
	Response = events.APIGatewayV2HTTPResponse
)

// OrderKey is the name of the derived key that is the id of an order.
const OrderKey = "order"

// PartitionKey is the attribute by which the table of the orders finds a row.
const PartitionKey = "order_id"

// Row is an order in the table. It is written in one transaction with the answer that tells of it.
type Row struct {
	// OrderID is the key derived for the order: another attempt of the same request writes the same
	// row.
	OrderID       string `dynamodbav:"order_id"`
	ReservationID string `dynamodbav:"reservation_id"`
	ChargeID      string `dynamodbav:"charge_id"`
	SKU           string `dynamodbav:"sku"`
	Quantity      int64  `dynamodbav:"quantity"`
	// Amount counts the smallest unit of the currency.
	Amount   int64  `dynamodbav:"amount"`
	Currency string `dynamodbav:"currency"`
	Email    string `dynamodbav:"email"`
}

// Answer is what the client of an order gets.
func (r Row) Answer() (Response, error) {
	return answer(http.StatusCreated, "application/json", struct {
		OrderID       string `json:"order_id"`
		ReservationID string `json:"reservation_id"`
		ChargeID      string `json:"charge_id"`
	}{r.OrderID, r.ReservationID, r.ChargeID})
}

// Problem answers with a problem document (RFC 9457), the form in which idempotent.Wrap answers,
// too.
func Problem(status int, detail string) (Response, error) {
	return answer(status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
}

func answer(status int, mediaType string, body any) (Response, error) {
	text, err := encode(body)
	return Response{StatusCode: status, Headers: map[string]string{"Content-Type": mediaType}, Body: string(text)}, err
}

// encode writes JSON as it is meant, without escaping it for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
