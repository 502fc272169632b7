package jmespath

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestUnacceptablePayloadsAreRefusedWherever(t *testing.T) {
	t.Parallel()
	manyNames := make([]string, 100)
	for i := range manyNames {
		manyNames[i] = fmt.Sprintf(`"name%d":%d`, i, i)
	}
	many := strings.Join(manyNames, ",")
	for _, c := range []struct {
		payload string
		offset  int
		detail  string
	}{
		{"", 0, "unexpected end"},
		{" \n", 2, "unexpected end"},
		{"{}{}", 2, "data after the value"},
		{"1 2", 2, "data after the value"},
		{"null,", 4, "data after the value"},
		{"\ufeff{}", 0, "not a JSON value"},
		{"nul", 0, "not a JSON value"},
		{"True", 0, "not a JSON value"},
		{"nullx", 4, "data after the value"},
		{"NaN", 0, "not a JSON value"},
		{"-Infinity", 1, "not a JSON value"},
		{"'a'", 0, "not a JSON value"},
		{"/**/1", 0, "not a JSON value"},
		{"[1,]", 3, "not a JSON value"},
		{"[,1]", 1, "not a JSON value"},
		{"[1 2]", 3, "expected a comma or the end of the array"},
		{"[1", 2, "expected a comma or the end of the array"},
		{"[", 1, "unexpected end"},
		{"[1,", 3, "unexpected end"},
		{"]", 0, "not a JSON value"},
		{"[1}", 2, "expected a comma or the end of the array"},
		{`{"a":1,}`, 7, "expected a member name"},
		{`{a:1}`, 1, "expected a member name"},
		{`{"a" 1}`, 5, "expected a colon"},
		{`{"a":}`, 5, "not a JSON value"},
		{`{"a":1 "b":2}`, 7, "expected a comma or the end of the object"},
		{`{"a":1]`, 6, "expected a comma or the end of the object"},
		{`{"a"`, 4, "expected a colon"},
		{`{"a":`, 5, "unexpected end"},
		{`{`, 1, "expected a member name"},
		{`{1:1}`, 1, "expected a member name"},

		{`{"a":1,"a":2}`, 7, "member name repeated in one object"},
		{`{"a":1,"\u0061":1}`, 7, "member name repeated in one object"},
		{`{"\ud83d\ude00":1,"😀":1}`, 18, "member name repeated in one object"},
		{`{"":1,"":1}`, 6, "member name repeated in one object"},
		{`[{"x":{"b":{"a":1},"b":2}}]`, 19, "member name repeated in one object"},
		{`{"a":{"x":1,"y":{"a":1}},"a":2}`, 25, "member name repeated in one object"},
		{`{` + many + `,"name0":1}`, len(many) + 2, "member name repeated in one object"},
		{`{` + many + `,"name99":1}`, len(many) + 2, "member name repeated in one object"},
		{`{"name24":1,` + many + `}`, strings.Index(many, `"name24"`) + 12, "member name repeated in one object"},
		{`{"name23":1,` + many + `}`, strings.Index(many, `"name23"`) + 12, "member name repeated in one object"},
		{`{"name22":1,` + many + `}`, strings.Index(many, `"name22"`) + 12, "member name repeated in one object"},

		{"\"a\xffb\"", 2, "invalid UTF-8"},
		{"{\"a\xc3\":1}", 3, "invalid UTF-8"},
		{"\"\xed\xa0\x80\"", 1, "invalid UTF-8"}, // a surrogate
		{"\"\xc0\x80\"", 1, "invalid UTF-8"},     // two bytes for one
		{"\"\xf4\x90\x80\x80\"", 1, "invalid UTF-8"},
		{"\"\ufffd\" \x80", 6, "invalid UTF-8"},

		{`"\ud800"`, 1, "lone surrogate"},
		{`"\udc00"`, 1, "lone surrogate"},
		{`"\ud83dx"`, 1, "lone surrogate"},
		{`"\ud83d\u0041"`, 1, "lone surrogate"},
		{`"\ud83d\ud83d\ude00"`, 1, "lone surrogate"},
		{`"\ud83d\n"`, 1, "lone surrogate"},
		{`"\ud83d\ude0"`, 1, "lone surrogate"},
		{`{"\uDEAD":1}`, 2, "lone surrogate"},

		{`"a`, 2, "unexpected end of a string"},
		{`"a\`, 2, "unexpected end of a string"},
		{`"a\"`, 4, "unexpected end of a string"},
		{`"12345678`, 9, "unexpected end of a string"},
		{`"\x41"`, 1, "unknown escape sequence"},
		{`"\u12g4"`, 1, "escape sequence needs four hexadecimal digits"},
		{`"\u12"`, 1, "escape sequence needs four hexadecimal digits"},
		{`"\u`, 1, "escape sequence needs four hexadecimal digits"},
		{"\"a\nb\"", 2, "control character in a string"},
		{"\"\x00\"", 1, "control character in a string"},
		{"\"123456789\x1f\"", 10, "control character in a string"},
		{"{\"\t\":1}", 2, "control character in a string"},
		{"\"1234567890\x001234567890\"", 11, "control character in a string"},

		{"01", 0, "number with a leading zero"},
		{"-01", 1, "number with a leading zero"},
		{"-", 1, "not a JSON value"},
		{"+1", 0, "not a JSON value"},
		{".5", 0, "not a JSON value"},
		{"1.", 2, "number without digits behind the point"},
		{"1.e5", 2, "number without digits behind the point"},
		{"1e", 2, "number without digits in its exponent"},
		{"1e+", 3, "number without digits in its exponent"},
		{"1e1000000000000000000", 2, "number with too long an exponent"},
		{"1e-9999999999999999999999", 3, "number with too long an exponent"},
		{"0x10", 1, "data after the value"},
		{"1_000", 1, "data after the value"},
	} {
		_, err := parseText(c.payload)
		assert.Equal(t, &JSONError{Offset: c.offset, Detail: c.detail}, err, "%q", c.payload)

		// The rest of the document decides nothing.
		_, err = trySelect("a", `{"a":1,"b":`+c.payload+`}`)
		if c.payload != "nullx" {
			assert.ErrorIs(t, err, ErrInvalidJSON, "%q", c.payload)
		}
	}
}

func TestAcceptablePayloads(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		"null", " \t\r\n1 \t\r\n", "-0", `""`, `"\ud83d\ude00"`, `"\ufdd0\uffff"`, "\"\u007f\u0080\u2028\"",
		`"\/\b\f\n\r\t\"\\"`,
		`{}`, `[ ]`, `{ }`, `{"a":1,"A":2}`, `[{"a":1},{"a":2}]`, `{"a":{"a":{"a":1}}}`, "{\"\u00e9\":1,\"e\u0301\":2}",
		`1e000000000000000000000000000000009`, `{"a":1,"b":{"a":1},"c":{"a":1,"b":2}}`, "\"12345678\"", "\"1234567\"",
	} {
		value, err := parseText(payload)
		require.NoError(t, err, payload)
		assert.Equal(t, strings.TrimSpace(payload), string(value.JSON()))
	}
}

func TestPayloadsNestUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ open, closing string }{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":[`, "]}]"}} {
		levels := strings.Count(c.open, "[") + strings.Count(c.open, "{")
		nested := func(depth int) string {
			return strings.Repeat(c.open, depth/levels) + strings.Repeat("[", depth%levels) + "1" +
				strings.Repeat("]", depth%levels) + strings.Repeat(c.closing, depth/levels)
		}
		value, err := parseText(nested(maxDepth))
		require.NoError(t, err)
		assert.Equal(t, Present, value.Presence())
		assert.Equal(t, "true", selectJSON(t, "@ == @ && [@] == [@] && length(to_string(@)) > `0`", nested(maxDepth)))

		for _, depth := range []int{maxDepth + 1, 100_000, 5_000_000} {
			_, err = parseText(nested(depth))
			var failure *JSONError
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, "nested too deep", failure.Detail)
			_, err = parseText(strings.Repeat(c.open, depth))
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, "nested too deep", failure.Detail)
		}
	}
}

func TestPlainPrefixEndsBeforeTheFirstByteThatNeedsALook(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.SampledFrom([]byte("az !#[]/\x7f\x80\xa0\xa2\xdc\xff\"\\\x00\x1f\x01\n")), 0,
			40).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "plain") {
			for i := range bytes {
				bytes[i] = "az !#[]/\x7f\x80\xa0\xa2\xdc\xff"[int(bytes[i])%14]
			}
		}
		if len(bytes) > 0 && rapid.Bool().Draw(t, "one") {
			at := rapid.IntRange(0, len(bytes)-1).Draw(t, "at")
			bytes[at] = rapid.SampledFrom([]byte("\"\\\x00\x1f\n")).Draw(t, "byte")
		}
		want := 0
		for want < len(bytes) && bytes[want] >= ' ' && bytes[want] != '"' && bytes[want] != '\\' {
			want++
		}
		if got := plainPrefix(string(bytes)); got != min(want, len(bytes)&^7) {
			t.Fatalf("%q: %d, want %d", bytes, got, want)
		}
	})
}

// TestAcceptsWhatIsIJSON compares with encoding/json, which knows the syntax, and
// with a second opinion on names, surrogates and UTF-8.
func TestAcceptsWhatIsIJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := mutatedDocument(t)
		_, err := parseText(text)
		want := json.Valid([]byte(text)) && utf8.ValidString(text) && hasGoodStrings(t, text)
		if (err == nil) != want {
			t.Fatalf("%q: accepted %v, want %v: %v", text, err == nil, want, err)
		}
	})
}

// mutatedDocument draws a document and damages most of them.
func mutatedDocument(t *rapid.T) string {
	text := generator{T: t}.document(3)
	for range rapid.IntRange(0, 2).Draw(t, "mutations") {
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		insert := rapid.SampledFrom([]string{
			"", ",", ":", "[", "]", "{", "}", `"`, `\`, `\n`, `\u0061`, `\ud83d`, `\ud83d\ude00`, "\x00", "\x1f",
			"\xff", "é", "0", "1", "-", ".", "e5", " ", "\n", "true", `"a":1,`, `"a"`,
		}).Draw(t, "insert")
		drop := rapid.IntRange(0, 2).Draw(t, "drop")
		text = text[:at] + insert + text[min(at+drop, len(text)):]
	}
	return text
}

// hasGoodStrings looks with encoding/json for repeated names and for surrogates,
// which that replaces by U+FFFD if they are alone.
func hasGoodStrings(t *rapid.T, text string) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	good := true
	next := func() json.Token {
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		if content, ok := token.(string); ok && strings.Contains(content, "\ufffd") {
			good = false
		}
		return token
	}
	var read func()
	read = func() {
		switch next() {
		case json.Delim('['):
			for decoder.More() {
				read()
			}
			next()
		case json.Delim('{'):
			seen := map[json.Token]bool{}
			for decoder.More() {
				name := next()
				good = good && !seen[name]
				seen[name] = true
				read()
			}
			next()
		}
	}
	read()
	return good
}
