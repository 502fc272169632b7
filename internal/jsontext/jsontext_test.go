package jsontext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

func TestEndOfAValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`"a" `: 3, `"a\""x`: 5, `"a\\"x`: 5, `12,`: 2, `null`: 4, `true]`: 4, `[]`: 2, `{} `: 2,
		`{"a":["]}\"",{}]}x`: 17, // brackets in a string are none
		``:                   -1, `,`: -1, `]`: -1, `"a`: -1, `"a\"`: -1, "\"a\nb\"": -1, `[1`: -1, `{"a":"}`: -1,
	} {
		assert.Equal(t, want, jsontext.End(text, 0), text)
		assert.Equal(t, want, jsontext.End([]byte(text), 0), text)
	}
	assert.Equal(t, 3, jsontext.Space(" \t\n", 0))
}

// Within finds the members and the elements, and that a text is neither an object nor an array.
func TestWithinFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{ "a" : 1 , "b\"" : [ 2 ] } x`: {`"a"`, `1`, `"b\""`, `[ 2 ]`},
		`[ "a" ,{} ]`:                   {``, `"a"`, ``, `{}`},
		`{}`:                            {}, `[ ]`: {},
		``: nil, `1`: nil, `[1`: nil, `[1 2]`: nil, `[1,]`: nil, `[1}`: nil, `{"a":1,}`: nil, `{"a" 1}`: nil,
		`{"a":}`: nil, `{a:1}`: nil, `{"a`: nil, `{"a"`: nil, `{"a":`: nil, `{"a":1]`: nil, `{1:2}`: nil,
	} {
		found := []string{}
		end := jsontext.Within(text, 0, func(name string, at int) int {
			end := jsontext.End(text, at)
			if end >= 0 {
				found = append(found, name, text[at:end])
			}
			return end
		})
		if assert.Equal(t, want != nil, end > 0, text); want != nil {
			assert.Equal(t, want, found, text)
		}
	}
}

func TestUnquotedTextIsEscapedAgain(t *testing.T) {
	t.Parallel()
	for quoted, content := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\b\f\n\r\t"`: "\"\\\b\f\n\r\t", `"\u0001"`: "\x01", `"é😀"`: "é😀",
		"\"\u007f\u2028<\"": "\u007f\u2028<",
		`"\ud83d"`:          "\xed\xa0\xbd", `"\ude00\ud83d"`: "\xed\xb8\x80\xed\xa0\xbd", // halves of a pair
	} {
		assert.Equal(t, content, jsontext.Unquote(quoted))
		assert.Equal(t, quoted, string(jsontext.Escapes{}.Append(nil, content)))
	}
	assert.Equal(t, "é😀/", jsontext.Unquote(`"\u00e9\ud83d\ude00\/"`))
	assert.Equal(t, `"\u00E9\uD83D\uDE00\u007F"`,
		string(jsontext.Escapes{Upper: true, ASCII: true}.Append(nil, "é😀\x7f")))
}

func TestDecimalsAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ text, floor, ceil, third string }{
		"0.0":   {"0", "0", "0", "0"},
		"-1.50": {"-1.5", "-2", "-1", "-0.5"},
		"99.9":  {"99.9", "99", "100", "33.3"},
		"1e3":   {"1000", "1000", "1000", "333.3333333333333333333333333333333"},
		"2":     {"2", "2", "2", "0.6666666666666666666666666666666667"},
		"3e-99": {"3e-99", "0", "1", "1e-99"},
		"1e999": {"1e999", "1e999", "1e999", "3.333333333333333333333333333333333e998"},
	} {
		d := jsontext.ParseDecimal(text)
		assert.Equal(t, want.text, d.Text())
		assert.Equal(t, want.floor, d.Rounded(false).Text(), text)
		assert.Equal(t, want.ceil, d.Rounded(true).Text(), text)
		assert.Equal(t, want.third, d.DividedBy(3).Text(), text)
		assert.Equal(t, 0, d.Compare(jsontext.ParseDecimal(want.text)), text)
		assert.Equal(t, -1, d.Compare(jsontext.ParseDecimal("1e1000")), text)
	}
}
