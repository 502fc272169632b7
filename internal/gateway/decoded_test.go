package gateway

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDecodedEventIsReadAsItsJSON: whatever is in an event of any family, it is the request of what
// encoding/json makes of it, as far as a gateway may send that.
func TestDecodedEventIsReadAsItsJSON(t *testing.T) {
	t.Parallel()
	t.Run("v2", readsAsJSON[requestV2, responseV2])
	t.Run("v1", readsAsJSON[requestV1, responseV1])
	t.Run("url", readsAsJSON[requestURL, responseURL])
	t.Run("alb", readsAsJSON[albRequest, albResponse])
}

func readsAsJSON[In, Out any](t *testing.T) {
	t.Parallel()
	f, ok := familyOf[*In, Out]("Idempotency-Key", "Accept")
	require.True(t, ok)
	scanned, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := new(In)
		fill(t, reflect.ValueOf(in).Elem())
		payload, err := json.Marshal(in)
		require.NoError(t, err)
		var sent, decoded Request
		reads(f, &in, &decoded)
		all++
		if !f.Scan(payload, &sent) {
			return
		}
		scanned++
		sent.settle()
		decoded.settle()
		require.Equal(t, sent, decoded, "%s", payload)
	})
	t.Logf("%d of %d scanned", scanned, all)
	assert.Greater(t, scanned, all/4)
}

// fill fills an event. The names of a map differ also for who does not look at their case.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(anyText.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "is"))
	case reflect.Interface:
		if value := anyContext.Draw(t, "value"); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		if size := rapid.IntRange(-1, 2).Draw(t, "size"); size >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), size, size))
		}
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		names := rapid.SliceOfNDistinct(anyName, 0, 4, rapid.ID).Draw(t, "names")
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.MakeMap(v.Type()))
			for _, name := range names {
				value := reflect.New(v.Type().Elem()).Elem()
				fill(t, value)
				v.SetMapIndex(reflect.ValueOf(name), value)
			}
		}
	default:
	}
}

var (
	anyText = rapid.SampledFrom([]string{
		"", "", "a", "POST", "/charges/1", "POST /charges/{id}", "$default", "/{proxy+}", "a=1&b=2", "a=%zz&a%62=1",
		"k", "\xff", "a\xfe\xfd", "\xed\xa0\x80", "\ufffd", "\u2028<&>\u2029", "\x00\x1f\x7f", "a\"b\\c/d\n", "é€😀",
		"AROAX:ada@example.com", "a.execute-api.x",
	})
	anyName = rapid.SampledFrom([]string{
		"Idempotency-Key", "accept", "X-Amzn-Trace-Id", "x-forwarded-for", "Content-Type", "x", "a%62", "ab", "",
		"iss", "sub", "claims", "principalId",
	})
	anyContext = rapid.OneOf(anyText.AsAny(), rapid.SampledFrom([]any{
		nil, true, 7.0, -1.5, 1e21, int64(1) << 53, json.Number("12"),
		[]any{"a"},
		[]string(nil), json.RawMessage(`null`),
		map[string]any{"iss": "i", "sub": "s"},
		map[string]string{"sub": "\xff"},
		map[string]any{},
		(*int)(nil),
	}))
)

func TestTextThatIsNoUTF8IsReadAsJSONHasIt(t *testing.T) {
	t.Parallel()
	r := readOf[requestV1, responseV1](t)(requestV1{
		HTTPMethod: "post\xff", Path: "/\xff\xfe", Body: "a\xed\xa0\x80",
		MultiValueHeaders:     map[string][]string{"Content-Type": {"b\xff", "c"}},
		QueryStringParameters: map[string]string{"n\xff": "of the last name", "n\xfe": "of the first"},
		MultiValueQueryStringParameters: map[string][]string{
			"m\xfe": {"of the first"}, "m\xff": {"\xff", "of the last"},
		},
	})
	assert.Equal(t, "POST\ufffd", r.Method)
	assert.Equal(t, "/\ufffd\ufffd", r.Path)
	assert.Equal(t, "a\ufffd\ufffd\ufffd", string(r.event.body))
	assert.Equal(t, []string{"b\ufffd", "c"}, r.Header("content-type"))
	assert.Equal(t, []field{
		{"m\ufffd", "\ufffd"}, {"m\ufffd", "of the last"}, {"n\ufffd", "of the last name"},
	}, r.query.fields)

	var e requestV2
	require.NoError(t, json.Unmarshal([]byte(`{"requestContext":{"authorizer":{"jwt":{}}}}`), &e))
	for subject, unusable := range map[string]bool{"ada": false, "\xff": true, "\ufffd": true, "": true} {
		e.RequestContext.Authorizer.JWT.Claims = map[string]string{"sub": subject}
		r := readOf[requestV2, responseV2](t)(e)
		assert.Equal(t, unusable, r.Caller.Unusable(), "%q", subject)
	}
}

// The context of an authorizer in an event by value counts as it would in JSON.
func TestContextOfAnAuthorizerMayBeAnything(t *testing.T) {
	t.Parallel()
	type claims struct {
		Subject string `json:"sub"`
		Other   string `json:"Sub"`
	}
	ada := CallerOf("lambda", "ada")
	for name, c := range map[string]struct {
		context map[string]any
		want    Caller
	}{
		"nil":                  {nil, Caller{source: anonymous}},
		"empty":                {map[string]any{}, Caller{source: anonymous}},
		"null":                 {map[string]any{"a": nil, "b": json.RawMessage("null")}, Caller{source: anonymous}},
		"a nil pointer":        {map[string]any{"a": (*claims)(nil)}, Caller{source: anonymous}},
		"something":            {map[string]any{"a": false}, CallerOf(unusable)},
		"another case":         {map[string]any{"PrincipalId": "eve"}, CallerOf(unusable)},
		"both cases":           {map[string]any{"PrincipalId": "eve", "principalId": "ada"}, ada},
		"escaped names":        {map[string]any{"a\"\n": 1, "principalId": "ada"}, ada},
		"a type of its own":    {map[string]any{"principalId": json.RawMessage(`"ada"`)}, ada},
		"no name":              {map[string]any{"principalId": []string{"ada"}}, CallerOf(unusable)},
		"a number":             {map[string]any{"principalId": 7.0}, CallerOf("lambda-number", "7")},
		"a number of its type": {map[string]any{"principalId": json.Number("7")}, CallerOf("lambda-number", "7")},
		"a large number":       {map[string]any{"principalId": int64(1) << 53}, CallerOf(unusable)},
		"claims":               {map[string]any{"claims": claims{"ada", "eve"}}, CallerOf("jwt", "", "ada")},
		"claims without a name": {
			map[string]any{"claims": map[string]any{"sub": 7, "Sub": "eve"}, "principalId": "ada"}, ada,
		},
		"a claim that is there twice": {
			map[string]any{"claims": json.RawMessage(`{"sub":"ada","sub":"eve"}`)}, CallerOf("jwt", "", "ada"),
		},
	} {
		e := requestV1{HTTPMethod: "POST"}
		e.RequestContext.Authorizer = c.context
		r := readOf[requestV1, responseV1](t)(e)
		assert.Equal(t, c.want, r.Caller, name)
		assert.NoError(t, r.Refusal, name)
	}
	e := requestV1{HTTPMethod: "POST"}
	e.RequestContext.Authorizer = map[string]any{"claims": "ada"}
	assert.Equal(t, errUnread, readOf[requestV1, responseV1](t)(e).Refusal, "claims that are no object")
}

func TestEventThatCannotBeEncodedIsRefused(t *testing.T) {
	t.Parallel()
	f, ok := familyOf[requestV1, responseV1]()
	require.True(t, ok)
	e := requestV1{HTTPMethod: "GET"}
	e.RequestContext.Authorizer = map[string]any{"tier": make(chan int)}
	var r Request
	assert.False(t, f.Read(&e, &r))
	assert.Equal(t, errUnread, r.Refusal)
}
