// Command apigw-charge is a Lambda function behind an HTTP API: POST /charges charges a payment
// source. IDEMPOTENCY_TABLE names the table of its records. Without PAYMENTS_URL charges are only
// counted.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/observe"
)

func main() {
	table := os.Getenv("IDEMPOTENCY_TABLE")
	if table == "" {
		log.Fatal("IDEMPOTENCY_TABLE is not set: it names the DynamoDB table of the idempotency records")
	}
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { // a claim has three seconds, for two tries
		o.HTTPClient, o.RetryMaxAttempts = awshttp.NewBuildableClient().WithTimeout(2*time.Second), 2
	})
	lambda.Start(idempotent.Wrap(provider(os.Getenv("PAYMENTS_URL")).post, dynamo.New(client, table),
		idempotent.WithEffects(idempotent.Repeatable), // the provider charges once for each derived key
		idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil)))))
}

type provider string // the base URL of a payment provider

// charge is the JSON of a request, of what the provider is asked and says, and of the answer.
type charge struct {
	ID       string           `json:"id,omitempty"`
	Amount   int64            `json:"amount"` // in the smallest unit of the currency
	Currency string           `json:"currency"`
	Source   string           `json:"source,omitempty"`
	Status   string           `json:"status,omitempty"`
	Metadata *json.RawMessage `json:"metadata,omitempty"`
}

// post answers 201, 400 or 402, which are replayed, or 502, after which a retry runs it again.
func (p provider) post(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	c, valid := read(e)
	switch {
	case e.RequestContext.HTTP.Method != http.MethodPost:
		return answer(http.StatusMethodNotAllowed, "The only operation is POST /charges.")
	case !valid:
		return answer(http.StatusBadRequest, "The body has an amount, a currency and a source, and maybe metadata.")
	}
	made, status, err := p.charge(ctx, idempotent.DerivedKey(ctx, "charge"), c) // one key for every attempt
	switch {
	case status == http.StatusPaymentRequired:
		return answer(status, "The payment source was declined.")
	case err != nil || status != http.StatusOK || made.ID == "":
		log.Printf("the provider failed, and may have charged: status %d, %v", status, err)
		return answer(http.StatusBadGateway, "The payment provider failed. Retry with the same idempotency key.")
	}
	c.ID, c.Status, c.Source = made.ID, made.Status, ""
	return answer(http.StatusCreated, c)
}

func read(e events.APIGatewayV2HTTPRequest) (c charge, valid bool) {
	body := io.Reader(strings.NewReader(e.Body))
	if e.IsBase64Encoded {
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	valid = d.Decode(&c) == nil && !d.More() && c.ID+c.Status == "" && c.Amount > 0 && c.Source != ""
	valid = valid && len(c.Currency) == 3 && c.Currency == strings.ToLower(c.Currency)
	return c, valid && (c.Metadata == nil || (*c.Metadata)[0] == '{')
}

// charge asks the provider. Whatever it returns but 200 and 402, the charge may have been made.
func (p provider) charge(ctx context.Context, key string, c charge) (made *charge, status int, err error) {
	if p == "" {
		log.Printf("counted: %d %s", c.Amount, c.Currency)
		return &charge{ID: "ch_" + key, Status: "succeeded"}, http.StatusOK, nil
	}
	body, failed := json.Marshal(c)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(p)+"/v1/charges", bytes.NewReader(body))
	if err = errors.Join(failed, err); err != nil {
		return nil, 0, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	resp, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	made = &charge{}
	return made, resp.StatusCode, json.NewDecoder(resp.Body).Decode(made)
}

func answer(status int, body any) (events.APIGatewayV2HTTPResponse, error) {
	headers := map[string]string{"Content-Type": "application/json"}
	if detail, is := body.(string); is { // a problem document (RFC 9457), as those of idempotent.Wrap are
		headers["Content-Type"] = "application/problem+json"
		body = map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}
	}
	text, err := json.Marshal(body)
	return events.APIGatewayV2HTTPResponse{StatusCode: status, Headers: headers, Body: string(text)}, err
}
