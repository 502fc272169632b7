package jmespath

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSelections covers what the official suite leaves out.
func TestSelections(t *testing.T) {
	t.Parallel()
	const payload = `{
		"b": {"z": 1, "a": 2}, "list": [{"x": 1, "y": 2}, {"x": 3, "y": null}, {"y": 4}],
		"s": "h\u00e9\"\u00DF", "n": 1, "o": {"e\u0301": {"\"": "\\"}}, "deep": {"x": {"a": {"b": 1}}}, "empty": {"l": [], "o": {}},
		"line\nfeed": 1
	}`
	for source, want := range map[string]string{
		// The order of an object is that of the document.
		"b.*":                         "[1,2]",
		"keys(b)":                     `["z","a"]`,
		"values(b)":                   "[1,2]",
		"to_string(b)":                `"{\"z\":1,\"a\":2}"`,
		"sort(keys(b))":               `["a","z"]`,
		"merge(b, {a: n, c: n})":      `{"z":1,"a":1,"c":1}`,
		"merge(b, o) | length(@)":     "3",
		"b == `{\"a\": 2, \"z\": 1}`": "true",

		// What is selected keeps its spelling.
		"b":             `{"z": 1, "a": 2}`,
		"[b, s]":        `[{"z": 1, "a": 2},"h\u00e9\"\u00DF"]`,
		"to_string(s)":  `"h\u00e9\"\u00DF"`,
		"join('', [s])": `"hé\"ß"`,
		"keys(o)":       `["e\u0301"]`,
		"to_string(o)":  "\"{\\\"e\u0301\\\":{\\\"\\\\\\\"\\\":\\\"\\\\\\\\\\\"}}\"",

		// Names and strings compare by content.
		"o.\"e\\u0301\".\"\\\"\"":         `"\\"`,
		`s == 'hé"ß'`:                     "true",
		`length(s)`:                       "4",
		`reverse(s)`:                      `"ß\"éh"`,
		`contains(s, 'é"')`:               "true",
		`starts_with(s, 'hé')`:            "true",
		`ends_with(s, '"ß')`:              "true",
		`contains(s, n)`:                  "false",
		`sort(['b', 's', 'ß', '😀', '｡'])`: `["b","s","ß","｡","😀"]`, // by code points, not UTF-16

		`"line\nfeed"`:     "1",
		`"line\\nfeed"`:    "null",
		`"line\u000afeed"`: "1",

		// Precedence of the official implementations.
		"!b.z":                         "null",
		"!(b.z)":                       "false",
		"!list[0]":                     "false",
		"list[*].[x, y][0]":            "[1,2]",
		"list[*].{a: x}.a":             "null",
		"list[*].[x, y] | [0]":         "[1,2]",
		"list[*][x, y]":                "[[1, 2],[3,null],[null,4]]",
		"deep.*.a.b":                   "null",
		"deep.* | [*].a.b":             "[1]",
		"*.x.a.b":                      "[1]",
		"n == n == `true`":             "true",
		"list[?x > `1` || y == `4`].y": "[4]",

		// Literals.
		"`foo`":           `"foo"`,
		"` foo bar `":     `"foo bar "`,
		"`tru`":           `"tru"`,
		"`\\u00e9`":       `"\u00e9"`,
		"`a\\`b`":         "\"a`b\"",
		"`it's`":          `"it's"`,
		"` {\"a\" : 1} `": `{"a" : 1}`,
		`'it\'s'`:         `"it's"`,
		`'\\'`:            `"\\\\"`,
		`'a\nb'`:          `"a\\nb"`,
		`'"'`:             `"\""`,
		"''":              `""`,
		"'`'":             "\"`\"",
		"\"\"":            "null",

		// Indexes and slices beyond any array.
		"list[99999999999999999999]":         "null",
		"list[-99999999999999999999]":        "null",
		"list[-99999999999999999999:].y":     "[2,4]",
		"list[::-99999999999999999999].y":    "[4]",
		"list[2:-99999999999999999999:-1].y": "[4,2]",
		"empty.l[::-1]":                      "[]",
		"empty.l[5:1:-2]":                    "[]",
		"empty.l[0]":                         "null",
		"empty.l[-1]":                        "null",
		"list[-3].x":                         "1",
		"list[-4]":                           "null",

		// Functions on nothing, and null elements.
		"max(empty.l)":          "null",
		"min_by(empty.l, &x)":   "null",
		"sort_by(empty.l, &x)":  "[]",
		"sum(empty.l)":          "0",
		"join(',', empty.l)":    `""`,
		"map(&x, list)":         "[1,3,null]",
		"list[].x":              "[1,3]",
		"to_array(nothing)":     "[null]",
		"to_string(nothing)":    `"null"`,
		"type(nothing)":         `"null"`,
		"length(empty.o)":       "0",
		"nothing.[a, b]":        "null",
		"nothing.{a: b}":        "null",
		"list[*].y | length(@)": "2",
		"[n, nothing][]":        "[1]",
		"n < s":                 "null",
		"s < s":                 "null",
		"nothing == nothing":    "true",
		"not_null(nothing, n)":  "1",
		"abs (n)":               "1",
		" n\t\r\n ":             "1",
	} {
		assert.Equal(t, normal(want), normal(selectJSON(t, source, payload)), source)
	}
}

// normal leaves out the space that payloads may have between elements.
func normal(json string) string { return strings.ReplaceAll(json, "[1, 2]", "[1,2]") }

func TestTypeErrorsNameFunctionAndTypesOnly(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"abs(s)":     "invalid-type in abs at offset 0: argument 1 is string, want number",
		"a.abs(@)":   "invalid-type in abs at offset 2: argument 1 is null, want number",
		"join(n, l)": "invalid-type in join at offset 0: argument 1 is number, want string",
		"join(s, l)": "invalid-type in join at offset 0: argument 2 is array, want array of strings",
		"length(n)": "invalid-type in length at offset 0: argument 1 is number, want string or array " +
			"or object",
		"max(l)": "invalid-type in max at offset 0: argument 1 is array, want array of numbers or " +
			"array of strings",
		"sum(l[].abs(s))":          "invalid-type in abs at offset 8: argument 1 is null, want number",
		"map(&abs(@), l)":          "invalid-type in abs at offset 5: argument 1 is string, want number",
		"sort_by(l, &@)":           "invalid-type in sort_by at offset 0: a key is string, want number",
		"max_by(l, &`null`)":       "invalid-type in max_by at offset 0: a key is null, want number or string",
		"merge(o, n)":              "invalid-type in merge at offset 0: argument 2 is number, want object",
		"contains(n, n)":           "invalid-type in contains at offset 0: argument 1 is number, want string or array",
		"powertools_json(nothing)": "invalid-type in powertools_json at offset 0: argument 1 is null, want string",
		"powertools_base64(n)":     "invalid-type in powertools_base64 at offset 0: argument 1 is number, want string",
	} {
		_, err := trySelect(source, `{"s":"secret","n":4711,"l":[4711,"secret"],"o":{}}`)
		assert.EqualError(t, err, "jmespath: search "+strconv.Quote(source)+": "+want)
		assert.Equal(t, errInvalidType, kindOf(err))
		var failure *Error
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, source, failure.Expression)
	}
}

func TestErrorsContainNothingOfThePayload(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`{"secret": secret}`, `{"secret":1,"secret":2}`, `"secret`, `{"secret" "secret"}`, "\"secret\xff\"",
		`"secret\q"`, `secret`, `["secret\ud800"]`,
		`{"a":"secret"}`, `{"a":"eyJzZWNyZXQiOg=="}`, `{"a":["secret"]}`, `{"a":{"secret":1}}`, `{"a":"c2VjcmV0"}`,
		`{"a":"{\"secret\":1,\"secret\":2}"}`,
	} {
		for _, source := range []string{
			"powertools_json(a)", "powertools_base64(a)", "powertools_base64_gzip(a)", "abs(a)", "sum(a)",
			"sort_by(a, &@)", "join(a, a)",
			"powertools_json(powertools_base64(a))", "to_number(a) || length(`1`)",
		} {
			_, err := trySelect(source, payload)
			for ; err != nil; err = errors.Unwrap(err) {
				assert.NotContains(t, err.Error(), "secret", "%s on %s", source, payload)
				assert.NotContains(t, err.Error(), "c2Vj", "%s on %s", source, payload)
			}
		}
	}
}

func TestExpressionsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	expression, err := Compile(
		"powertools_json(body).{key: [tenant, order_id], sorted: sort_by(lines, &qty)[].sku, literal: `{\"a\": [1, " +
			"2]}`.a[::-1], all: length(@)}")
	require.NoError(t, err)
	const want = `{"key":["acme",9007199254740993],"sorted":["B-7","A-1"],"literal":[2,1],"all":6}`
	payload := []byte(apiGatewayEvent)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				selected, err := expression.Search(payload)
				assert.NoError(t, err)
				assert.Equal(t, want, string(selected.JSON()))
			}
		})
	}
	group.Wait()
}

func TestSlicesStayInBoundsWhateverTheNumbers(t *testing.T) {
	t.Parallel()
	numbers := []int{math.MinInt32, -math.MaxInt32, -4, -3, -1, 0, 1, 2, 3, 4, math.MaxInt32}
	for _, start := range numbers {
		for _, stop := range numbers {
			for _, step := range numbers {
				if step == 0 {
					continue
				}
				source := "[" + strconv.Itoa(start) + ":" + strconv.Itoa(stop) + ":" + strconv.Itoa(step) + "]"
				var want []string
				for i := range sliced(3, start, stop, step) {
					want = append(want, strconv.Itoa(i))
				}
				assert.Equal(t, "["+strings.Join(want, ",")+"]", selectJSON(t, source, "[0,1,2]"), source)
			}
		}
	}
}

// sliced goes through every index of a list that a slice takes, in 64 bits.
func sliced(length, start, stop, step int) func(yield func(int) bool) {
	at := func(i int) int64 {
		if i < 0 {
			return int64(i) + int64(length)
		}
		return int64(i)
	}
	first, behind := at(start), at(stop)
	if step > 0 {
		first = max(first, 0)
	} else {
		first = min(first, int64(length)-1)
	}
	return func(yield func(int) bool) {
		for i := first; i >= 0 && i < int64(length); i += int64(step) {
			if step > 0 && i >= behind || step < 0 && i <= behind || !yield(int(i)) {
				return
			}
		}
	}
}

// selectJSON compiles and searches, and returns the selection as JSON text.
func selectJSON(t testing.TB, source, payload string) string {
	t.Helper()
	selected, err := trySelect(source, payload)
	require.NoError(t, err, "%s on %s", source, payload)
	return string(selected.JSON())
}

// kindOf returns the kind of an Error, empty for any other error.
func kindOf(err error) string {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Kind
	}
	return ""
}

func trySelect(source, payload string) (Value, error) {
	expression, err := Compile(source)
	if err != nil {
		return Value{}, err
	}
	return expression.Search([]byte(payload))
}

func TestPartsNameEveryPartOfAnExpression(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`a."b c"`:     `identifier "a" at 0, identifier "b c" at 2`,
		"a[0][1:]":    `identifier "a" at 0, index at 1, slice at 4`,
		"[a, {b: @}]": `multi-select list at 0, identifier "a" at 1, multi-select hash at 4, member "b" at 5, @ at 8`,
		"a[*].b[].*":  `identifier "a" at 0, [*] at 1, identifier "b" at 5, [] at 6, * at 9`,
		"*":           `* at 0`,
		"a[?b == `1` && !c] | d || 'e'": "identifier \"a\" at 0, filter at 1, identifier \"b\" at 3, == at 5, " +
			"literal at 8, && at 12, ! at 15, identifier \"c\" at 16, | at 19, identifier \"d\" at 21, || at 23, " +
			"raw string at 26",
		"sort_by(a, &b) < length('')": `function sort_by at 0, identifier "a" at 8, identifier "b" at 12, < at 15, function length at 17, raw string at 24`,
	} {
		expression, err := Compile(source)
		require.NoError(t, err, source)
		var parts []string
		for _, part := range expression.Parts() {
			parts = append(parts, part.String()+" at "+strconv.Itoa(part.Offset))
		}
		assert.Equal(t, want, strings.Join(parts, ", "), source)
	}
}

// apiGatewayEvent is an event of an HTTP API (payload format 2.0).
const apiGatewayEvent = `{
  "version": "2.0",
  "routeKey": "POST /charges",
  "rawQueryString": "expand=customer&expand=invoice",
  "cookies": ["session=7d6f0a4f1c; Path=/", "theme=dark"],
  "headers": {
    "accept": "application/json, text/plain, */*",
    "idempotency-key": "8e03978e-40d5-43e8-bc93-6894a57f9324",
    "sec-ch-ua": "\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"",
    "x-forwarded-port": "443"
  },
  "requestContext": {
    "accountId": "123456789012",
    "authorizer": {"jwt": {"claims": {"exp": "1763800000", "sub": "7d6f0a4f-1c2d-4e3f-8a9b-0c1d2e3f4a5b"}, "scopes": ["charges:write"]}},
    "http": {"method": "POST", "path": "/charges"},
    "timeEpoch": 1763806530123
  },
  "body": "{\"tenant\":\"acme\",\"order_id\":9007199254740993,\"amount\":\"49.90\",\"currency\":\"EUR\",\"customer\":{\"id\":\"c-1042\",\"name\":\"Zo\u00eb \\\"Z\\\" M\u00fcller\"},\"lines\":[{\"sku\":\"A-1\",\"qty\":2},{\"sku\":\"B-7\",\"qty\":1}]}",
  "isBase64Encoded": false
}`
