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

// delivered is what a real handler has made of an event: the record, and the derived key that it handed out.
type delivered struct{ recordKey, derived string }

// deliver lets a handler of these types have an event. It returns nothing for an event that leaves no record.
func deliver[In, Out any](t *testing.T, event []byte, opts ...idempotent.Option) delivered {
	t.Helper()
	var d delivered
	s := memory.New()
	h := idempotent.Wrap(func(ctx context.Context, _ In) (out Out, err error) {
		d.derived = idempotent.DerivedKey(ctx, "charge")
		return out, json.Unmarshal([]byte(`{"statusCode":201}`), &out)
	}, s, opts...)
	_, err := h.Invoke(t.Context(), event)
	require.NoError(t, err)
	for r, err := range s.List(t.Context(), store.Query{}) {
		require.NoError(t, err)
		d.recordKey = r.Key
	}
	if d.recordKey == "" {
		return delivered{}
	}
	return d
}

func deliverFile(t *testing.T, file string, opts ...idempotent.Option) delivered {
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
	RecordKey   string `json:"record_key"`
	Scope       []struct{ Name, Value string }
	DerivedKeys map[string]string `json:"derived_keys"`
}

func (k keyLine) part(name string) string {
	for _, p := range k.Scope {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

func (k keyLine) delivered() delivered { return delivered{k.RecordKey, k.DerivedKeys["charge"]} }

func key(t *testing.T, args ...string) keyLine {
	t.Helper()
	r := run(t, append([]string{"key", "--operation", "charge", "-o", "json"}, args...))
	require.Zero(t, r.code, r.err)
	return lines[keyLine](t, r.out)[0]
}

// The key of every event that a gateway sends is that of the record which a handler makes of it, and so is the key of what a support
// desk knows of it.
func TestKeyFindsTheRecordOfEveryEvent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/events/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want := deliverFile(t, file, idempotent.WithOperation("charge"))
			if want == (delivered{}) {
				r := run(t, []string{"key", "--operation", "charge", "--event", file})
				assert.Equal(t, 1, r.code, "%s%s", r.out, r.err)
				return
			}
			fromEvent := key(t, "--event", file, "--derived", "charge")
			assert.Equal(t, want, fromEvent.delivered())
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

// Every option that changes a record key has its flag.
func TestKeyKnowsTheOptionsOfTheHandler(t *testing.T) {
	t.Parallel()
	file, body := write(t, "event.json", eventOfV2), write(t, "body.json", `{"amount":10,"order":"o-17"}`)
	secret := write(t, "secret", "0123456789abcdef0123456789abcdef")
	request := []string{
		"--method", "POST", "--route", "/charges", "--path", "/charges", "--api", "a1b2c3", "--stage", "$default",
		"--query", "a=1&b=%20x&a=2", "--body", body, "--content-type", "application/json",
		"--caller", "iam:123456789012,AROAX:dana@example.com,arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Admin_1/dana@example.com",
	}
	type in = events.APIGatewayV2HTTPRequest
	seen := make(map[string]string)
	for name, c := range map[string]struct {
		opts []idempotent.Option
		args []string
		key  []string // of the request by its parts
	}{
		"default":      {nil, nil, []string{"--key", "order-2"}},
		"header":       {[]idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{Header: "X-Key"})}, []string{"--header", "X-Key"}, []string{"--key", "order-1"}},
		"digest key":   {[]idempotent.Option{idempotent.WithDigestKey([]byte("0123456789abcdef0123456789abcdef"))}, []string{"--digest-key-file", secret}, []string{"--key", "order-2"}},
		"selected key": {[]idempotent.Option{idempotent.WithKey(func(in) (string, error) { return "o-17", nil })}, []string{"--selected-key", "o-17"}, nil},
		"key path":     {[]idempotent.Option{idempotent.WithKeyPath("powertools_json(body).order")}, []string{"--key-path", "powertools_json(body).order"}, nil},
		"tenant":       {[]idempotent.Option{idempotent.WithTenant(func(context.Context, in) (string, error) { return "acme", nil })}, []string{"--caller", "tenant:acme"}, []string{"--key", "order-2"}},
		"powertools": {
			[]idempotent.Option{idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "shop.handler", AllCallers: true}), idempotent.WithKeyPath("powertools_json(body).order")},
			[]string{"--powertools", "python", "--powertools-prefix", "shop.handler", "--key-path", "powertools_json(body).order"},
			nil,
		},
	} {
		event := deliver[in, events.APIGatewayV2HTTPResponse](t, []byte(eventOfV2), append([]idempotent.Option{idempotent.WithOperation("charge")}, c.opts...)...)
		assert.NotContains(t, seen, event.recordKey, "%s has the key of %s", name, seen[event.recordKey])
		seen[event.recordKey] = name
		got := key(t, append(c.args, "--event", file, "--derived", "charge")...)
		assert.Equal(t, event, got.delivered(), name)
		got = key(t, append(append(append([]string{"--derived", "charge"}, request...), c.key...), c.args...)...)
		assert.Equal(t, event.recordKey, got.RecordKey, "%s, by its parts", name)
		if name != "powertools" { // whose handler reads another form of event, and has no fingerprint
			assert.Equal(t, event.derived, got.DerivedKeys["charge"], "%s, by its parts", name)
		}
	}
}

// Whoever takes one record of a batch, or a value, has a key of their own.
func TestKeyOfHandlersThatAnswerNoRequests(t *testing.T) {
	t.Parallel()
	message := `{"messageId":"m-1","receiptHandle":"r-1","body":"{\"order\":\"o-17\"}","attributes":{"ApproximateReceiveCount":"2"},"eventSource":"aws:sqs"}`
	operation := idempotent.WithOperation("charge")
	sqs := deliver[events.SQSMessage, struct{}](t, []byte(message), operation, idempotent.WithKeyPath("messageId"))
	got := key(t, "--event", write(t, "message.json", message), "--key-path", "messageId", "--derived", "charge")
	assert.Equal(t, sqs, got.delivered())

	type order struct{ ID string }
	value := deliver[order, struct{}](t, []byte(`{"ID":"o-17"}`), operation, idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	got = key(t, "--event", write(t, "order.json", `{"ID":"o-17"}`), "--selected-key", "o-17", "--derived", "charge")
	assert.Equal(t, value, got.delivered())
	assert.Equal(t, value.recordKey, key(t, "--selected-key", "o-17").RecordKey)

	r := run(t, []string{"key", "--operation", "charge", "--event", write(t, "batch.json", `{"Records":[`+message+`]}`), "--key-path", "Records[0].messageId"})
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.err, "give one of them")
}

func TestKeyRefusesWhatWouldLeadToAnotherRecord(t *testing.T) {
	t.Parallel()
	event := write(t, "event.json", eventOfV2)
	request := []string{"--operation", "charge", "--key", "order-1", "--method", "POST", "--route", "/charges", "--api", "a1b2c3", "--stage", "$default"}
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
		"--operation is missing":                              {[]string{"--event", event}, 2},
		"say what the request was":                            {[]string{"--operation", "charge"}, 2},
		"--event is the whole request":                        {append([]string{"--event", event}, request...), 2},
		"--key is missing":                                    {without("--key"), 2},
		"--method is missing":                                 {without("--method"), 2},
		"--route or --path is missing":                        {without("--route"), 2},
		"--api is missing":                                    {without("--api"), 2},
		"--stage is missing":                                  {without("--stage"), 2},
		"--caller jwt: is not jwt:ISSUER,SUBJECT":             {append([]string{"--caller", "jwt:user-17"}, request...), 2},
		"--caller iam: is not iam:ACCOUNT,USER_ID[,USER_ARN]": {append([]string{"--caller", "iam:user-17"}, request...), 2},
		"--caller api-key: is not api-key:NAME":               {append([]string{"--caller", "api-key"}, request...), 2},
		"--caller oidc: is none of":                           {append([]string{"--caller", "oidc:x"}, request...), 2},
		"the event names the caller":                          {[]string{"--operation", "charge", "--event", event, "--caller", "jwt:a,b"}, 2},
		"--derived needs the whole request":                   {append([]string{"--derived", "charge"}, request...), 2},
		"the event of 1 bytes is no JSON":                     {[]string{"--operation", "charge", "--event", write(t, "bad.json", "{")}, 2},
		"--event cannot be read":                              {[]string{"--operation", "charge", "--event", "/nowhere/event.json"}, 2},
		"--kind \"soap\" is none of":                          {[]string{"--operation", "charge", "--event", event, "--kind", "soap"}, 2},
		"WithOperation":                                       {append([]string{"--operation", "a b"}, request[2:]...), 2},
		"WithDigestKey":                                       {append([]string{"--digest-key-file", write(t, "short", "abc")}, request...), 2},
		"no idempotency key in header X-Other":                {[]string{"--operation", "charge", "--event", event, "--header", "X-Other"}, 1},
		"this request has no record":                          {append(without("--method"), "--method", "GET"), 1},
		"is it one of another payload format":                 {[]string{"--operation", "charge", "--event", event, "--kind", "rest-api"}, 1},
	} {
		r := run(t, append([]string{"key"}, c.args...))
		assert.Equal(t, c.code, r.code, "%s: %s%s", says, r.out, r.err)
		assert.Contains(t, r.err, says)
		assert.Empty(t, r.out)
		assert.NotContains(t, r.err, "order-1", "keys of clients are in no message")
	}
}

// It is offline: it needs no table, no Region and no credentials, and there is no network where it runs.
func TestKeyAsksNobody(t *testing.T) {
	t.Parallel()
	r := run(t, []string{"key", "--operation", "charge", "--event", "-", "--derived", "charge"}, in(eventOfV2),
		env("AWS_ENDPOINT_URL=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"))
	require.Zero(t, r.code, r.err)
	golden(t, "key", []string{"key", "--operation", "charge", "--event", "-", "--derived", "charge"}, r, nil)
}
