package powertools_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestPowertoolsResultsAreKeptAsTheLanguageDoes(t *testing.T) {
	t.Parallel()
	type result = json.RawMessage
	for name, c := range map[string]struct {
		option idempotent.Option
		key    string
		out    string
		layout store.Layout
		kept   string
	}{
		"python":           {python(), key1, `{"b": 1, "a":[1.0]}`, store.LayoutText, `{"b":1,"a":[1.0]}`},
		"python, a string": {python(), key1, `"a"`, store.LayoutText, `"a"`},
		"java":             {java(), key1, `{"b":1,"a":2}`, store.LayoutText, `{"b":1,"a":2}`},
		"typescript": {
			typescript(), key1TS, `{"b":1,"a":[1.50,"x"]}`, store.LayoutValue,
			`{"a":[1.5,"x"],"b":1}`,
		},
		"typescript, text":  {typescript(), key1TS, `"a"`, store.LayoutValue, `"a"`},
		"typescript, false": {typescript(), key1TS, `false`, store.LayoutValue, `false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbour(t, returns(result(c.out)), c.option)
			first, err := n.invoke()
			require.NoError(t, err)
			assert.JSONEq(t, c.out, first)
			r := n.record(c.key)
			assert.Equal(t, c.layout, r.Layout)
			assert.Equal(t, c.kept, string(r.Result))
			assert.True(t, r.Sealed(r.Result))

			replay, err := n.invoke()
			require.NoError(t, err)
			assert.Equal(t, c.kept, replay)
			assert.Equal(t, 1, n.executed)
		})
	}
}

// TestPowertoolsStringsInJava: Java keeps a string without quotes, if the handler's type says that
// it is one.
func TestPowertoolsStringsInJava(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, returns(`say "hi"`), java())
	for range 2 {
		got, err := n.invoke()
		require.NoError(t, err)
		assert.Equal(t, `"say \"hi\""`, got)
	}
	assert.Equal(t, 1, n.executed)
	assert.Equal(t, `say "hi"`, string(n.record(key1).Result))

	n = newNeighbour(t, returns("new"), java())
	n.theirs(key1, func(r *store.Record) { r.Result = []byte(`{"a":1}`) })
	got, err := n.invoke()
	require.NoError(t, err)
	assert.Equal(t, `"{\"a\":1}"`, got, "a text, whatever it looks like")

	n = newNeighbour(t, returns("new"), java())
	n.theirs(key1, func(*store.Record) {})
	_, err = n.invoke()
	require.ErrorIs(t, err, idempotent.ErrUnreadable, "no text")
}

// TestPowertoolsResultsThatTheLanguageCannotRead leave the outcome unknown: the effect happened and
// must not happen again.
func TestPowertoolsResultsThatTheLanguageCannotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option idempotent.Option
		key    string
		out    string
	}{
		"a string among objects in Java": {java(), key1, `"text"`},
		"an integer beyond TypeScript's": {typescript(), key1TS, `9007199254740993`},
		"a member twice":                 {python(), key1, `{"a":1,"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbour(t, returns(json.RawMessage(c.out)), c.option)
			got, err := n.invoke()
			require.NoError(t, err)
			assert.Equal(t, c.out, got, "the first caller gets its answer")
			r := n.record(c.key)
			assert.Equal(t, store.StatusUnknown, r.Status)
			assert.Equal(t, "result-lost", r.Reason)
			require.Len(t, n.seen, 1)
			assert.Error(t, n.seen[0].StoreErr, "the observer learns why")
			assert.Equal(t, report.Unknown, n.seen[0].Settlement)

			_, err = n.invoke()
			require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
			assert.Equal(t, 1, n.executed)
		})
	}
}

var errCard = errors.New("card declined")

// TestPowertoolsTerminalErrorIsUnknown: their readers would replay it as a result.
func TestPowertoolsTerminalErrorIsUnknown(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, func() (int, error) { return 0, idempotent.Terminal(errCard) }, python())
	_, err := n.invoke()
	require.Equal(t, errCard, err)
	r := n.record(key1)
	assert.Equal(t, store.StatusUnknown, r.Status)
	assert.Equal(t, "terminal", r.Reason)
	assert.Empty(t, r.Result)
	_, err = n.invoke()
	require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
	assert.Equal(t, 1, n.executed)
}

// TestPowertoolsRecordsAreRead goes through what a memory store can hold of theirs; proof/interop
// has the rest.
func TestPowertoolsRecordsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option idempotent.Option
		key    string
		layout store.Layout
		kept   []byte
		want   string // empty if it cannot be read
	}{
		"python":                        {python(), key1, "", []byte(`{"ok": true}`), `{"ok": true}`},
		"python, nothing":               {python(), key1, "", nil, `null`},
		"python, NaN":                   {python(), key1, "", []byte(`{"x": NaN}`), ""},
		"python, a value of TypeScript": {python(), key1, store.LayoutValue, []byte(`{}`), ""},
		"java, a text that is no JSON":  {java(), key1, "", []byte(`hello`), ""},
		"java, nothing":                 {java(), key1, "", nil, ""},
		"java, a value of TypeScript":   {java(), key1, store.LayoutValue, []byte(`{}`), ""},
		"typescript, object":            {typescript(), key1TS, store.LayoutValue, []byte(`{"a":1}`), `{"a":1}`},
		"typescript, string":            {typescript(), key1TS, "", []byte(`{"a":1}`), `"{\"a\":1}"`},
		"typescript, undefined":         {typescript(), key1TS, "", nil, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbour(t, returns(json.RawMessage(`1`)), c.option)
			n.theirs(c.key, func(r *store.Record) { r.Layout, r.Result = c.layout, c.kept })
			got, err := n.invoke()
			assert.Zero(t, n.executed)
			if c.want == "" {
				require.ErrorIs(t, err, idempotent.ErrUnreadable)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

// TestPowertoolsTakeoverIsCompletedInTheLayout: a record of theirs whose lease ended becomes one
// that both read.
func TestPowertoolsTakeoverIsCompletedInTheLayout(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, returns(json.RawMessage(`{"b":1,"a":2}`)), typescript())
	n.theirs(key1TS, func(r *store.Record) {
		r.Status, r.Lease = store.StatusInProgress, time.Now().Add(-time.Second).Truncate(time.Millisecond)
	})
	_, err := n.invoke()
	require.NoError(t, err)
	r := n.record(key1TS)
	assert.Equal(t, store.StatusCompleted, r.Status)
	assert.Equal(t, store.LayoutValue, r.Layout)
	assert.Equal(t, 2, r.Attempt)
	assert.JSONEq(t, `{"b":1,"a":2}`, string(r.Result))
}

// TestPowertoolsProtectEveryMethod: theirs knows no methods, so a GET that they execute must not be
// executed again here.
func TestPowertoolsProtectEveryMethod(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH", "QUERY"} {
		h := ofHTTP(t, responseV2{StatusCode: 201})
		assert.Equal(t, 201, h.ask(requestV2of(method, `{"id":1}`)).StatusCode, method)
		assert.Empty(t, h.record(key1).Fingerprint, "the key is theirs: it has no scope, nor a fingerprint")
		assert.Equal(t, "true", h.ask(requestV2of("POST", `{"id":1}`)).Headers["Idempotent-Replayed"], method)
		assert.Equal(t, "true", h.ask(requestV2of(method, `{"id":1}`)).Headers["Idempotent-Replayed"], method)
		assert.Equal(t, 400, h.ask(requestV2of(method, `{"x":1}`)).StatusCode, "%s needs its key", method)
		assert.Equal(t, 400, h.ask(requestV2of(method, "")).StatusCode, "%s without a body needs it too", method)
		assert.Equal(t, 1, h.executed, method)

		h = ofHTTP(t, responseV2{StatusCode: 201}, idempotent.WithOptionalKey())
		assert.Equal(t, 201, h.ask(requestV2of(method, `{"x":1}`)).StatusCode, method)
		assert.Zero(t, h.store.Len(), "%s without a key runs unprotected", method)
		assert.Equal(t, 1, h.executed, method)
	}
}

// TestPowertoolsResponsesWithoutStatus: payload format 2.0 lets a function return the body alone.
func TestPowertoolsResponsesWithoutStatus(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string]responseV2{
		`{"statusCode": 202, "body": "ok"}`: {StatusCode: 202, Body: "ok"},
		`{"ok": true}`:                      {StatusCode: 200, Body: `{"ok": true}`},
		`"text"`:                            {StatusCode: 200, Body: `"text"`},
	} {
		h := ofHTTP(t, responseV2{StatusCode: 500})
		h.theirs(key1, func(r *store.Record) { r.Result = []byte(kept) })
		got := h.ask(requestV2of("POST", `{"id":1}`))
		assert.Equal(t, want.StatusCode, got.StatusCode)
		assert.Equal(t, want.Body, got.Body)
		assert.Equal(t, "true", got.Headers["Idempotent-Replayed"])
	}
	h := neighbourOf[events.APIGatewayProxyRequest](t, idOfBody,
		returns(events.APIGatewayProxyResponse{StatusCode: 201}), python())
	h.theirs(key1, func(r *store.Record) { r.Result = []byte(`{"ok": true}`) })
	event := events.APIGatewayProxyRequest{HTTPMethod: "POST", Resource: "/charges", Path: "/charges", Body: `{"id":1}`}
	event.RequestContext.APIID = "api"
	assert.Equal(t, 500, h.ask(event).StatusCode, "a REST API takes no response without a status")
	assert.Zero(t, h.executed)
}

type (
	requestV2  = events.APIGatewayV2HTTPRequest
	responseV2 = events.APIGatewayV2HTTPResponse
)

func requestV2of(method, body string) (e requestV2) {
	e.Version, e.RouteKey, e.RawPath, e.Body = "2.0", method+" /charges", "/charges", body
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.HTTP.Method = "api", "prod", method
	return e
}

const idOfBody = "powertools_json(body).id"

// ofHTTP is a handler of an HTTP API that shares records with a Python function.
func ofHTTP(t *testing.T, out responseV2, opts ...idempotent.Option) *neighbour[requestV2, responseV2] {
	t.Helper()
	return neighbourOf[requestV2](t, idOfBody, returns(out), append(opts, python())...)
}
