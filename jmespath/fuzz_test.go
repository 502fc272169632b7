package jmespath

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCompile compiles anything, and evaluates what compiles.
func FuzzCompile(f *testing.F) {
	for _, source := range []string{
		`powertools_json(body).[tenant, order_id]`, `headers."idempotency-key"`,
		"a[?b == `1` && !c || d > `[2]`].{x: e, \"y\": f[0]}",
		`sort_by(l, &n)[::-1] | [0].*.a[]`, "'raw\\'' == `\"json\\``", "`legacy`", "map(&abs(@), l)",
		`to_number('1e400')`, "[", `"\u0061"`,
		`sum(l[].n)`, `avg(l[*].n) < max(@)`, "merge(a, `{\"b\": 1}`)", `a[-1:5:-2]`, "*.*[*][]", "!(!a)",
		"(((a)))", "@",
	} {
		f.Add(source)
	}
	const document = `{"a":{"b":[1,{"a":2.50}],"n":1e400},"l":[{"n":3},{"n":1e-999999999},{"n":"x"}],"body":"{\"a\":[null,0.1]}","b":"\u00e9","c":null}`
	f.Fuzz(func(t *testing.T, source string) {
		expression, err := Compile(source)
		if err != nil {
			assertPlaced(t, source, err)
			require.NotEmpty(t, kindOf(err), source)
			return
		}
		selected, err := expression.Search([]byte(document))
		if err != nil {
			assertPlaced(t, source, err)
			return
		}
		assertSound(t, selected)
	})
}

// FuzzSearch searches anything with expressions that use every part of the package.
func FuzzSearch(f *testing.F) {
	var expressions []*Expression
	for _, source := range []string{
		"@", "a", "a.b", "a[0]", "*", "[]", "[*].a", "[a, b]", "{x: a, y: b[-1]}", "[?@ > `1`]", "[::-2]", "a == b",
		"@ == @", "a < b",
		"length(@)", "sort(@)", "max(@)", "min(a)", "sum(@)", "avg(a)", "to_string(@)", "to_number(@)", "reverse(@)",
		"keys(@)", "values(@)",
		"merge(@, @)", "join(',', @)", "contains(@, a)", "sort_by(@, &a)", "map(&ceil(@), @)", "floor(@)", "abs(a)",
		"not_null(a, b)",
		"powertools_json(@)", "powertools_base64(@)", "powertools_base64_gzip(@)",
		"powertools_json(to_string([@]))[0] == @",
	} {
		expression, err := Compile(source)
		require.NoError(f, err)
		expressions = append(expressions, expression)
	}
	for _, payload := range []string{
		apiGatewayEvent, `{"a":{"b":1.0},"b":[null,"\ud83d\ude00"]}`, `[1e999999999,-0.5,0,1e-400]`,
		`["b","a","\u0061"]`, `"{\"a\":1}"`,
		`"H4sIAAAAAAAACqtWSlSyMqwFAGYDP/EHAAAA"`, `"eyJhIjoxfQ=="`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `[[[[]]]]`,
		`{}x`, `01`, ` [ 1 , { "a" : [ ] } ] `,
	} {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		document, err := parseText(string(payload))
		require.True(t, err != nil || json.Valid(payload), "%q is no JSON", payload)
		for _, expression := range expressions {
			selected, searchErr := expression.Search(payload)
			if err != nil {
				require.EqualError(t, searchErr, err.Error(), "%s on %q", expression, payload)
				continue
			}
			if searchErr != nil {
				require.ErrorAs(t, searchErr, new(*Error), "%s on %q", expression, payload)
				continue
			}
			assertSound(t, selected)
		}
		if err == nil {
			assertSound(t, document)
		}
	})
}

// assertPlaced checks that an error names a place in its expression.
func assertPlaced(t *testing.T, source string, err error) {
	t.Helper()
	var failure *Error
	require.ErrorAs(t, err, &failure, "%q", source)
	require.GreaterOrEqual(t, failure.Offset, 0, "%q", source)
	require.LessOrEqual(t, failure.Offset, len(source), "%q", source)
}

// requireEqual checks that two values are equal in the language.
func requireEqual(t require.TestingT, a, b Value) {
	require.True(t, newSearch(a).equal(a, b), "%s and %s", a.text, b.text)
}

// assertSound checks what every Value promises.
func assertSound(t *testing.T, v Value) {
	t.Helper()
	text := v.JSON()
	again, err := parseText(string(text))
	if err != nil {
		require.ErrorContains(t, err, "nested deeper than the limit", "%q", text)
		return
	}
	require.Equal(t, v.json(), again.json())
	require.True(t, json.Valid(text), "%q", text)
	require.Equal(t, definedPresence(v), v.Presence(), "%q", text)
	short, err := parseText(compact(v.json()))
	require.NoError(t, err, "%q compact", text)
	requireEqual(t, v, short)
}
