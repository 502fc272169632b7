package idempotent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

// secret stands for everything that a payload may hold. It is a number, too, and may be part of any
// text. told are the forms in which it must not come back: its digits, also with a point behind the
// first of them, and its base64.
const secret = "4111222233334444"

var told = []string{"111222233334", base64.StdEncoding.EncodeToString([]byte(secret))[:12]}

// TestNoErrorProblemOrLogRepeatsThePayload puts the secret into every place of events of every
// kind: as a text, a number, a member, an element and a name, into bodies, and at the end of a
// payload that is cut off.
func TestNoErrorProblemOrLogRepeatsThePayload(t *testing.T) {
	t.Parallel()
	for name, h := range listeners() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := 0
			h.spoil(func(place string, payload []byte) { failed += overhear(t, h, place, payload) })
			require.NotZero(t, failed, "some of these payloads fail")
		})
	}
}

// FuzzNoErrorProblemOrLogRepeatsThePayload puts the secret anywhere into anything.
func FuzzNoErrorProblemOrLogRepeatsThePayload(f *testing.F) {
	all := listeners()
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		for _, event := range all[name].events {
			for at := 0; at < len(event); at += 29 {
				f.Add(uint8(i), []byte(event), uint16(at), at%2 == 0)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, payload []byte, at uint16, cut bool) {
		name := names[int(which)%len(names)]
		i := min(int(at), len(payload))
		with := slices.Concat(payload[:i], []byte(secret))
		if !cut {
			with = append(with, payload[i:]...)
		}
		overhear(t, all[name], name, with)
	})
}

// overhear delivers a payload, and fails if anything that the library says has the secret. It
// returns 1 if something failed.
func overhear(t *testing.T, h listener, place string, payload []byte) (failed int) {
	t.Helper()
	var log, metrics bytes.Buffer
	answer, err := h.wrap(idempotent.WithObserver(withoutTemplate(payload, observe.All(
		observe.Slog(slog.New(slog.NewJSONHandler(&log, nil))), observe.Slog(slog.New(slog.NewTextHandler(&log, nil))),
		observe.EMF(&metrics, observe.Config{Route: true}),
	)))).Invoke(t.Context(), payload)
	said := map[string]string{"log": log.String(), "metrics": metrics.String()}
	if err != nil {
		failed = 1
		said["error"], said["verbose error"] = err.Error(), fmt.Sprintf("%+v", err)
		require.NotContains(t, err.Error(), "invalid character '", "not even one character of it")
		if decode, ok := errors.AsType[*idempotent.Error](err); ok && errors.Is(err, idempotent.ErrDecode) {
			for e := error(decode); e != nil; e = errors.Unwrap(e) {
				said["cause "+fmt.Sprintf("%T", e)] = e.Error()
			}
		}
	}
	if document, is := problemIn(answer); is {
		failed = 1
		said["problem"] = document
	}
	for where, text := range said {
		for _, form := range told {
			if strings.Contains(text, form) {
				t.Fatalf("%s: the %s of %s has it: %s", place, where, payload, text)
			}
		}
	}
	return failed
}

// withoutTemplate leaves the template of the gateway out of what an observer hears: nobody who
// sends a request chooses it.
func withoutTemplate(payload []byte, observe func(context.Context, report.Delivery)) func(context.Context,
	report.Delivery) {
	return func(ctx context.Context, e report.Delivery) {
		var of struct{ RouteKey, Resource string }
		_ = json.NewDecoder(bytes.NewReader(payload)).Decode(&of) // what is no event has no route
		_, key, _ := strings.Cut(of.RouteKey, " ")
		if _, template, _ := strings.Cut(e.Route, " "); template == key || template == of.Resource {
			e.Route = ""
		}
		observe(ctx, e)
	}
}

// problemIn returns the problem document of an answer without its instance, which is the path of
// the request and its id.
func problemIn(answer []byte) (document string, is bool) {
	var response struct {
		Headers           map[string]string
		MultiValueHeaders map[string][]string
		Body              string
	}
	if json.Unmarshal(answer, &response) != nil {
		return "", false
	}
	kind := response.Headers["Content-Type"] + strings.Join(response.MultiValueHeaders["Content-Type"], "")
	var members map[string]any
	if !strings.HasPrefix(kind, "application/problem+json") || json.Unmarshal([]byte(response.Body), &members) != nil {
		return "", false
	}
	delete(members, "instance")
	return fmt.Sprint(members, response.Headers), true
}

// listener is a handler that is given the secret, and events that it takes.
type listener struct {
	wrap   func(opts ...idempotent.Option) invoker
	events []string
}

// listeners are handlers of every kind, whose functions quote what they do not like.
func listeners() map[string]listener {
	v2 := requests(`{"version":"2.0","routeKey":"POST /charges","rawPath":"/charges","rawQueryString":"a=1",%s,"requestContext":{"apiId":"api",
		"stage":"prod","requestId":"request-1","http":{"method":"POST"},"authorizer":{"jwt":{"claims":{"iss":"i","sub":"s"}}}}}`)
	v1 := requests(`{"resource":"/charges","path":"/charges","httpMethod":"POST","queryStringParameters":{"a":"1"},%s,
		"multiValueHeaders":{"content-type":["application/json"],"idempotency-key":["k-1"],"sent-at":["Tue, 01 Jan 2030 00:00:00 GMT"]},
		"requestContext":{"apiId":"api","stage":"prod","requestId":"request-1","authorizer":{"principalId":"p"}}}`)
	url := requests(`{"version":"2.0","rawPath":"/charges","rawQueryString":"a=1",%s,"requestContext":{"apiId":"url","domainPrefix":"url",
		"domainName":"url.lambda-url.eu-central-1.on.aws","requestId":"request-1","http":{"method":"POST"}}}`)
	alb := requests(`{"httpMethod":"POST","path":"/charges","queryStringParameters":{"a":"1"},%s,
		"requestContext":{"elb":{"targetGroupArn":"target-group"}}}`)
	all := map[string]listener{
		"HTTP API": {listening[requestV2](events.APIGatewayV2HTTPResponse{StatusCode: 201}), v2},
		"REST API": {
			listening[events.APIGatewayProxyRequest](events.APIGatewayProxyResponse{StatusCode: 201}),
			v1,
		},
		"function URL": {
			listening[events.LambdaFunctionURLRequest](events.LambdaFunctionURLResponse{StatusCode: 201}),
			url,
		},
		"load balancer": {listening[events.ALBTargetGroupRequest](events.ALBTargetGroupResponse{StatusCode: 201}), alb},
	}
	for name, opts := range map[string][]idempotent.Option{
		"strict header": {idempotent.WithHTTP(idempotent.HTTP{
			CheckKey: func(key string) error { return fmt.Errorf("%q will not do", key) }, RequireTenant: true,
			FingerprintHeaders: []string{"sent-at"},
		})},
		"timestamp": {idempotent.WithHTTP(idempotent.HTTP{
			TimestampHeader: "Sent-At",
			MaxRequestAge:   time.Hour,
		})},
		"key path":         {idempotent.WithKeyPath("powertools_json(body).[order, to_number(amount), items[].card]")},
		"base64 path":      {idempotent.WithKeyPath("powertools_json(powertools_base64(body)).order")},
		"fingerprint path": {idempotent.WithFingerprintPath("powertools_json(body).abs(amount)")},
		"key function":     {idempotent.WithKey(func(r requestV2) (string, error) { return quoting(r.Body) })},
		"tenant function": {idempotent.WithTenant(func(_ context.Context, r requestV2) (string, error) {
			return quoting(r.Body)
		})},
		"fingerprint function": {idempotent.WithFingerprint(func(r requestV2) (any, error) { return quoting(r.Body) })},
		"fingerprint value": {
			idempotent.WithFingerprint(func(r requestV2) (any, error) { return json.Number(r.Body), nil }),
		},
	} {
		given := v2[:1]
		if name == "base64 path" {
			given = v2[1:]
		}
		all["HTTP API, "+name] = listener{listening[requestV2](events.APIGatewayV2HTTPResponse{StatusCode: 201},
			opts...), given}
	}

	operation := idempotent.WithOperation("ledger")
	for name, opts := range map[string][]idempotent.Option{
		"key function": {idempotent.WithKey(func(l ledger) (string, error) { return l.ID, nil })},
		"key path":     {idempotent.WithKeyPath("[id, amount]"), idempotent.WithFingerprintPath("[when, nested]")},
		"tenant": {
			idempotent.WithKeyPath("id"),
			idempotent.WithTenant(func(_ context.Context, l ledger) (string, error) {
				_, err := strconv.ParseInt(l.ID, 10, 8)
				return "someone", err
			}),
		},
	} {
		all["event, "+name] = listener{listening[ledger](receipt{}, append(opts, operation)...), []string{ledgerEvent}}
	}
	for _, language := range []idempotent.PowertoolsLanguage{
		idempotent.PowertoolsPython, idempotent.PowertoolsTypeScript, idempotent.PowertoolsJava21,
	} {
		shared := idempotent.WithPowertools(idempotent.Powertools{Language: language, Prefix: "p"})
		all["event of "+string(language)] = listener{
			listening[ledger](receipt{}, shared, idempotent.WithKeyPath("id"),
				idempotent.WithFingerprintPath("nested")), []string{ledgerEvent},
		}
		all["whole event of "+string(language)] = listener{
			listening[map[string]any](receipt{}, shared),
			[]string{ledgerEvent},
		}
	}
	all["result"] = listener{
		func(opts ...idempotent.Option) invoker {
			return idempotent.Wrap(func(_ context.Context, l ledger) (json.Number,
				error,
			) {
				return json.Number("x" + l.ID), nil
			},
				memory.New(), append(opts, operation, idempotent.WithKeyPath("id"))...)
		},
		[]string{ledgerEvent},
	}
	return all
}

func textOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type requestV2 = events.APIGatewayV2HTTPRequest

// requests are the events of a gateway: one whose body is JSON, and one whose body is that in
// base64.
func requests(format string) []string {
	const (
		body    = `{"order":"o-1","amount":5,"when":"2026-01-01T00:00:00Z","items":[{"card":"x"}]}`
		headers = `"headers":{"content-type":"application/json","idempotency-key":"k-1","sent-at":"Tue, 01 Jan 2030 00:00:00 GMT"},`
	)
	return []string{
		fmt.Sprintf(format, headers+`"body":`+textOf(body)),
		fmt.Sprintf(format, headers+`"isBase64Encoded":true,"body":`+
			textOf(base64.StdEncoding.EncodeToString([]byte(body)))),
	}
}

func listening[In, Out any](out Out, opts ...idempotent.Option) func(...idempotent.Option) invoker {
	return func(more ...idempotent.Option) invoker {
		return idempotent.Wrap(func(context.Context, In) (Out, error) { return out, nil }, memory.New(),
			slices.Concat(opts, more)...)
	}
}

// quoting is what functions of users do: they decode, and return what the decoder says.
func quoting(body string) (string, error) {
	var b struct {
		Order  string
		Amount int8
		When   time.Time
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return "", fmt.Errorf("the body %q: %w", body, err)
	}
	return b.Order, nil
}

// ledger is an event with a member for each way in which decoding can fail.
type ledger struct {
	ID       string                        `json:"id"`
	Amount   int64                         `json:"amount"`
	Small    int8                          `json:"small"`
	Rate     float64                       `json:"rate"`
	Flag     *bool                         `json:"flag"`
	When     time.Time                     `json:"when"`
	Epoch    events.SecondsEpochTime       `json:"epoch"`
	Blob     []byte                        `json:"blob"`
	Number   json.Number                   `json:"number"`
	Quoted   int                           `json:"quoted,string"`
	ByName   map[string]int                `json:"byName"`
	ByNumber map[int8]string               `json:"byNumber"`
	Nested   struct{ Deep []deep }         `json:"nested"`
	Strict   strict                        `json:"strict"`
	Word     word                          `json:"word"`
	Shadowed shadowed                      `json:"shadowed"`
	Crafted  crafted                       `json:"crafted"`
	Image    events.DynamoDBAttributeValue `json:"image"`
}

const ledgerEvent = `{"id":"o-1","amount":5,"small":1,"rate":0.5,"flag":true,"when":"2026-01-01T00:00:00Z","epoch":1.5,
	"blob":"aGVsbG8=","number":7,"quoted":"7","byName":{"a":1},"byNumber":{"7":"a"},"nested":{"Deep":[{"card":"x","count":1}]},
	"strict":1,"word":"yes","shadowed":{"amount":1,"when":"2026-01-01T00:00:00Z"},"crafted":1,"image":{"N":"1"}}`

type deep struct {
	Card  string `json:"card"`
	Count uint8  `json:"count"`
}

// strict refuses everything but 1, in its own words.
type strict int

func (s *strict) UnmarshalJSON(text []byte) error {
	if string(text) != "1" {
		return errStrict{string(text)}
	}
	*s = 1
	return nil
}

type errStrict struct{ text string }

func (e errStrict) Error() string      { return "strict: " + e.text }
func (errStrict) Is(target error) bool { return target == errNotOne }

var errNotOne = errors.New("not one")

// word decodes a text.
type word string

func (w *word) UnmarshalText(text []byte) error {
	if string(text) != "yes" {
		return fmt.Errorf("no word: %s", text)
	}
	*w = "yes"
	return nil
}

// shadowed decodes as another type.
type shadowed struct {
	Amount int64     `json:"amount"`
	When   time.Time `json:"when"`
}

func (s *shadowed) UnmarshalJSON(text []byte) error {
	type plain shadowed
	return json.Unmarshal(text, (*plain)(s))
}

// crafted makes the errors of packages say what they are not meant to say.
type crafted int

func (*crafted) UnmarshalJSON(text []byte) error {
	s := string(text)
	switch {
	case s == "1":
		return nil
	case strings.HasPrefix(s, `"`):
		return &json.UnmarshalTypeError{Value: s, Struct: s, Field: s + ".amount." + s, Offset: 4111222233334444}
	case strings.HasPrefix(s, "{"):
		return &time.ParseError{Layout: s, Value: s, LayoutElem: s, ValueElem: s, Message: s}
	default:
		return json.Unmarshal([]byte(s+"x"+s), new(int))
	}
}

// spoil puts the secret into every place of the events, and hands out what comes of it.
func (h listener) spoil(deliver func(place string, payload []byte)) {
	for _, event := range h.events {
		var root any
		if err := json.Unmarshal([]byte(event), &root); err != nil {
			panic(err)
		}
		everyPlace("", root, func(v any) { root = v }, func(place string) {
			text := []byte(textOf(root))
			deliver(place, text)
			if !strings.HasSuffix(place, " as "+secret) && !strings.HasSuffix(place, "renamed") {
				return
			}
			if at := bytes.Index(text, []byte(secret)); at >= 0 {
				deliver(place+", cut off", text[:at+len(secret)])
				deliver(place+", cut in", text[:at+len(secret)/2])
			}
			deliver(place+", and more", slices.Concat(text, []byte(secret)))
			deliver(place+", spoiled", bytes.Replace(text, []byte(secret), []byte(secret+"\x01"+secret), 1))
		})
	}
}

// everyPlace replaces a value, and everything in it, by something that has the secret, each time
// calls write, and puts it back. Of a text that is JSON, or the base64 of JSON, it does the same
// inside.
func everyPlace(place string, v any, set func(any), write func(place string)) {
	defer set(v)
	for _, other := range []any{
		secret, json.Number(secret), json.Number("-" + secret + ".5e-3"),
		map[string]any{secret: 1},
		map[string]any{"x" + secret: 1},
		[]any{secret},
		map[string]any{"N": secret + "x"},
		" " + secret + ` "`, "2026-01-01T" + secret, true,
	} {
		set(other)
		write(fmt.Sprintf("%s as %v", place, other))
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member := v[name]
			everyPlace(place+"."+name, member, func(m any) { v[name] = m }, write)
			delete(v, name)
			v[secret] = member
			write(place + "." + name + ", renamed")
			delete(v, secret)
			v[name] = member
		}
	case []any:
		for i, element := range v {
			everyPlace(place+"."+strconv.Itoa(i), element, func(e any) { v[i] = e }, write)
		}
	case string:
		inText(place, v, set, write)
	}
}

func inText(place, text string, set func(any), write func(place string)) {
	var inner any
	inBase64 := func(s string) any { return base64.StdEncoding.EncodeToString([]byte(s)) }
	put := func(s string) any { return s }
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && json.Valid(decoded) {
		text, put = string(decoded), inBase64
	}
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &inner) != nil {
		return
	}
	everyPlace(place+"(JSON)", inner, func(v any) { inner = v }, func(place string) {
		set(put(textOf(inner)))
		write(place)
		set(put(textOf(inner) + secret))
		write(place + ", and more")
	})
}
