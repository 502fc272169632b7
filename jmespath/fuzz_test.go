package jmespath

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
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
			var failure *Error
			if !errors.As(err, &failure) || failure.Offset < 0 || failure.Offset > len(source) || failure.Kind == "" {
				t.Fatalf("%q: %#v", source, err)
			}
			return
		}
		selected, err := expression.Search([]byte(document))
		if err != nil {
			var failure *Error
			if !errors.As(err, &failure) || failure.Offset < 0 || failure.Offset > len(source) {
				t.Fatalf("%q: %#v", source, err)
			}
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
		if err != nil {
			f.Fatal(err)
		}
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
		if (err == nil) && !json.Valid(payload) {
			t.Fatalf("%q is no JSON", payload)
		}
		for _, expression := range expressions {
			selected, searchErr := expression.Search(payload)
			if err != nil {
				if searchErr == nil || searchErr.Error() != err.Error() {
					t.Fatalf("%s on %q: %v, want %v", expression, payload, searchErr, err)
				}
				continue
			}
			if searchErr != nil {
				if _, ok := errors.AsType[*Error](searchErr); !ok {
					t.Fatalf("%s on %q: %#v", expression, payload, searchErr)
				}
				continue
			}
			assertSound(t, selected)
		}
		if err == nil {
			assertSound(t, document)
		}
	})
}

// assertSound checks what every Value promises.
func assertSound(t *testing.T, v Value) {
	t.Helper()
	text := v.JSON()
	again, err := parseText(string(text))
	if err != nil && !strings.Contains(err.Error(), "nested deeper than the limit") {
		t.Fatalf("%q: %v", text, err)
	}
	if err != nil {
		return
	}
	if again.json() != v.json() || !json.Valid(text) {
		t.Fatalf("%q becomes %q", text, again.json())
	}
	if v.Presence() != definedPresence(v) {
		t.Fatalf("%q is %s, want %s", text, v.Presence(), definedPresence(v))
	}
	short, err := parseText(compact(v.json()))
	if err != nil {
		t.Fatalf("%q compact: %v", text, err)
	}
	equal, err := newSearch(v).equal(v, short)
	if err != nil || !equal {
		t.Fatalf("%q is not equal to %q: %v", text, short.text, err)
	}
}
