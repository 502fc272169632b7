package fingerprint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

func offsetOf(t require.TestingT, err error) int {
	var syntax *fingerprint.SyntaxError
	require.ErrorAs(t, err, &syntax)
	return syntax.Offset
}

func TestMalformedDocuments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		doc    string
		offset int
		reason string
	}{
		// Documents that end too early.
		{"", 0, "end"},
		{" \n ", 3, "end"},
		{"[", 1, "end"},
		{"[1", 2, "end"},
		{"[1,", 3, "end"},
		{"{", 1, "end"},
		{`{"a"`, 4, "end"},
		{`{"a":`, 5, "end"},
		{`{"a":1,`, 7, "end"},
		{`"`, 1, "end"},
		{`"\`, 2, "end"},
		{`"\u`, 3, "end"},
		{`"\ud800\u`, 9, "end"},
		{"-", 1, "end"},
		{"1.", 2, "end"},
		{"1e", 2, "end"},
		{"tru", 3, "end"},

		// What is no value.
		{"]", 0, "a value"},
		{"}", 0, "a value"},
		{"'a'", 0, "a value"},
		{"NaN", 0, "a value"},
		{"+1", 0, "a value"},
		{".5", 0, "a value"},
		{"/* */1", 0, "a value"},
		{"\x00", 0, "a value"},
		{"\v1", 0, "a value"},
		{"\u00a01", 0, "a value"},
		{"\ufeff{}", 0, "a value"},
		{"\xff", 0, "a value"},
		{"[,1]", 1, "a value"},
		{"[1,]", 3, "a value"},
		{`{"a":}`, 5, "a value"},
		{"[}", 1, "a value"},
		{`[\u0031]`, 1, "a value"},

		// Words.
		{"tRUE", 1, "true, false or null"},
		{"truth", 3, "true, false or null"},
		{"nul\x00", 3, "true, false or null"},
		{"[nul]", 4, "true, false or null"},

		// Numbers.
		{"01", 1, "leading zero"},
		{"-01", 2, "leading zero"},
		{"--1", 1, "a digit"},
		{"-.5", 1, "a digit"},
		{"[-]", 2, "a digit"},
		{"1.e5", 2, "a digit"},
		{"1ex", 2, "a digit"},
		{"1e+-1", 3, "a digit"},
		{"1e.5", 2, "a digit"},
		{" 1e1000000000000001", 1, "exponent"},
		{"-10e1000000000000000", 0, "exponent"},
		{"0.1e-1000000000000000", 0, "exponent"},
		{"0.1e10000000000000010", 0, "exponent"},
		{"10e-10000000000000010", 0, "exponent"},
		{"1e18446744073709551616", 0, "exponent"},
		{"1e-18446744073709551616", 0, "exponent"},

		// Strings.
		{"\"a\nb\"", 2, "control"},
		{"\"\x00\"", 1, "control"},
		{"\"\x1f\"", 1, "control"},
		{"{\"a\r\":1}", 3, "control"},
		{`"\a"`, 2, "escape"},
		{`"\'"`, 2, "escape"},
		{`"\U0041"`, 2, "escape"},
		{"\"\\\n\"", 2, "escape"},
		{"\"\\\u00e9\"", 2, "escape"},
		{`"\u12g4"`, 5, "hexadecimal"},
		{`"\u 123"`, 3, "hexadecimal"},
		{`"\u00:0"`, 5, "hexadecimal"},
		{`"\u00@0"`, 5, "hexadecimal"},
		{`"\u00G0"`, 5, "hexadecimal"},
		{"\"\\u00`0\"", 5, "hexadecimal"},
		{`"\u00/0"`, 5, "hexadecimal"},
		{`"\ud83d\u12x4"`, 11, "hexadecimal"},
		{`"\ud800"`, 1, "surrogate"},
		{`"a\uDFFFb"`, 2, "surrogate"},
		{`"\ud800\ud800\udc00"`, 1, "surrogate"},
		{`"\ud800\u0041"`, 1, "surrogate"},
		{`"\ud800\n"`, 1, "surrogate"},
		{`"\ud83d\ude00\ude00"`, 13, "surrogate"},
		{`{"\udbff":1}`, 2, "surrogate"},
		{"\"\\ud800\U0001F600\"", 1, "surrogate"},
		{"\"\xff\"", 1, "UTF-8"},
		{"\"ab\x80\"", 3, "UTF-8"},
		{"\"\xc3", 1, "UTF-8"},
		{"\"\xe2\x82\"", 1, "UTF-8"},
		{"\"\xc0\xaf\"", 1, "UTF-8"},
		{"\"\xe0\x80\xaf\"", 1, "UTF-8"},
		{"\"\xed\xa0\x80\"", 1, "UTF-8"},
		{"\"\xf4\x90\x80\x80\"", 1, "UTF-8"},
		{"\"\xf8\x88\x80\x80\x80\"", 1, "UTF-8"},
		{"{\"\u00e9\xe9\":1}", 4, "UTF-8"},

		// Arrays and objects.
		{"[1 2]", 3, "comma or a closing bracket"},
		{"[1}", 2, "comma or a closing bracket"},
		{`["a":1]`, 4, "comma or a closing bracket"},
		{"[truefalse]", 5, "comma or a closing bracket"},
		{"{1:2}", 1, "a key"},
		{"{,}", 1, "a key"},
		{"{]", 1, "a key"},
		{`{"a":1,}`, 7, "a key"},
		{`{"a" 1}`, 5, "a colon"},
		{`{"a"}`, 4, "a colon"},
		{`{"a":1 "b":2}`, 7, "comma or a closing brace"},
		{`{"a":1]`, 6, "comma or a closing brace"},

		// Keys that occur twice.
		{`{"a":1,"a":2}`, 7, "duplicate"},
		{`{"":0,"":0}`, 6, "duplicate"},
		{`{"a":1, "\u0061":2}`, 8, "duplicate"},
		{`{"\n":1,"\u000A":2}`, 8, "duplicate"},
		{`{"\/":1,"/":2}`, 8, "duplicate"},
		{`{"\\":1,"\u005c":2}`, 8, "duplicate"},
		{`{"\ud83d\ude00":1,"` + "\U0001F600" + `":2}`, 18, "duplicate"},
		{`{"b":0,"a":0,"c":0,"a":0}`, 19, "duplicate"},
		{`{"c":0,"b":0,"a":0,"c":0,"b":0,"a":0}`, 19, "duplicate"},
		{`[{"a":[{"x":{"k":1,"j":2,"k":3}}]}]`, 25, "duplicate"},
		{`{"b":{"y":1,"x":2},"a":1,"b":2}`, 25, "duplicate"},

		// More than one document.
		{"1 2", 2, "after the end"},
		{"{}{}", 2, "after the end"},
		{"{} ,", 3, "after the end"},
		{"null\x00", 4, "after the end"},
		{"1.5.5", 3, "after the end"},
		{`"a""b"`, 3, "after the end"},
		{"{}\n\ufeff", 3, "after the end"},
	} {
		t.Run(fmt.Sprintf("%.60q", tc.doc), func(t *testing.T) {
			t.Parallel()
			_, err := fingerprint.Canonical(nil, []byte(tc.doc))
			require.Equal(t, tc.offset, offsetOf(t, err), "%v", err)
			require.ErrorContains(t, err, tc.reason)
		})
	}
}

// The place does not depend on what surrounds it: around each malformed value, the offset moves by
// what precedes it.
func TestMalformedValueWithinDocument(t *testing.T) {
	t.Parallel()
	const before = `{"z":0,"k":["x",`
	for doc, offset := range map[string]int{
		"nil": 1, "-x": 1, `"\q"`: 2, `{"b":1,"a":{"c":0,"c":0}}`: 18, "\"\xff\"": 1, `"\ud800"`: 1, "01": 1,
		"1e9999999999999999": 0,
	} {
		_, err := fingerprint.Canonical(nil, []byte(before+doc+"]}"))
		require.Equal(t, len(before)+offset, offsetOf(t, err), doc)
	}
}

func TestManyDuplicates(t *testing.T) {
	t.Parallel()
	const members = 300_000
	_, err := fingerprint.Canonical(nil, []byte("{"+strings.Repeat(`"k":0,`, members)+`"k":0}`))
	require.Equal(t, len(`{"k":0,`), offsetOf(t, err))

	var others strings.Builder
	for i := range 100 {
		fmt.Fprintf(&others, `"%d":0,`, i)
	}
	_, err = fingerprint.Canonical(nil, []byte(`{"k":0,"k":0,`+others.String()+`"":0,"":0}`))
	require.Equal(t, len(`{"k":0,`), offsetOf(t, err), "the first in the document, not in the order of the keys")
}

func TestSyntaxErrorCarriesNoContent(t *testing.T) {
	t.Parallel()
	_, err := fingerprint.Canonical(nil, []byte(`{"4111-secret":1,"4111-secret":2}`))
	require.EqualError(t, err, "fingerprint: JSON text, byte 17: duplicate key")
}
