package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// deliver lets a handler of these types have an event, and returns the key of the record that it
// leaves, if it leaves one.
func deliver[In, Out any](t *testing.T, event []byte, opts ...idempotent.Option) (recordKey string) {
	t.Helper()
	s := memory.New()
	h := idempotent.Wrap(func(context.Context, In) (out Out, err error) {
		return out, json.Unmarshal([]byte(`{"statusCode":201}`), &out)
	}, s, opts...)
	_, err := h.Invoke(t.Context(), event)
	require.NoError(t, err)
	for r, err := range s.List(t.Context(), store.Query{}) {
		require.NoError(t, err)
		recordKey = r.Key
	}
	return recordKey
}

func deliverFile(t *testing.T, file string, opts ...idempotent.Option) string {
	t.Helper()
	event, err := os.ReadFile(file)
	require.NoError(t, err)
	switch family, _, _ := strings.Cut(filepath.Base(file), "-"); family {
	case "v1":
		return deliver[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse](t, event, opts...)
	case "v2":
		return deliver[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](t, event, opts...)
	case "url":
		return deliver[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse](t, event, opts...)
	default:
		return deliver[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse](t, event, opts...)
	}
}

// keyLine is what key prints.
type keyLine struct {
	RecordKey string `json:"record_key"`
	Scope     []struct{ Name, Value string }
}

func (k keyLine) part(name string) string {
	for _, p := range k.Scope {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

func key(t *testing.T, args string) keyLine {
	t.Helper()
	return lines[keyLine](t, runs(t, "key --operation charge -o json "+args).out)[0]
}

// The key of every event that a gateway sends is that of the record which a handler makes of it,
// and so is the key of what a support desk knows of it.
func TestKeyFindsTheRecordOfEveryEvent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../internal/gateway/testdata/events/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want := deliverFile(t, file, idempotent.WithOperation("charge"))
			if want == "" {
				r := run(t, "key --operation charge --event "+file)
				assert.Equal(t, 1, r.code, "%s%s", r.out, r.err)
				return
			}
			fromEvent := key(t, "--event "+file)
			assert.Equal(t, want, fromEvent.RecordKey)
			fromParts := key(t, known(t, file, fromEvent))
			assert.Equal(t, fromEvent.RecordKey, fromParts.RecordKey)
			assert.Equal(t, fromEvent.Scope, fromParts.Scope)
		})
	}
}

// known are the flags of a request whose scope is known.
func known(t *testing.T, file string, k keyLine) string {
	t.Helper()
	var e struct {
		Headers           map[string]string
		MultiValueHeaders http.Header
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &e))
	header := make(http.Header)
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	for name, values := range e.MultiValueHeaders {
		header.Set(name, values[0])
	}
	place := "--path '" + k.part("path") + "'"
	if route := k.part("route"); route != "" {
		place = "--route '" + route + "'"
	}
	names := map[string][]string{
		"jwt": {"issuer", "subject"}, "iam": {"account", "user or role"}, "lambda": {"principal"},
		"lambda-number": {"principal"}, "cognito-identity": {"identity"}, "api-key": {"API key id"},
	}
	caller := k.part("caller")
	for i, name := range names[caller] {
		caller += []string{":", ","}[i] + k.part(name)
	}
	return fmt.Sprintf("--key '%s' --method %s --api '%s' --stage '%s' --caller '%s' %s",
		header.Get("Idempotency-Key"), k.part("method"), k.part("API"), k.part("stage"), caller, place)
}

const eventOfV2 = `{"version":"2.0","routeKey":"POST /charges","rawPath":"/charges","rawQueryString":"a=1&b=%20x&a=2",
	"headers":{"x-key":"order-1","idempotency-key":"order-2","content-type":"application/json","x-region":"eu"},
	"requestContext":{"apiId":"a1b2c3","stage":"$default","requestId":"r","http":{"method":"POST","path":"/charges"},
		"authorizer":{"iam":{"accountId":"123456789012","userId":"AROAX:dana@example.com",
			"userArn":"arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Admin_1/dana@example.com"}}},
	"body":"{\"amount\":10,\"order\":\"o-17\"}"}`

// The options of a handler that the flags repeat lead to its record.
func TestKeyKnowsTheOptionsOfTheHandler(t *testing.T) {
	t.Parallel()
	file := write(t, "event.json", eventOfV2)
	type in = events.APIGatewayV2HTTPRequest
	seen := make(map[string]string)
	for args, option := range map[string]idempotent.Option{
		"":            idempotent.WithDisabled(false),
		"--key o-17 ": idempotent.WithKey(func(in) (string, error) { return "o-17", nil }),
		"--key-path 'powertools_json(body).order' ": idempotent.WithKeyPath("powertools_json(body).order"),
		"--caller tenant:acme ": idempotent.WithTenant(
			func(context.Context, in) (string, error) { return "acme", nil }),
	} {
		event := deliver[in, events.APIGatewayV2HTTPResponse](t, []byte(eventOfV2),
			idempotent.WithOperation("charge"), option)
		assert.NotContains(t, seen, event, "%q has the key of %q", args, seen[event])
		seen[event] = args
		assert.Equal(t, event, key(t, args+"--event "+file).RecordKey, args)
	}
	parts := key(t, `--key order-2 --method post --route /charges --api a1b2c3 --stage '$default' `+
		"--caller iam:123456789012,AROAX:dana@example.com,"+
		"arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Admin_1/dana@example.com")
	require.Contains(t, seen, parts.RecordKey)
	assert.Empty(t, seen[parts.RecordKey], "as the event alone")
}

// Whoever takes one record of a batch, or a value, has a key of their own.
func TestKeyOfHandlersThatAnswerNoRequests(t *testing.T) {
	t.Parallel()
	message := `{"messageId":"m-1","receiptHandle":"r-1","body":"{\"order\":\"o-17\"}","attributes":{"ApproximateReceiveCount":"2"},"eventSource":"aws:sqs"}`
	operation := idempotent.WithOperation("charge")
	sqs := deliver[events.SQSMessage, struct{}](t, []byte(message), operation, idempotent.WithKeyPath("messageId"))
	assert.Equal(t, sqs, key(t, "--key-path messageId --event "+write(t, "message.json", message)).RecordKey)

	type order struct{ ID string }
	value := deliver[order, struct{}](t, []byte(`{"ID":"o-17"}`), operation,
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	assert.Equal(t, value, key(t, "--key o-17 --event "+write(t, "order.json", `{"ID":"o-17"}`)).RecordKey)
	assert.Equal(t, value, key(t, "--key o-17").RecordKey)
}

// It is offline: it needs no table, no Region and no credentials, and there is no network where it
// runs.
func TestKeyAsksNobody(t *testing.T) {
	t.Parallel()
	session(t, "offline/key", nil, in(eventOfV2),
		env("AWS_ENDPOINT_URL=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"))
}
