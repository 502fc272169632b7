package jmespath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

func packed(t require.TestingT, content string) string {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, err := w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

func TestPowertoolsFunctionsDecode(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte(`{"n": 9007199254740993, "s": "é\n"}`))
	event := `{
		"body": "{\"n\": 0.10000000000000000001, \"s\": \"\\u00e9\"}",
		"plain": "` + encoded + `",
		"packed": "` + packed(t, `{"logEvents":[{"id":"1","timestamp":1e3},{"id":"2"}]}`) + `",
		"records": [{"body": "{\"order\":1}"}, {"body": "{\"order\":2}"}],
		"lines": "` + encoded[:4] + `\r\n` + encoded[4:] + `"
	}`
	for source, want := range map[string]string{
		"powertools_json(body).n":                                              "0.10000000000000000001",
		"powertools_json(body).s":                                              `"\u00e9"`,
		"powertools_base64(plain)":                                             `"{\"n\": 9007199254740993, \"s\": \"é\\n\"}"`,
		"powertools_json(powertools_base64(plain)).n":                          "9007199254740993",
		"powertools_json(powertools_base64(lines)).n":                          "9007199254740993",
		"powertools_base64_gzip(packed) | powertools_json(@).logEvents[*]":     `[{"id":"1","timestamp":1e3},{"id":"2"}]`,
		"packed.powertools_base64_gzip(@) | powertools_json(@).logEvents[].id": `["1","2"]`,
		"records[*].powertools_json(body).order":                               "[1,2]",
		"powertools_json('null')":                                              "null",
		"powertools_json(' [ 1 ] ')":                                           "[ 1 ]",
		"powertools_json('\"a\"')":                                             `"a"`,
		"powertools_base64('')":                                                `""`,
	} {
		assert.Equal(t, want, selectJSON(t, source, event), source)
	}
}

func TestPowertoolsFunctionsRefuseWhatTheyCannotDecode(t *testing.T) {
	t.Parallel()
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	damaged, err := base64.StdEncoding.DecodeString(packed(t, "some text that is packed"))
	require.NoError(t, err)
	damaged[len(damaged)-8] ^= 1 // in the checksum
	for _, c := range []struct{ function, argument, want string }{
		{"powertools_json", "", "the string is not acceptable JSON: unexpected end of the document at its offset 0"},
		{"powertools_json", "{", "the string is not acceptable JSON: unexpected end of the document at its offset 1"},
		{"powertools_json", "{}{}", "the string is not acceptable JSON: data after the end of the document at its offset 2"},
		{
			"powertools_json", `{"a":1,"a":1}`,
			"the string is not acceptable JSON: duplicate key at its offset 7",
		},
		{"powertools_json", `"\ud800"`, "the string is not acceptable JSON: surrogate without its other half at its offset 1"},
		{
			"powertools_json", strings.Repeat("[", 1500),
			"the string is not acceptable JSON: nested deeper than the limit at its offset 1000",
		},
		{"powertools_base64", "a", "the string is not base64"},
		{"powertools_base64", "YQ", "the string is not base64"},
		{"powertools_base64", "-_8=", "the string is not base64"},
		{"powertools_base64", "é", "the string is not base64"},
		{"powertools_base64", encode("a\xff"), "the decoded string is not UTF-8"},
		{"powertools_base64_gzip", "!", "the string is not base64"},
		{"powertools_base64_gzip", "", "the decoded string is not gzip"},
		{"powertools_base64_gzip", encode("text"), "the decoded string is not gzip"},
		{"powertools_base64_gzip", packed(t, "some text")[:24], "the decoded string is not gzip"},
		{"powertools_base64_gzip", encode(string(damaged)), "the decoded string is not gzip"},
		{"powertools_base64_gzip", packed(t, "a\xff"), "the decoded string is not UTF-8"},
	} {
		payload := `{"a":` + string(stringValue(c.argument).JSON()) + `}`
		_, err := trySelect("a."+c.function+"(@)", payload)
		var failure *Error
		require.ErrorAs(t, err, &failure, "%s on %s", c.function, payload)
		assert.Equal(t, c.want, failure.Detail)
		assert.Equal(t, c.function, failure.Function)
		assert.Equal(t, 2, failure.Offset)
		assert.Equal(t, errInvalidValue, kindOf(err))
		if c.function == "powertools_json" {
			assert.ErrorAs(t, err, new(*fingerprint.SyntaxError))
		} else {
			assert.NoError(t, failure.Err)
		}
	}
}

// 1 GB of zeros packs to about 1 MB, which unpacks to no more than the limit.
func TestPackedBombsStayPacked(t *testing.T) {
	var buffer bytes.Buffer
	w, err := gzip.NewWriterLevel(&buffer, gzip.BestSpeed)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 1 << 10 {
		_, err = w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	payload := []byte(`"` + base64.StdEncoding.EncodeToString(buffer.Bytes()) + `"`)
	expression, err := Compile("powertools_base64_gzip(@)")
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = expression.Search(payload)
	runtime.ReadMemStats(&after)
	assert.Equal(t, errLimit, kindOf(err))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20))
}

// What is unpacked counts with everything else that a search makes, over all of its calls.
func TestUnpackedBytesAreBounded(t *testing.T) {
	t.Parallel()
	events := func(sizes ...int) []byte {
		var texts []string
		for _, size := range sizes {
			texts = append(texts, strconv.Quote(packed(t, strings.Repeat("x", size))))
		}
		return []byte("[" + strings.Join(texts, ",") + "]")
	}
	expression, err := Compile("[*].powertools_base64_gzip(@).length(@)")
	require.NoError(t, err)
	for range 2 { // the bound is for each search
		selected, err := expression.Search(events(maxGrowth/2, maxGrowth/2))
		require.NoError(t, err)
		assert.Equal(t, "[8388608,8388608]", string(selected.JSON()))
	}
	for _, event := range [][]byte{events(2 * maxGrowth), events(maxGrowth, maxGrowth)} {
		_, err = expression.Search(event)
		assert.Equal(t, errLimit, kindOf(err))
	}
}
