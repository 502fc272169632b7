package idempotent_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/faultstore"
	"github.com/go-idempotent/idempotent/memory"
)

// golden reads testdata/events.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/events/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]byte{}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = payload
	}
	return all
}

func load[E any](t *testing.T, name string) E {
	t.Helper()
	var e E
	payload, err := os.ReadFile(filepath.Join("testdata", "events", name+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(payload, &e))
	return e
}

// Those of the golden events that are not executed, and why.
var refusedGolden = map[string]string{
	"v1-console-test": "missing-key", // it has no headers at all
}

func TestGoldenEventsExecuteOnceThroughInvokeAndHandle(t *testing.T) {
	t.Parallel()
	for name, payload := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "v2":
				executeOnce[requestV2](t, name, payload, ofV2, reply.v2)
			case "v1":
				executeOnce[requestV1](t, name, payload, ofV1, reply.v1)
			case "url":
				executeOnce[requestURL](t, name, payload, ofURL, reply.url)
				executeOnce[requestV2](t, name, payload, ofV2, reply.v2)
			case "alb":
				if strings.HasPrefix(name, "alb-multi") {
					executeOnce[requestALB](t, name, payload, ofALBMulti, reply.albMulti)
				} else {
					executeOnce[requestALB](t, name, payload, ofALB, reply.alb)
				}
			default:
				t.Fatal("of no family")
			}
		})
	}
}

func executeOnce[In, Out any](t *testing.T, name string, payload []byte, read func(Out) reply, respond func(reply) Out) {
	t.Helper()
	executeEventOnce[In](t, name, payload, read, respond)
	executeEventOnce[*In](t, name, payload, read, respond)
	executeEventOnce[In](t, name, payload, pointed(read), pointer(respond))
	executeEventOnce[*In](t, name, payload, pointed(read), pointer(respond))
}

// executeEventOnce delivers a payload to Invoke and its event to Handle, over one store: the second finds the record of
// the first.
func executeEventOnce[In, Out any](t *testing.T, name string, payload []byte, read func(Out) reply, respond func(reply) Out) {
	t.Helper()
	executed := 0
	store := faultstore.New(memory.New(), nil)
	h := idempotent.Wrap(func(context.Context, In) (Out, error) {
		executed++
		return respond(reply{Status: 200, Body: "done"}), nil
	}, store)

	result, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	var first Out
	require.NoError(t, json.Unmarshal(result, &first))
	var event In
	require.NoError(t, json.Unmarshal(payload, &event))
	second, err := h.Handle(t.Context(), event)
	require.NoError(t, err)

	if kind, refused := refusedGolden[name]; refused {
		assert.Contains(t, read(first).Body, "problems.md#"+kind)
		assert.Equal(t, read(first), read(second))
		assert.Zero(t, executed)
		assert.Empty(t, store.Calls())
		return
	}
	assert.Equal(t, "done", read(first).Body)
	assert.Equal(t, read(first).Status, read(second).Status)
	if name == "alb-health-check" {
		assert.Equal(t, 2, executed, "a GET")
		assert.Empty(t, store.Calls())
		return
	}
	assert.True(t, read(second).replayed())
	assert.Equal(t, 1, executed)
}

func TestInvokeAndHandleFindTheSameRecord(t *testing.T) {
	t.Parallel()
	for name, payload := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "v2":
				sameRecord[requestV2, responseV2](t, payload, mutateV2)
				sameRecord[*requestV2, *responseV2](t, payload, func(t *rapid.T, e **requestV2) { mutateV2(t, *e) })
			case "v1":
				sameRecord[requestV1, responseV1](t, payload, mutateV1)
				sameRecord[*requestV1, *responseV1](t, payload, func(t *rapid.T, e **requestV1) { mutateV1(t, *e) })
			case "url":
				sameRecord[requestURL, responseURL](t, payload, mutateURL)
				sameRecord[*requestURL, *responseURL](t, payload, func(t *rapid.T, e **requestURL) { mutateURL(t, *e) })
			case "alb":
				sameRecord[requestALB, responseALB](t, payload, mutateALB)
				sameRecord[*requestALB, *responseALB](t, payload, func(t *rapid.T, e **requestALB) { mutateALB(t, *e) })
			}
		})
	}
}

func sameRecord[In, Out any](t *testing.T, payload []byte, mutate func(*rapid.T, *In)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		var e In
		require.NoError(t, json.Unmarshal(payload, &e))
		mutate(t, &e)
		byValue, answerV, err := identify[In, Out](context.Background(), e, false)
		require.NoError(t, err)
		byWire, answerW, err := identify[In, Out](context.Background(), e, true)
		require.NoError(t, err)
		assert.Equal(t, byValue, byWire)
		assert.Equal(t, answerV, answerW)
	})
}

// anyBody is a body of every kind.
var anyBody = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
	"", "{}", `{"a":1}`, `{"a":1.0, "b":[]}`, `{"a":1,"a":2}`, "AAEC/w==", "\u2028<&>\U0001F600", `{"n":9007199254740993}`,
}))

var (
	anyMethod = rapid.SampledFrom([]string{"POST", "PATCH", "PUT", "DELETE", "GET", "post", ""})
	anyKey    = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"k", `"k"`, "k;a=1", "k,k", "", " k "}))
	anyHeader = rapid.MapOf(rapid.SampledFrom([]string{"Idempotency-Key", "idempotency-key", "Content-Type", "content-type", "X"}),
		rapid.OneOf(anyKey, rapid.SampledFrom([]string{"application/json", "text/plain"})))
)

func mutateV2(t *rapid.T, e *requestV2) {
	changes := []func(){
		func() { e.RequestContext.HTTP.Method = anyMethod.Draw(t, "method") },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() { e.Headers = maps.Clone(e.Headers); e.Headers["idempotency-key"] = anyKey.Draw(t, "key") },
		func() { e.RawPath = rapid.String().Draw(t, "path") },
		func() { e.RouteKey = rapid.String().Draw(t, "route") },
		func() {
			e.RawQueryString = rapid.OneOf(rapid.String(), rapid.StringMatching(`([ab]=(%[0-9a-f]{2}|[cd+]){0,3}&){0,4}`)).Draw(t, "query")
		},
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.APIID = rapid.String().Draw(t, "api") },
		func() { e.RequestContext.Stage = rapid.String().Draw(t, "stage") },
		func() { e.RequestContext.Authorizer = nil },
		func() {
			e.RequestContext.Authorizer = &authorizerV2{Lambda: map[string]any{
				"principalId": rapid.OneOf(rapid.String().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny()).Draw(t, "principal"),
			}}
		},
		func() { noise(t, e) },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func mutateV1(t *rapid.T, e *requestV1) {
	several := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "", "ü"}), rapid.SliceOfN(rapid.String(), 0, 3))
	changes := []func(){
		func() { e.HTTPMethod = anyMethod.Draw(t, "method") },
		func() { e.Headers, e.MultiValueHeaders = anyHeader.Draw(t, "headers"), nil },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() {
			e.MultiValueHeaders = maps.Clone(e.MultiValueHeaders)
			if e.MultiValueHeaders != nil {
				e.MultiValueHeaders["Idempotency-Key"] = rapid.SliceOfN(anyKey, 0, 2).Draw(t, "keys")
			}
		},
		func() { e.Path = rapid.String().Draw(t, "path") },
		func() { e.Resource = rapid.String().Draw(t, "resource") },
		func() { e.MultiValueQueryStringParameters = several.Draw(t, "multi query") },
		func() {
			e.QueryStringParameters = rapid.MapOf(rapid.SampledFrom([]string{"a", "c"}), rapid.String()).Draw(t, "query")
		},
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.APIID = rapid.String().Draw(t, "api") },
		func() { e.RequestContext.Stage = rapid.String().Draw(t, "stage") },
		func() {
			e.RequestContext.Authorizer = map[string]any{"principalId": rapid.String().Draw(t, "principal"), "n": 1.5}
		},
		func() { e.RequestContext.Identity.Caller = rapid.String().Draw(t, "caller") },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func mutateURL(t *rapid.T, e *requestURL) {
	changes := []func(){
		func() { e.RequestContext.HTTP.Method = anyMethod.Draw(t, "method") },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() { e.RawPath = rapid.String().Draw(t, "path") },
		func() { e.RawQueryString = rapid.String().Draw(t, "query") },
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.APIID = rapid.String().Draw(t, "api") },
		func() { e.RequestContext.DomainPrefix = rapid.String().Draw(t, "domain prefix") },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func mutateALB(t *rapid.T, e *requestALB) {
	several := rapid.MapOf(rapid.SampledFrom([]string{"a", "%61", "%", ""}), rapid.SliceOfN(rapid.String(), 0, 3))
	changes := []func(){
		func() { e.HTTPMethod = anyMethod.Draw(t, "method") },
		func() { e.Headers, e.MultiValueHeaders = anyHeader.Draw(t, "headers"), nil },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() {
			e.MultiValueHeaders = map[string][]string{"idempotency-key": rapid.SliceOfN(anyKey, 0, 2).Draw(t, "keys")}
		},
		func() { e.Path = rapid.String().Draw(t, "path") },
		func() { e.MultiValueQueryStringParameters = several.Draw(t, "multi query") },
		func() { e.QueryStringParameters = map[string]string{"b": rapid.String().Draw(t, "query")} },
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.ELB.TargetGroupArn = rapid.String().Draw(t, "target group") },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func TestFieldsThatTheTypesDoNotKnowDoNotCount(t *testing.T) {
	t.Parallel()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(golden(t)["v2-jwt"], &fields))
	fields["newInNextYear"] = map[string]any{"a": []any{1}}
	fields["requestContext"].(map[string]any)["also"] = "new"
	payload, err := json.MarshalIndent(fields, "", "   ")
	require.NoError(t, err)

	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { return responseV2{StatusCode: 200}, nil }, memory.New())
	_, err = h.Handle(t.Context(), load[requestV2](t, "v2-jwt"))
	require.NoError(t, err)
	result, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Contains(t, string(result), "Idempotent-Replayed")
}

func TestKeyInBothHeaderMapsOfARESTEvent(t *testing.T) {
	t.Parallel()
	name, lower := "Idempotency-Key", "idempotency-key"
	none, one, two := map[string][]string(nil), map[string][]string{name: {"k"}}, map[string][]string{name: {"k", "k"}}
	cases := map[string]struct {
		single map[string]string
		multi  map[string][]string
		status int // 0: the key is k
	}{
		"both":                       {map[string]string{name: "k"}, one, 0},
		"both, other spelling":       {map[string]string{lower: "k"}, one, 0},
		"only single":                {map[string]string{name: "k"}, none, 0},
		"only multi":                 {nil, one, 0},
		"single beside other multi":  {map[string]string{name: "k"}, map[string][]string{"Accept": {"a"}}, 0},
		"multi without values":       {map[string]string{name: "k"}, map[string][]string{name: {}}, 0},
		"sent twice":                 {map[string]string{name: "k"}, two, 400},
		"two spellings":              {map[string]string{name: "k"}, map[string][]string{name: {"k"}, lower: {"k"}}, 400},
		"two spellings, only single": {map[string]string{name: "k", lower: "k"}, none, 400},
		"two spellings, single":      {map[string]string{name: "k", lower: "l"}, map[string][]string{"Accept": {"a"}}, 400},
		"nowhere":                    {nil, nil, 400},
		"no values":                  {nil, map[string][]string{name: {}}, 400},
		"empty":                      {map[string]string{name: ""}, map[string][]string{name: {""}}, 400},
	}
	want := identifyV1(t, ask{key: "k"}.v1())
	for label, c := range cases {
		e := ask{}.v1()
		delete(e.Headers, "content-type")
		e.Headers, e.MultiValueHeaders = c.single, c.multi
		for range 20 { // maps are ranged over in random order
			id, out, err := identify[requestV1, responseV1](t.Context(), e, true)
			require.NoError(t, err)
			if c.status == 0 {
				require.Equal(t, want.key, id.key, label)
			} else {
				require.Equal(t, c.status, out.StatusCode, label)
				require.Empty(t, id.key, label)
			}
		}
	}
}

func TestKeyInSeveralSpellingsOfAnHTTPAPIEvent(t *testing.T) {
	t.Parallel()
	e := ask{key: "k"}.v2()
	e.Headers["Idempotency-Key"] = "k"
	_, out, err := identify[requestV2, responseV2](t.Context(), e, true)
	require.NoError(t, err)
	assertProblem(t, ofV2(out), 400, "invalid-key")
}

func TestTypesOfTwoFamiliesAreNoHTTPHandler(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() {
		idempotent.Wrap(func(context.Context, requestV2) (responseV1, error) { return responseV1{}, nil }, memory.New())
	})
	assert.Panics(t, func() {
		idempotent.Wrap(func(context.Context, **requestV2) (responseV2, error) { return responseV2{}, nil }, memory.New())
	})
	assert.NotPanics(t, func() {
		idempotent.Wrap(func(context.Context, *requestV1) (responseV1, error) { return responseV1{}, nil }, memory.New())
	})
}
