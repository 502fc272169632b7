package idempotent

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The grammar of the header, put together from the productions of RFC 9651, section 3, and the bare text. It shares
// nothing with the parser.
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
	`^[ \t]*(?:(` + grammarString + `)|(` + grammarBare + `))((?:` + grammarParameter + `)*)[ \t]*$`)

// readField is how a reader of the RFC understands the header. Sure is false where the RFC leaves it to the reader: what
// is in a byte sequence or a display string.
func readField(field string) (key string, ok, sure bool) {
	m := grammarField.FindStringSubmatch(field)
	if m == nil {
		return "", false, true
	}
	key = m[2]
	if m[1] != "" {
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[1][1 : len(m[1])-1])
	}
	sure = !strings.Contains(m[3], "=:") && !strings.Contains(m[3], `%"`)
	return key, len(key) >= 1 && len(key) <= 255, sure
}

// FuzzParseKey checks that every header has the key that a reader of the RFC finds in it, and therefore that two headers
// have the same key only if that reader takes them for the same.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		"abc", `"abc"`, `"a\"b\\c"`, "abc;a=1", `"abc";a="x,y;z";b`, "abc,abc", "", `""`, "abc;", `"abc"x`, "a b", "\tabc ",
		"8e03978e-40d5-43e8-bc93-6894a57f9324", "dGVzdA==", "https://a.b/c?d=e", "k;p=:YQ==:", "k;p=@1", `k;p=%"f%c3%bc"`, "k;p=?1", "k;p=-1.5",
		strings.Repeat("k", 255), strings.Repeat("k", 256), "schlüssel", "a\x00b", "k;p=1.", "k;p=1234567890123456",
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

		_, err := parseKey([]string{a, b})
		require.Error(t, err, "sent twice")
		for _, joined := range []string{a + "," + b, a + ", " + b} {
			_, err := parseKey([]string{joined})
			require.Error(t, err, "sent twice and joined: %q", joined)
		}
	})
}

func checkAgainstReader(t *testing.T, field string) (string, bool) {
	t.Helper()
	key, err := parseKey([]string{field})
	want, ok, sure := readField(field)
	if err != nil {
		assert.False(t, ok && sure, "%q is refused (%v), but its key is %q", field, err, want)
		return "", false
	}
	assert.True(t, ok, "%q is taken for %q, but is malformed", field, key)
	assert.Equal(t, want, key, "the key in %q", field)
	quoted, err := parseKey([]string{`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`})
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
		"hush;":                    "parameters",
		`"hush`:                    "structured string",
		strings.Repeat("hush", 64): "longer than 255",
	} {
		_, err := parseKey([]string{field})
		require.Error(t, err, field)
		assert.Contains(t, err.Error(), reason, field)
		assert.NotContains(t, err.Error(), "hu", field)
	}
}
