package powertools_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// beside is the option of a handler beside a function in another language whose keys begin with
// "p".
func beside(language idempotent.PowertoolsLanguage) idempotent.Option {
	return idempotent.WithPowertools(idempotent.Powertools{Language: language, Prefix: "p", AllCallers: true})
}

func python() idempotent.Option     { return beside(idempotent.PowertoolsPython) }
func typescript() idempotent.Option { return beside(idempotent.PowertoolsTypeScript) }
func java() idempotent.Option       { return beside(idempotent.PowertoolsJava) }

// key1 is the record key of {"id":1} with the path id, in Python and Java; key1TS is that in
// TypeScript.
const (
	key1   = "p#c4ca4238a0b923820dcc509a6f75849b"
	key1TS = "p#xMpCOKC5I4INzFCab3WEmw=="
)

// neighbour is a handler that shares records with another program.
type neighbour[In, Out any] struct {
	*idempotent.Handler[In, Out]

	t        *testing.T
	store    *memory.Store
	seen     []report.Delivery
	executed int
	do       func() (Out, error)
}

func newNeighbour[Out any](t *testing.T, do func() (Out, error),
	opts ...idempotent.Option,
) *neighbour[json.RawMessage, Out] {
	t.Helper()
	return neighbourOf[json.RawMessage](t, "id", do, opts...)
}

// neighbourOf makes one that takes its key from a path.
func neighbourOf[In, Out any](t *testing.T, path string, do func() (Out, error),
	opts ...idempotent.Option,
) *neighbour[In, Out] {
	t.Helper()
	n := &neighbour[In, Out]{t: t, store: memory.New(), do: do}
	opts = append([]idempotent.Option{idempotent.WithKeyPath(path), idempotent.WithObserver(n.see)}, opts...)
	n.Handler = idempotent.Wrap(func(context.Context, In) (Out, error) {
		n.executed++
		return n.do()
	}, n.store, opts...)
	return n
}

func (n *neighbour[In, Out]) see(_ context.Context, e report.Delivery) { n.seen = append(n.seen, e) }

func returns[Out any](out Out) func() (Out, error) {
	return func() (Out, error) { return out, nil }
}

func (n *neighbour[In, Out]) invoke() (string, error) {
	got, err := n.Invoke(n.t.Context(), []byte(`{"id":1,"amount":10}`))
	return string(got), err
}

func (n *neighbour[In, Out]) record(key string) store.Record {
	n.t.Helper()
	r, found, err := n.store.Get(n.t.Context(), key)
	require.NoError(n.t, err)
	require.True(n.t, found, "there is a record")
	return r
}

// ask sends an event.
func (n *neighbour[In, Out]) ask(in In) (out Out) {
	n.t.Helper()
	payload, err := json.Marshal(in)
	require.NoError(n.t, err)
	answer, err := n.Invoke(n.t.Context(), payload)
	require.NoError(n.t, err)
	require.NoError(n.t, json.Unmarshal(answer, &out))
	return out
}

// theirs stores a record as AWS Powertools would have left it.
func (n *neighbour[In, Out]) theirs(key string, change func(r *store.Record)) {
	n.t.Helper()
	now := time.Now().Truncate(time.Second)
	r := store.Record{Key: key, Status: store.StatusCompleted, Expiry: now.Add(time.Hour), Lease: now.Add(time.Minute)}
	change(&r)
	_, claimed, err := n.store.Claim(n.t.Context(), r, now)
	require.NoError(n.t, err)
	require.True(n.t, claimed)
}

// TestPowertoolsAndOwnRecordsAtOnce is the last step of a migration: one handler inside another, so
// that every execution is claimed under both keys, and what either has stored is replayed.
func TestPowertoolsAndOwnRecordsAtOnce(t *testing.T) {
	t.Parallel()
	records, executed := memory.New(), 0
	path := idempotent.WithKeyPath("id")
	charge := func(_ context.Context, in json.RawMessage) (string, error) {
		executed++
		return "charged " + string(in), nil
	}
	own := func(handler func(context.Context, json.RawMessage) (string, error)) *idempotent.Handler[json.RawMessage,
		string] {
		return idempotent.Wrap(handler, records, idempotent.WithOperation("charge"), path,
			idempotent.WithEffects(idempotent.Unrepeatable))
	}
	theirs := idempotent.Wrap(charge, records, python(), path)
	both := own(func(ctx context.Context, in json.RawMessage) (string, error) {
		out, err := theirs.Handle(ctx, in)
		if errors.Is(err, idempotent.ErrInProgress) {
			err = idempotent.NotExecuted(err)
		}
		return out, err
	})
	invoke := func(h *idempotent.Handler[json.RawMessage, string], id string) string {
		got, err := h.Invoke(t.Context(), []byte(`{"id":`+id+`}`))
		require.NoError(t, err)
		return string(got)
	}

	want := invoke(theirs, "1")
	assert.Equal(t, want, invoke(both, "1"), "what was executed before the step is replayed")
	want2 := invoke(both, "2")
	assert.Equal(t, want2, invoke(theirs, "2"), "and found by a sandbox that has not taken it")
	assert.Equal(t, 2, executed)
	after := own(charge)
	assert.Equal(t, want, invoke(after, "1"), "and once it is over")
	assert.Equal(t, want2, invoke(after, "2"))
	assert.Equal(t, 2, executed)

	now := time.Now().Truncate(time.Second)
	_, claimed, err := records.Claim(t.Context(), store.Record{
		Key: "p#eccbc87e4b5ce2fe28308fd9f2a7baf3", Status: store.StatusInProgress, Lease: now.Add(time.Minute),
		Expiry: now.Add(time.Hour),
	}, now)
	require.NoError(t, err)
	require.True(t, claimed)
	for range 2 {
		_, err = both.Invoke(t.Context(), []byte(`{"id":3}`))
		require.ErrorIs(t, err, idempotent.ErrInProgress,
			"a running execution of theirs is waited for, and leaves nothing behind")
	}
	assert.Equal(t, 2, executed)
}

func TestPowertoolsFingerprintIsTheirDigest(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, returns(1), python(), idempotent.WithFingerprintPath("amount"))
	_, err := n.invoke()
	require.NoError(t, err)
	assert.Equal(t, "d3d9446802a44259755d38e6d163e820", n.record(key1).Fingerprint)
	_, err = n.Invoke(t.Context(), []byte(`{"id":1,"amount":11}`))
	require.ErrorIs(t, err, idempotent.ErrMismatch)

	n = newNeighbour(t, returns(1), python(), idempotent.WithFingerprintPath("amount"))
	n.theirs(key1, func(r *store.Record) { r.Result = []byte(`1`) })
	_, err = n.invoke()
	require.ErrorIs(t, err, idempotent.ErrUnreadable, "a record without a digest tells nothing of its request")
}

func TestPowertoolsMissingKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path    string
		payload string
		opts    []idempotent.Option
		err     error
		record  bool
	}{
		"missing":           {"id", `{"x":1}`, nil, idempotent.ErrMissingKey, false},
		"missing, optional": {"id", `{"x":1}`, []idempotent.Option{idempotent.WithOptionalKey()}, nil, false},
		"half":              {"[id, y]", `{"id":1}`, nil, idempotent.ErrMissingKey, false},
		"half, optional": {
			"[id, y]", `{"id":1}`,
			[]idempotent.Option{idempotent.WithOptionalKey()},
			idempotent.ErrMissingKey, false,
		},
		"zero":              {"id", `{"id":0}`, nil, nil, true},
		"fails":             {"powertools_json(id)", `{"id":"{"}`, nil, idempotent.ErrInvalidKey, false},
		"beyond a double":   {"id", `{"id":1e400}`, nil, idempotent.ErrInvalidKey, false},
		"empty whole event": {"", `{}`, nil, idempotent.ErrMissingKey, false},
		"whole event":       {"", `{"x":null,"y":{"z":null,"n":1}}`, nil, nil, true},
		"a member twice":    {"id", `{"id":1,"x":1,"x":2}`, nil, idempotent.ErrInvalidKey, false},
		"twice in the body": {
			"powertools_json(id).x", `{"id":"{\"x\":1,\"x\":2}"}`, nil,
			idempotent.ErrInvalidKey, false,
		},
		"twice, whole event": {"", `{"x":1,"x":2}`, nil, nil, true},
		"event that is null": {"", `null`, []idempotent.Option{idempotent.WithOptionalKey()}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := memory.New()
			opts := append([]idempotent.Option{python()}, c.opts...)
			if c.path != "" {
				opts = append(opts, idempotent.WithKeyPath(c.path))
			}
			h := idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { return 1, nil },
				records, opts...)
			_, err := h.Invoke(t.Context(), []byte(c.payload))
			require.ErrorIs(t, err, c.err)
			assert.Equal(t, c.record, records.Len() == 1)
		})
	}
}

func TestPowertoolsKeysBeginAsTheirs(t *testing.T) {
	type mode = idempotent.Powertools
	for name, c := range map[string]struct {
		mode             mode
		function, prefix string
	}{
		"python":                       {mode{Language: "python", Function: "app.handler"}, "pay", "pay.app.handler#"},
		"python without environment":   {mode{Language: "python", Function: "handler"}, "", "test-func.handler#"},
		"python with a prefix":         {mode{Language: "python", Prefix: " p #"}, "pay", " p ##"},
		"java":                         {mode{Language: "java", Function: "charge"}, "pay", "pay.charge#"},
		"java without environment":     {mode{Language: "java21", Function: "charge"}, "", "testFunction.charge#"},
		"typescript":                   {mode{Language: "typescript"}, "pay", "pay#"},
		"typescript without":           {mode{Language: "typescript"}, "", "#"},
		"typescript with a function":   {mode{Language: "typescript", Function: "charge"}, "pay", "pay.charge#"},
		"typescript with a prefix":     {mode{Language: "typescript", Prefix: " p "}, "pay", "p#"},
		"typescript, a prefix of none": {mode{Language: "typescript", Prefix: "  "}, "pay", "pay#"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_LAMBDA_FUNCTION_NAME", c.function)
			n := newNeighbour(t, returns(1), idempotent.WithPowertools(c.mode))
			_, err := n.invoke()
			require.NoError(t, err)
			require.Len(t, n.seen, 1)
			assert.True(t, strings.HasPrefix(n.seen[0].RecordKey, c.prefix), n.seen[0].RecordKey)
			assert.Equal(t, cmp.Or(c.function, "local"), n.seen[0].Operation)
		})
	}
}

func TestPowertoolsConfiguration(t *testing.T) {
	t.Parallel()
	type mode = idempotent.Powertools
	one := func(m mode) []idempotent.Option { return []idempotent.Option{idempotent.WithPowertools(m)} }
	for name, c := range map[string]struct {
		opts     []idempotent.Option
		problems []string
	}{
		"unknown hash": {
			one(mode{Language: "python", Prefix: "p", Hash: "crc32"}), []string{`hash function "crc32" of python`},
		},
		"no prefix": {
			one(mode{Language: "java"}), []string{"Function, or Prefix: keys of java begin with one of them"},
		},
		"two prefixes": {
			one(mode{Language: "java", Function: "f", Prefix: "p"}), []string{"Prefix and Function contradict"},
		},
		"long prefix": {
			one(mode{Language: "python", Prefix: strings.Repeat("p", 896)}), []string{"a prefix of 896 bytes"},
		},
		"prefix, no UTF-8": {
			one(mode{Language: "python", Prefix: "\xff"}), []string{"a prefix of 1 bytes is not UTF-8"},
		},
		"several": {one(mode{}), []string{"language", "Function, or Prefix"}},
		"options that make keys of their own": {
			[]idempotent.Option{
				python(), idempotent.WithKey(func(json.RawMessage) (string, error) { return "k", nil }),
				idempotent.WithFingerprint(func(json.RawMessage) (any, error) { return 1, nil }),
				idempotent.WithTenant(func(context.Context, json.RawMessage) (string, error) { return "t", nil }),
				idempotent.WithDigestKey(make([]byte, 32)),
			},
			[]string{
				"WithPowertools and WithKey contradict", "WithPowertools and WithFingerprint contradict",
				"WithPowertools and WithTenant contradict", "WithPowertools and WithDigestKey contradict",
			},
		},
		"an expression that languages read differently": {
			[]idempotent.Option{java(), idempotent.WithKeyPath("map(&a, b)")},
			[]string{`WithPowertools: expression "map(&a, b)": function map at offset 0: the languages of AWS Powertools read it differently`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := configtest.ProblemsOf(t, func() {
				idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { return 0, nil },
					memory.New(), c.opts...)
			})
			require.Len(t, problems, len(c.problems), "%q", problems)
			for i, p := range c.problems {
				assert.Contains(t, problems[i], p)
			}
		})
	}
	problems := configtest.ProblemsOf(t, func() {
		idempotent.Wrap(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{}, nil
		}, memory.New(), python(),
			idempotent.WithHTTP(idempotent.HTTP{
				RequireTenant: true, FingerprintHeaders: []string{"accept"},
				RequireKey: []string{},
			}))
	})
	require.Len(t, problems, 3)
	assert.Contains(t, problems[2],
		"WithPowertools and WithHTTP: RequireKey contradict each other: every method needs its key")
}

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
