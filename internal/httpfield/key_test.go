package httpfield

import (
	"cmp"
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
	`^[ \t]*(?:(` + grammarBare + `)|(` + grammarString + `)((?:` + grammarParameter + `)*))[ \t]*$`)

// readField is how a reader of the RFC understands the header. Sure is false where the RFC leaves it to the reader: what
// is in a byte sequence or a display string.
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

var defaultRules = KeyRules{Min: 1, Max: MaxKey}

// FuzzParseKey checks that every header has the key that a reader of the RFC finds in it, and therefore that two headers
// have the same key only if that reader takes them for the same.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		"abc", `"abc"`, `"a\"b\\c"`, "abc;a=1", `"abc";a="x,y;z";b`, "abc,abc", "", `""`, "abc;", `"abc"x`, "a b", "\tabc ",
		"8e03978e-40d5-43e8-bc93-6894a57f9324", "dGVzdA==", "https://a.b/c?d=e", "k;p=1", `"k";p=:YQ==:`, `"k";p=@1`, `"k";p=%"f%c3%bc"`, `"k";p=?1`, `"k";p=-1.5`,
		strings.Repeat("k", 255), strings.Repeat("k", 256), "schlüssel", "a\x00b", `"k";p=1.`, `"k";p=1234567890123456`,
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

		_, err := defaultRules.Read([]string{a, b})
		require.Error(t, err, "sent twice")
		for _, joined := range []string{a + "," + b, a + ", " + b} {
			_, err := defaultRules.Read([]string{joined})
			require.Error(t, err, "sent twice and joined: %q", joined)
		}
	})
}

func checkAgainstReader(t *testing.T, field string) (string, bool) {
	t.Helper()
	key, err := defaultRules.Read([]string{field})
	want, ok, sure := readField(field)
	if err != nil {
		assert.False(t, ok && sure, "%q is refused (%v), but its key is %q", field, err, want)
		return "", false
	}
	assert.True(t, ok, "%q is taken for %q, but is malformed", field, key)
	assert.Equal(t, want, key, "the key in %q", field)
	quoted, err := defaultRules.Read([]string{`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`})
	require.NoError(t, err)
	assert.Equal(t, key, quoted, "the same key as a string")
	return key, true
}

const inQuotesIf = " printable ASCII characters, in double quotes if it holds a space, comma, semicolon, double quote or backslash."

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
		_, err := defaultRules.Read([]string{field})
		wrong, ok := err.(MalformedError)
		require.True(t, ok, field)
		assert.Contains(t, wrong.Reason, reason, field)
		assert.NotContains(t, wrong.Reason+wrong.Remedy, "hu", field)
		assert.Equal(t, "Send the header once, with a key of 1 to 255"+inQuotesIf, wrong.Remedy)
	}
}

func TestKeyKeepsToItsRules(t *testing.T) {
	t.Parallel()
	const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	for name, c := range map[string]struct {
		rules   KeyRules // zero fields mean the widest rules
		keys    []string // fields with a key
		refused map[string]string
		remedy  string
	}{
		"lengths": {
			KeyRules{Min: 3, Max: 5},
			[]string{"abc", "abcde", `"abc"`, `"a\"bc"`, `"abc";p=long-parameter`},
			map[string]string{
				"ab": "is shorter than 3 characters", `"ab"`: "is shorter than 3 characters", `"a\""`: "is shorter than 3 characters",
				"abcdef": "is longer than 5 characters", `"abcdef"`: "is longer than 5 characters", `""`: "is empty",
			},
			"Send the header once, with a key of 3 to 5" + inQuotesIf,
		},
		"one length": {
			KeyRules{Min: 2, Max: 2},
			[]string{"ab"},
			map[string]string{"a": "shorter than 2", "abc": "longer than 2"},
			"Send the header once, with a key of 2" + inQuotesIf,
		},
		"highest": {
			KeyRules{Min: 255},
			[]string{strings.Repeat("k", 255)},
			map[string]string{strings.Repeat("k", 254): "shorter", strings.Repeat("k", 256): "longer"},
			"Send the header once, with a key of 255" + inQuotesIf,
		},
		"UUID": {
			KeyRules{Pattern: KeyUUID},
			[]string{uuid, strings.ToUpper(uuid), `"` + uuid + `"`, "00000000-0000-0000-0000-000000000000", "01900000-0000-7000-8000-0123456789aB"},
			map[string]string{
				"x" + uuid: "format", uuid + "x": "format", `"` + uuid + ` "`: "format", "{" + uuid + "}": "format", uuid[1:]: "format",
				strings.ReplaceAll(uuid, "-", ""): "format", strings.Replace(uuid, "8", "g", 1): "format", "urn:uuid:" + uuid: "format",
			},
			"Send the header once, with a UUID in its text form.",
		},
		"alternatives are anchored as a whole": {
			KeyRules{Pattern: "ORD-[0-9]+|INV"},
			[]string{"ORD-1", "INV"},
			map[string]string{"INVx": "format", "xINV": "format", "ORD-": "format", "ORD-1x": "format", `"ORD-1 "`: "format"},
			"Send the header once, with a key of 1 to 255" + inQuotesIf + " It must match the regular expression ORD-[0-9]+|INV.",
		},
		"flags stay inside": {
			KeyRules{Pattern: "(?i)abc"},
			[]string{"ABC", "abc"},
			map[string]string{"abcd": "format"},
			"Send the header once, with a key of 1 to 255" + inQuotesIf + " It must match the regular expression (?i)abc.",
		},
		"anchors inside change nothing": {
			KeyRules{Pattern: "a$|b"},
			[]string{"a", "b"},
			map[string]string{"ab": "format", "ba": "format"},
			"Send the header once, with a key of 1 to 255" + inQuotesIf + " It must match the regular expression a$|b.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := c.rules
			rules.Min, rules.Max = cmp.Or(rules.Min, 1), cmp.Or(rules.Max, MaxKey)
			var err error
			rules.Format, err = CompileKeyFormat(rules.Pattern)
			require.NoError(t, err)
			for _, field := range c.keys {
				want, _, _ := readField(field)
				got, err := rules.Read([]string{field})
				require.NoError(t, err, field)
				assert.Equal(t, want, got)
			}
			for field, reason := range c.refused {
				_, err := rules.Read([]string{field})
				wrong, ok := err.(MalformedError)
				require.True(t, ok, field)
				assert.Contains(t, wrong.Reason, reason, field)
				assert.Equal(t, c.remedy, wrong.Remedy)
			}
		})
	}
}

func TestKeyFormatIsValidByItself(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"(", "a)|(b", "[", `\`, "a{2,1}"} {
		format, err := CompileKeyFormat(pattern)
		require.Error(t, err, pattern)
		assert.Nil(t, format)
	}
	format, err := CompileKeyFormat("")
	require.NoError(t, err)
	assert.Nil(t, format, "any key")
}

func TestMalformedKeyIsTheErrorOfItsReason(t *testing.T) {
	t.Parallel()
	_, err := defaultRules.Read([]string{"a", "b"})
	require.EqualError(t, err, "was sent more than once")
	_, err = defaultRules.Read(nil)
	require.ErrorAs(t, err, new(MalformedError))
}
