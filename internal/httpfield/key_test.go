package httpfield

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The grammar of the header, put together from the productions of RFC 9651, section 3, and the bare
// text. It shares nothing with the parser.
const (
	grammarString    = `"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`
	grammarBare      = `[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+`
	grammarNumber    = `-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})`
	grammarDate      = `@-?[0-9]{1,15}`
	grammarToken     = "[A-Za-z*][-!#$%&'*+.^_`|~0-9A-Za-z:/]*"
	grammarBytes     = `:[A-Za-z0-9+/=]*:`
	grammarBoolean   = `\?[01]`
	grammarDisplay   = `%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*"`
	grammarParameter = `; *[a-z*][-a-z0-9_.*]*(?:=(?:` + grammarString + `|` + grammarNumber + `|` + grammarDate + `|` +
		grammarToken + `|` + grammarBytes + `|` + grammarBoolean + `|` + grammarDisplay + `))?`
)

var grammarField = regexp.MustCompile(
	`^[ \t]*(?:(` + grammarBare + `)|(` + grammarString + `)((?:` + grammarParameter + `)*))[ \t]*$`)

// readField is how a reader of the RFC understands the header. Sure is false where the RFC leaves
// it to the reader: what is in a byte sequence or a display string.
func readField(field string) (key string, ok, sure bool) {
	m := grammarField.FindStringSubmatch(field)
	if m == nil {
		return "", false, true
	}
	key = m[1]
	if m[2] != "" {
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[2][1 : len(m[2])-1])
	}
	sure = !strings.Contains(m[3], "=:") && !strings.Contains(m[3], `%"`)
	return key, len(key) >= 1 && len(key) <= 255, sure
}

// FuzzParseKey checks that every header has the key that a reader of the RFC finds in it, and
// therefore that two headers have the same key only if that reader takes them for the same.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		"abc", `"abc"`, `"a\"b\\c"`, "abc;a=1", `"abc";a="x,y;z";b`, "abc,abc", "", `""`, "abc;", `"abc"x`,
		"a b", "\tabc ",
		"8e03978e-40d5-43e8-bc93-6894a57f9324", "dGVzdA==", "https://a.b/c?d=e", "k;p=1", `"k";p=:YQ==:`, `"k";p=@1`,
		`"k";p=%"f%c3%bc"`, `"k";p=?1`, `"k";p=-1.5`,
		strings.Repeat("k", 255), strings.Repeat("k", 256), "schlüssel", "a\x00b", `"k";p=1.`, `"k";p=1234567890123456`,
		"k\n", "k\r\nX-Admin: true", "k\x7f", "\x1b[31mk", "k\u00a0", "k\u200b", "\ufeffk", "\uff48k", "k\xff",
		`"k", "k"`, ",,",
		`("k" "k")`, "a=1, b=2", `"k`, `"k"k"`, "'k,k'", `k\,k`, "\"a\tb\"", `"` + strings.Repeat("k", 256) + `"`,
		" \t ", ";k",
		`"";k=1`, "k;a=1, k;a=1", "k,", `x"k"`, `"`, `"k\s"`, `"k\"`, `k"k`, `k\k`, `"ü"`, "k\tk", "k; a=1;b", "k;2",
		"k;1=2",
		"k;A=1", "k;a=", "k ;a=1", "k;\ta=1", `"k";`, `"k" ;a=1`, `k;a="x`, "k;a=1 b", "k' OR '1'='1", " abc ",
		` "abc" `,
		`"abc"; a=1;b`, `"abc"; *z=?1`, "ABC", `"abc "`, `" abc"`, "'abc'", ":YWJj:", "1", "1.0", "?1", "@1", "%61bc",
		"a/b+c==",
		`"a,b"`, `"a;b"`, `" "`, "(a)", "{a}", "*",
	} {
		f.Add(seed, `"`+seed+`"`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		keyA, okA := checkAgainstReader(t, a)
		keyB, okB := checkAgainstReader(t, b)
		if !okA || !okB {
			return
		}
		readA, _, _ := readField(a)
		readB, _, _ := readField(b)
		assert.Equal(t, readA == readB, keyA == keyB, "%q and %q", a, b)

		_, err := ReadKey([]string{a, b}, nil)
		require.Error(t, err, "sent twice")
		for _, joined := range []string{a + "," + b, a + ", " + b} {
			_, err := ReadKey([]string{joined}, nil)
			require.Error(t, err, "sent twice and joined: %q", joined)
		}
	})
}

func checkAgainstReader(t *testing.T, field string) (string, bool) {
	t.Helper()
	key, err := ReadKey([]string{field}, nil)
	want, ok, sure := readField(field)
	if err != nil {
		assert.False(t, ok && sure, "%q is refused (%v), but its key is %q", field, err, want)
		return "", false
	}
	assert.True(t, ok, "%q is taken for %q, but is malformed", field, key)
	assert.Equal(t, want, key, "the key in %q", field)
	quoted, err := ReadKey([]string{`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`}, nil)
	require.NoError(t, err)
	assert.Equal(t, key, quoted, "the same key as a string")
	return key, true
}

func TestParseKeySaysWhatIsWrongWithoutTheKey(t *testing.T) {
	t.Parallel()
	for field, reason := range map[string]string{
		"":                         "empty",
		"hush,hush":                "more than once",
		"hush,":                    "comma",
		"hu sh":                    "space",
		"hüsh":                     "ASCII",
		`hu"sh`:                    "quote",
		`hu\sh`:                    "backslash",
		"hush;":                    "semicolon",
		"hush;a=1":                 "semicolon",
		`"hush";A=1`:               "parameters",
		`"hush`:                    "structured string",
		strings.Repeat("hush", 64): "longer than 255",
	} {
		_, err := ReadKey([]string{field}, nil)
		wrong, ok := err.(MalformedError)
		require.True(t, ok, field)
		assert.Contains(t, string(wrong), reason, field)
		assert.NotContains(t, string(wrong), "hu", field)
	}
}

func TestKeyKeepsToItsRules(t *testing.T) {
	t.Parallel()
	order := func(key string) error {
		if !strings.HasPrefix(key, "ORD-") {
			return errors.New("names no order")
		}
		return nil
	}
	quoting := func(key string) error { return fmt.Errorf("%q names no order", key) }
	for _, field := range []string{"ORD-1", `"ORD-1"`, `"ORD- \"1"`, `"ORD-1";p=1`} {
		want, _, _ := readField(field)
		got, err := ReadKey([]string{field}, order)
		require.NoError(t, err, field)
		assert.Equal(t, want, got)
	}
	for _, c := range []struct {
		field, reason string
		check         func(string) error
	}{
		{"order-1", "names no order", order},
		{`"ORD-1`, "is no structured string with well-formed parameters (RFC 9651, section 3.3.3), or was sent more " +
			"than once", order},
		{`""`, "is empty", order},
		{strings.Repeat("k", MaxKey+1), "is longer than 255 characters", order},
		{strings.Repeat("k", MaxKey+1), "is longer than 255 characters", nil},
		{"order-1", "does not have the required form", quoting},
		{`"a b"`, "does not have the required form", quoting},
	} {
		_, err := ReadKey([]string{c.field}, c.check)
		wrong, ok := err.(MalformedError)
		require.True(t, ok, c.field)
		assert.Equal(t, c.reason, string(wrong), c.field)
	}
	_, err := ReadKey([]string{strings.Repeat("k", MaxKey)}, nil)
	require.NoError(t, err)
}

func TestMalformedKeyIsTheErrorOfItsReason(t *testing.T) {
	t.Parallel()
	_, err := ReadKey([]string{"a", "b"}, nil)
	require.EqualError(t, err, "was sent more than once")
	_, err = ReadKey(nil, nil)
	require.ErrorAs(t, err, new(MalformedError))
}
