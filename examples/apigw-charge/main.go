// Command apigw-charge is a Lambda function behind an HTTP API: POST /charges charges a source at
// PAYMENTS_URL, or counts if that is not set. IDEMPOTENCY_TABLE names the table of its records.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
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
	client := awshttp.NewBuildableClient().WithTimeout(time.Second) // a lost reply leaves time for another try
	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(client))
	if os.Getenv("IDEMPOTENCY_TABLE") == "" || err != nil {
		log.Fatal("IDEMPOTENCY_TABLE is not set, or the configuration of AWS cannot be read: ", err)
	}
	lambda.Start(idempotent.Wrap(provider(bytes.TrimRight([]byte(os.Getenv("PAYMENTS_URL")), "/")).post,
		dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE")), idempotent.WithObserver(
			observe.All(observe.EMF(os.Stdout), observe.Slog(nil))), idempotent.WithEffects(idempotent.Repeatable)))
}

// post answers 201, 400, 402, 404 or 405, which are replayed, or 502, after which a retry runs it.
func (p provider) post(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	c, wrong := read(e)
	status, body, h := 400, "The request is invalid: "+wrong+".", map[string]string{"Content-Type": "application/json"}
	switch routed := e.RouteKey == "POST /charges"; {
	case !routed && e.RawPath != "/charges":
		status, body = 404, "The only operation is POST /charges."
	case !routed && e.RequestContext.HTTP.Method != http.MethodPost:
		status, body, h["Allow"] = 405, "The only operation is POST /charges.", "POST"
	case wrong == "":
		status, body = p.charge(ctx, c)
	}
	if status != 201 { // a problem document (RFC 9457), as those of idempotent.Wrap are
		h["Content-Type"] = "application/problem+json"
		body = fmt.Sprintf(`{"title":%q,"status":%d,"detail":%q}`, http.StatusText(status), status, body)
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: status, Headers: h, Body: body}, nil
}

type provider string // the base URL of a payment provider, which charges once for each derived key
var fields = []struct{ name, form, must string }{
	{"amount", `^([1-9]\d{0,17}|[1-8]\d{18})$`, "be a positive integer, in the smallest unit of the currency"},
	{"currency", `^"[a-z]{3}"$`, "be an ISO 4217 code of three lower-case letters"},
	{"source", `^".+"$`, "be a non-empty string"},
	{"metadata", `^({.*}|null)?$`, "be an object"},
}

// read understands a request. What is wrong with it is for the client to read.
func read(e events.APIGatewayV2HTTPRequest) (c map[string]json.RawMessage, wrong string) {
	body, b := []byte(e.Body), bytes.Buffer{}
	if decoded, err := base64.StdEncoding.DecodeString(e.Body); e.IsBase64Encoded && err == nil {
		body = decoded
	}
	if json.Compact(&b, bytes.ToValidUTF8(body, []byte{0})) != nil || json.Unmarshal(b.Bytes(), &c) != nil || c == nil {
		return nil, "the body must be a JSON object"
	}
	for name := range c {
		if !regexp.MustCompile(`^(amount|currency|metadata|source)$`).MatchString(name) {
			return nil, fmt.Sprintf("the field %.40q is unknown", name)
		}
	}
	for _, f := range fields {
		if !regexp.MustCompile(f.form).Match(c[f.name]) {
			return nil, f.name + " must " + f.must
		}
	}
	return c, ""
}

// charge asks the provider, or counts. After anything but 201 and 402 it may have charged.
func (p provider) charge(ctx context.Context, c map[string]json.RawMessage) (status int, body string) {
	x, _ := idempotent.FromContext(ctx)
	check := idempotent.DerivedKey(ctx, fmt.Sprintf("charge of %s %s", c["amount"], bytes.Trim(c["currency"], `"`)))
	marks, metadata := fmt.Sprintf(`"idempotency_check":%q,"idempotency_record":%q`, check, x.RecordKey), ""
	if own := string(bytes.TrimPrefix(c["metadata"], []byte("null"))); own != "" {
		marks = fmt.Sprintf(`,"idempotency_record":%q,"idempotency_check":%q`, x.RecordKey, check)
		marks, metadata = string(bytes.TrimPrefix([]byte(own[1:len(own)-1]+marks), []byte(","))), `,"metadata":`+own
	}
	key, made := idempotent.DerivedKey(ctx, "charge"), struct{ ID, Status json.RawMessage }{Status: []byte(`""`)}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(p)+"/v1/charges", bytes.NewReader(fmt.Appendf(nil,
		`{"amount":%s,"currency":%s,"source":%s,"metadata":{%s}}`, c["amount"], c["currency"], c["source"], marks)))
	if p == "" {
		made.ID, made.Status, status = fmt.Appendf(nil, `"ch_%s"`, key), []byte(`"succeeded"`), 200
	} else if err == nil {
		r.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
		stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // no redirects
		var resp *http.Response
		if resp, err = (&http.Client{Timeout: 10 * time.Second, CheckRedirect: stay}).Do(r); err == nil {
			defer resp.Body.Close()
			status, err = resp.StatusCode, json.NewDecoder(resp.Body).Decode(&made)
		}
	}
	switch {
	case status == 402 || p == "" && string(c["source"]) == `"tok_chargeDeclined"`:
		return 402, "The payment source was declined."
	case err != nil || status/100 != 2 || len(made.ID) < len(`"x"`):
		log.Printf("the provider failed, and may have charged: status %d, %v", status, err)
		return 502, "The payment provider failed. Retry with the same idempotency key."
	}
	return 201, fmt.Sprintf(`{"id":%s,"amount":%s,"currency":%s,"status":%s%s}`,
		made.ID, c["amount"], c["currency"], made.Status, metadata)
}
