package main_test

import (
	"context"
	"encoding/json"
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

func key(t *testing.T, args ...string) keyLine {
	t.Helper()
	r := run(t, append([]string{"key", "--operation", "charge", "-o", "json"}, args...))
	require.Zero(t, r.code, r.err)
	return lines[keyLine](t, r.out)[0]
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
				r := run(t, []string{"key", "--operation", "charge", "--event", file})
				assert.Equal(t, 1, r.code, "%s%s", r.out, r.err)
				return
			}
			fromEvent := key(t, "--event", file)
			assert.Equal(t, want, fromEvent.RecordKey)
			fromParts := key(t, known(t, file, fromEvent)...)
			assert.Equal(t, fromEvent.RecordKey, fromParts.RecordKey)
			assert.Equal(t, fromEvent.Scope, fromParts.Scope)
		})
	}
}

// known are the flags of a request whose scope is known.
func known(t *testing.T, file string, k keyLine) []string {
	t.Helper()
	var e struct {
		Headers           map[string]string
		MultiValueHeaders map[string][]string
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &e))
	var header string
	for name, value := range e.Headers {
		if strings.EqualFold(name, "Idempotency-Key") {
			header = value
		}
	}
	for name, values := range e.MultiValueHeaders {
		if strings.EqualFold(name, "Idempotency-Key") {
			header = values[0]
		}
	}
	args := []string{"--key", header, "--method", k.part("method"), "--api", k.part("API"), "--stage", k.part("stage")}
	if route := k.part("route"); route != "" {
		args = append(args, "--route", route)
	} else {
		args = append(args, "--path", k.part("path"))
	}
	switch caller := k.part("caller"); caller {
	case "jwt":
		return append(args, "--caller", "jwt:"+k.part("issuer")+","+k.part("subject"))
	case "iam":
		return append(args, "--caller", "iam:"+k.part("account")+","+k.part("user or role"))
	case "lambda", "lambda-number":
		return append(args, "--caller", caller+":"+k.part("principal"))
	case "cognito-identity":
		return append(args, "--caller", caller+":"+k.part("identity"))
	case "api-key":
		return append(args, "--caller", caller+":"+k.part("API key id"))
	default:
		return append(args, "--caller", caller)
	}
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
	for name, c := range map[string]struct {
		opts []idempotent.Option
		args []string
	}{
		"default": {nil, nil},
		"selected key": {
			[]idempotent.Option{idempotent.WithKey(func(in) (string, error) { return "o-17", nil })},
			[]string{"--key", "o-17"},
		},
		"key path": {
			[]idempotent.Option{idempotent.WithKeyPath("powertools_json(body).order")},
			[]string{"--key-path", "powertools_json(body).order"},
		},
		"tenant": {
			[]idempotent.Option{
				idempotent.WithTenant(func(context.Context, in) (string, error) { return "acme", nil }),
			},
			[]string{"--caller", "tenant:acme"},
		},
	} {
		event := deliver[in, events.APIGatewayV2HTTPResponse](t, []byte(eventOfV2),
			append([]idempotent.Option{idempotent.WithOperation("charge")}, c.opts...)...)
		assert.NotContains(t, seen, event, "%s has the key of %s", name, seen[event])
		seen[event] = name
		assert.Equal(t, event, key(t, append(c.args, "--event", file)...).RecordKey, name)
	}
	assert.Equal(t, "default",
		seen[key(t, "--key", "order-2", "--method", "post", "--route", "/charges", "--api", "a1b2c3",
			"--stage", "$default",
			"--caller", "iam:123456789012,AROAX:dana@example.com,arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Admin_1/dana@example.com").RecordKey])
}

// Whoever takes one record of a batch, or a value, has a key of their own.
func TestKeyOfHandlersThatAnswerNoRequests(t *testing.T) {
	t.Parallel()
	message := `{"messageId":"m-1","receiptHandle":"r-1","body":"{\"order\":\"o-17\"}","attributes":{"ApproximateReceiveCount":"2"},"eventSource":"aws:sqs"}`
	operation := idempotent.WithOperation("charge")
	sqs := deliver[events.SQSMessage, struct{}](t, []byte(message), operation, idempotent.WithKeyPath("messageId"))
	got := key(t, "--event", write(t, "message.json", message), "--key-path", "messageId")
	assert.Equal(t, sqs, got.RecordKey)

	type order struct{ ID string }
	value := deliver[order, struct{}](t, []byte(`{"ID":"o-17"}`), operation,
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	got = key(t, "--event", write(t, "order.json", `{"ID":"o-17"}`), "--key", "o-17")
	assert.Equal(t, value, got.RecordKey)
	assert.Equal(t, value, key(t, "--key", "o-17").RecordKey)

	r := run(t, []string{
		"key", "--operation", "charge", "--event", write(t, "batch.json", `{"Records":[`+message+`]}`),
		"--key-path", "Records[0].messageId",
	})
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.err, "give one of them")
}

func TestKeyRefusesWhatWouldLeadToAnotherRecord(t *testing.T) {
	t.Parallel()
	event := write(t, "event.json", eventOfV2)
	request := []string{
		"--operation", "charge", "--key", "order-1", "--method", "POST", "--route", "/charges", "--api",
		"a1b2c3", "--stage", "$default",
	}
	without := func(flag string) []string {
		var args []string
		for i := 0; i < len(request); i += 2 {
			if request[i] != flag {
				args = append(args, request[i], request[i+1])
			}
		}
		return args
	}
	for says, c := range map[string]struct {
		args []string
		code int
	}{
		"--operation is missing":       {[]string{"--event", event}, 2},
		"say what the request was":     {[]string{"--operation", "charge"}, 2},
		"--event is the whole request": {append([]string{"--event", event}, request...), 2},
		"--key is missing":             {without("--key"), 2},
		"--method is missing":          {without("--method"), 2},
		"--route or --path is missing": {without("--route"), 2},
		"--api is missing":             {without("--api"), 2},
		"--stage is missing":           {without("--stage"), 2},
		"--caller jwt: is not jwt:ISSUER,SUBJECT": {
			append([]string{"--caller", "jwt:user-17"}, request...),
			2,
		},
		"--caller iam: is not iam:ACCOUNT,USER_ID[,USER_ARN]": {
			append([]string{"--caller", "iam:user-17"}, request...),
			2,
		},
		"--caller api-key: is not api-key:ID": {append([]string{"--caller", "api-key"}, request...), 2},
		"--caller oidc: is none of":           {append([]string{"--caller", "oidc:x"}, request...), 2},
		"the event names the caller": {[]string{
			"--operation", "charge", "--event", event,
			"--caller", "jwt:a,b",
		}, 2},
		"the event of 1 bytes is no JSON": {[]string{
			"--operation", "charge", "--event",
			write(t, "bad.json", "{"),
		}, 2},
		"--event cannot be read": {[]string{
			"--operation", "charge", "--event",
			"/nowhere/event.json",
		}, 2},
		"WithOperation": {
			append([]string{"--operation", "a b"}, request[2:]...),
			2,
		},
		"--method is missing; --route or --path is missing; --api is missing": {[]string{
			"--operation", "charge",
			"--key", "order-1", "--stage", "live",
		}, 2},
		"--route \"POST /charges\" is no template": {append(without("--route"), "--route",
			"POST /charges"), 2},
		"--api \"https://a1b2c3.example\" is no id": {append(without("--api"), "--api",
			"https://a1b2c3.example"), 2},
		"this request has no record": {append(without("--method"),
			"--method", "GET"), 1},
	} {
		r := run(t, append([]string{"key"}, c.args...))
		assert.Equal(t, c.code, r.code, "%s: %s%s", says, r.out, r.err)
		assert.Contains(t, r.err, says)
		assert.Empty(t, r.out)
		assert.NotContains(t, r.err, "order-1", "keys of clients are in no message")
	}
}

// It is offline: it needs no table, no Region and no credentials, and there is no network where it
// runs.
func TestKeyAsksNobody(t *testing.T) {
	t.Parallel()
	r := run(t, []string{"key", "--operation", "charge", "--event", "-"}, in(eventOfV2),
		env("AWS_ENDPOINT_URL=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"))
	require.Zero(t, r.code, r.err)
	golden(t, "key", []string{"key", "--operation", "charge", "--event", "-"}, r, nil)
}
