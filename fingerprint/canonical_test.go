package fingerprint_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// canonical is Canonical for documents that are expected to be accepted.
func canonical(t require.TestingT, doc string) string {
	out, err := fingerprint.Canonical(nil, []byte(doc))
	require.NoError(t, err, "document %.200q", doc)
	return string(out)
}

// requireSame compares texts byte by byte and does not print them: they may be long.
func requireSame(t require.TestingT, want, got string) {
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	if same < max(len(want), len(got)) {
		t.Errorf("the texts, %d and %d bytes long, differ at byte %d", len(want), len(got), same)
		t.FailNow()
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"null":                       {"null", "null"},
		"true":                       {"true", "true"},
		"false":                      {"false", "false"},
		"number":                     {"-12.50", "-12.5"},
		"empty string":               {`""`, `""`},
		"empty array":                {"[ ]", "[]"},
		"empty object":               {"{\t}", "{}"},
		"every kind of white space":  {" \t\r\n[\n1 ,\r2\t, 3 ]\n\t\r ", "[1,2,3]"},
		"array keeps its order":      {"[3,1,2,[2,1],null]", "[3,1,2,[2,1],null]"},
		"members in order":           {`{"a":1,"b":2}`, `{"a":1,"b":2}`},
		"members out of order":       {`{"b" : 2 , "a" : 1}`, `{"a":1,"b":2}`},
		"shorter key first":          {`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		"keys are text, not numbers": {`{"2":1,"10":2}`, `{"10":2,"2":1}`},
		"upper case first":           {`{"a":1,"B":2}`, `{"B":2,"a":1}`},
		"members out of order behind what became longer": {
			`[1e20,{"b":1,"a":2}]`,
			`[100000000000000000000,{"a":2,"b":1}]`,
		},
		"keys sort unescaped": {
			`{"a":1,"\u0061\u0000":2,"\\":3,"\"":4,"\n":5,"[":6,"]":7," ":8}`,
			`{"\n":5," ":8,"\"":4,"[":6,"\\":3,"]":7,"a":1,"a\u0000":2}`,
		},
		"control characters sort by value": {
			`{"\u001f":1,"\n":2,"\u0001":3,"\b":4,"\u000e":5,"\t":6,"\u0010":7}`,
			`{"\u0001":3,"\b":4,"\t":6,"\n":2,"\u000e":5,"\u0010":7,"\u001f":1}`,
		},
		"escaped prefix": {
			`{"\\b":1,"\\a":2,"\"b":3,"\"":4}`,
			`{"\"":4,"\"b":3,"\\a":2,"\\b":1}`,
		},
		"surrogates sort before U+E000": {
			`{"` + "\uE000" + `":1,"` + "\U0001F600" + `":2,"` + "\uFFFF" + `":3,"` + "\uD7FF" + `":4,"` +
				"\U0010FFFF" + `":5}`,
			`{"` + "\uD7FF" + `":4,"` + "\U0001F600" + `":2,"` + "\U0010FFFF" + `":5,"` + "\uE000" + `":1,"` +
				"\uFFFF" + `":3}`,
		},
		"inner object out of order": {`{"a":{"d":1,"c":2},"b":3}`, `{"a":{"c":2,"d":1},"b":3}`},
		"outer object out of order": {`{"b":{"c":2,"d":1},"a":3}`, `{"a":3,"b":{"c":2,"d":1}}`},
		"inner and outer out of order": {
			`{"b":{"d":1,"c":2},"a":{"f":3,"e":4}}`,
			`{"a":{"e":4,"f":3},"b":{"c":2,"d":1}}`,
		},
		"out of order in arrays": {
			`[{"b":1,"a":[{"d":1,"c":2},0]},5,{"y":1,"x":{"b":1,"a":2}}]`,
			`[{"a":[{"c":2,"d":1},0],"b":1},5,{"x":{"a":2,"b":1},"y":1}]`,
		},
		"in order around out of order": {
			`{"a":{"b":{"z":0,"c":{"y":1,"x":2}}},"b":[{"k":1}]}`,
			`{"a":{"b":{"c":{"x":2,"y":1},"z":0}},"b":[{"k":1}]}`,
		},
		"empty object in one out of order": {`{"b":{},"a":[{}]}`, `{"a":[{}],"b":{}}`},
		"equal keys in different objects":  {`{"a":{"a":1},"b":{"a":1}}`, `{"a":{"a":1},"b":{"a":1}}`},
		"keys that differ in normalisation": {
			`{"` + "\u00e9" + `":1,"` + "e\u0301" + `":2}`,
			`{"` + "e\u0301" + `":2,"` + "\u00e9" + `":1}`,
		},
		"short escapes":                  {`"\b\t\n\f\r\"\\"`, `"\b\t\n\f\r\"\\"`},
		"long spelling of short escapes": {`"\u0008\u0009\u000A\u000c\u000D\u0022\u005C"`, `"\b\t\n\f\r\"\\"`},
		"other control characters": {
			`"\u0000\u0001\u000b\u000E\u001F"`,
			`"\u0000\u0001\u000b\u000e\u001f"`,
		},
		"needless escapes": {
			`"\/\u002F\u0061\u007f\u00E9\u20ac"`,
			`"//a` + "\u007f\u00e9\u20ac" + `"`,
		},
		"surrogate pair": {
			`"\uD83D\uDE00\udbff\udfff\ud800\udc00"`,
			`"` + "\U0001F600\U0010FFFF\U00010000" + `"`,
		},
		"replacement character":            {`"` + "\uFFFD" + `\ufffd"`, `"` + "\uFFFD\uFFFD" + `"`},
		"noncharacters":                    {`"\uffff\ufdd0\udbff\udffe"`, `"` + "\uFFFF\uFDD0\U0010FFFE" + `"`},
		"neither line separators nor HTML": {`"<&>` + "\u2028\u2029" + `"`, `"<&>` + "\u2028\u2029" + `"`},
		"byte order mark within a string":  {`"` + "\uFEFF" + `"`, `"` + "\uFEFF" + `"`},
		"lengths of UTF-8": {
			`"a` + "\u0080\u07ff\u0800\uffff\U00010000" + `z"`,
			`"a` + "\u0080\u07ff\u0800\uffff\U00010000" + `z"`,
		},
		"escapes next to plain characters":     {`"a\nb\u00e9\\c"`, `"a\nb` + "\u00e9" + `\\c"`},
		"numbers in members and elements":      {`{"a":[1.0,-0,1E2]}`, `{"a":[1,0,100]}`},
		"structure characters within a string": {`{"}":"{[,:]}","]":"\""}`, `{"]":"\"","}":"{[,:]}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, canonical(t, tc.in))
			require.Equal(t, tc.want, canonical(t, tc.want), "the canonical form is its own canonical form")
		})
	}
}

func TestCanonicalAppends(t *testing.T) {
	t.Parallel()
	const prefix = `{"b":0,"a":0} kept as it is:`
	for _, room := range []int{0, 10, 1000} {
		dst := append(make([]byte, 0, len(prefix)+room), prefix...)
		out, err := fingerprint.Canonical(dst, []byte(`{"b":[1.0],"a":{"y":2,"x":1e30}}`))
		require.NoError(t, err)
		requireSame(t, prefix+`{"a":{"x":1e+30,"y":2},"b":[1]}`, string(out))
	}
}

func TestCanonicalReturnsDestinationUnchangedOnError(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 1000} {
		dst := append(make([]byte, 0, 6+room), "prefix"...)
		out, err := fingerprint.Canonical(dst, []byte(`{"a":1,"a":2}`))
		require.Error(t, err)
		require.Equal(t, "prefix", string(out))
		require.Same(t, &dst[0], &out[0])
	}
}

func TestCanonicalLeavesSourceAlone(t *testing.T) {
	t.Parallel()
	const doc = `{"b":"\u0041","a":[1.0,{"d":1,"c":2}]}`
	src := []byte(doc)
	_, err := fingerprint.Canonical(nil, src)
	require.NoError(t, err)
	requireSame(t, doc, string(src))
}

func TestCanonicalDepth(t *testing.T) {
	t.Parallel()
	for name, brackets := range map[string][2]string{"arrays": {"[", "]"}, "objects": {`{"b":`, `,"a":0}`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nest := func(depth int) string {
				return strings.Repeat(brackets[0], depth) + "0" + strings.Repeat(brackets[1], depth)
			}
			canonical(t, nest(fingerprint.MaxDepth))
			_, err := fingerprint.Canonical(nil, []byte(nest(fingerprint.MaxDepth+1)))
			require.Equal(t, fingerprint.MaxDepth*len(brackets[0]), offsetOf(t, err), "the one too many")
			canonical(t, "["+nest(fingerprint.MaxDepth-1)+","+nest(fingerprint.MaxDepth-1)+"]")
		})
	}
}

func TestCanonicalSize(t *testing.T) {
	if testing.Short() {
		t.Skip("reserves 256 MiB of address space")
	}
	_, err := fingerprint.Canonical(nil, make([]byte, fingerprint.MaxSize+1))
	require.Equal(t, fingerprint.MaxSize, offsetOf(t, err))
}

// Objects made to hurt sorting: each must come out in order, and the whole test in a moment.
func TestCanonicalSortsHostileObjects(t *testing.T) {
	t.Parallel()
	const members = 100_000
	prefix := strings.Repeat("x", 4000)
	for name, key := range map[string]func(i int) string{
		"falling":            func(i int) string { return fmt.Sprintf("%08d", members-i) },
		"saw":                func(i int) string { return fmt.Sprintf("%d-%08d", i%7, members-i) },
		"organ pipe":         func(i int) string { return fmt.Sprintf("%08d", min(2*i, 2*(members-i)-1)) },
		"long common prefix": func(i int) string { return prefix + fmt.Sprintf("%08d", members-i) },
		"escaped prefix":     func(i int) string { return strings.Repeat(`\n`, 20) + fmt.Sprintf("%08d", members-i) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := make([]string, members)
			if strings.HasPrefix(name, "long") {
				keys = keys[:1000]
			}
			for i := range keys {
				keys[i] = key(i)
			}
			got := canonical(t, objectOf(keys))
			slices.Sort(keys)
			requireSame(t, objectOf(keys), got)
		})
	}
}

// objectOf returns an object with a member of value 0 for each key, already escaped.
func objectOf(keys []string) string {
	return `{"` + strings.Join(keys, `":0,"`) + `":0}`
}

func TestCanonicalSortsEveryLevel(t *testing.T) {
	t.Parallel()
	for levels := range 30 {
		nest := func(before, core, behind string) string {
			return strings.Repeat(before, levels) + core + strings.Repeat(behind, levels)
		}
		require.Equal(t, nest(`{"a":0,"b":[{},`, `{"a":2,"b":1}`, `,{"c":2,"d":1}]}`),
			canonical(t, nest(`{"b":[{},`, `{"b":1,"a":2}`, `,{"d":1,"c":2}],"a":0}`)))
		require.Equal(t, nest(`{"a":`, `{"a":2,"b":1}`, `,"b":0}`),
			canonical(t, nest(`{"a":`, `{"b":1,"a":2}`, `,"b":0}`)))
		require.Equal(t, nest("[", `{"a":2,"b":1}`, ",0]"), canonical(t, nest("[", `{"b":1,"a":2}`, ",0]")))
	}
}

// order is a body of about 200 bytes whose members are out of order.
const order = `{"orderId":"7f9c2ba4-e88f-4d1c-a1b0-6f2d4c0a9e51","amount":1299.50,"currency":"EUR",` +
	`"customer":{"id":48213,"email":"ada@example.com"},"items":[{"sku":"A-1","qty":2},{"sku":"B-7","qty":1}]}`

// orders is an array of as many orders as make up the given number of bytes.
func orders(order string, size int) string {
	return "[" + strings.Repeat(order+",", size/(len(order)+1)-1) + order + "]"
}

const megabyte = 1 << 20

// quickest returns the shortest of a few measurements, which a busy machine falsifies least.
func quickest(t *testing.T, doc, want string) time.Duration {
	src, dst := []byte(doc), make([]byte, 0, len(doc))
	shortest := time.Hour
	for range 3 {
		start := time.Now()
		form, err := fingerprint.Canonical(dst, src)
		shortest = min(shortest, time.Since(start))
		require.NoError(t, err)
		requireSame(t, want, string(form))
	}
	return shortest
}

// Putting a deep document in order level by level would move its core a thousand times and take
// hundreds of times as long.
func TestDepthDoesNotMultiplyTheTimeToSort(t *testing.T) {
	// Not parallel: it measures time.
	const levels = fingerprint.MaxDepth
	core := `"` + strings.Repeat("x", 6*megabyte) + `"`
	form := strings.Repeat(`{"a":0,"b":`, levels) + core + strings.Repeat("}", levels)
	unordered := strings.Repeat(`{"b":`, levels) + core + strings.Repeat(`,"a":0}`, levels)
	require.Less(t, quickest(t, unordered, form), 100*quickest(t, form, form))
}

// Names that encoding/json takes for one, after unescaping, are refused at the place of the later
// one, also among many.
func TestNamesThatFoldIntoOneAreRefused(t *testing.T) {
	t.Parallel()
	for names, fold := range map[[2]string]bool{
		{"sku", "SKU"}: true, {"sku", "\u017fku"}: true, {`\u017fku`, "Sku"}: true, // the long s
		{"key", "\u212aey"}: true, {"K", `\u212A`}: true, // the sign of the kelvin
		{"\u00e9", "\u00c9"}: true, {"\u03c3", "\u03c2"}: true, {"a", `\u0041`}: true,
		{"sku", "skus"}: false, {"s", "ss"}: false, {"\u00df", "ss"}: false,
		{"i", "\u0131"}: false, {"i", "\u0130"}: false,
		{"\u00e9", "e\u0301"}: false, {"", " "}: false,
	} {
		more := ""
		for n := range 40 {
			doc := fmt.Sprintf(`{"%s":1%s,"%s":2}`, names[0], more, names[1])
			more += fmt.Sprintf(`,"member %d":{"%s":0}`, n, names[1])
			want, err := fingerprint.Canonical(nil, []byte(doc))
			require.NoError(t, err, "names that are not equal are two")
			got, err := fingerprint.CanonicalFolding(nil, []byte(doc))
			hashed := fingerprint.New("test").JSONFolding([]byte(doc))
			if !fold {
				require.NoError(t, errors.Join(err, hashed), doc)
				require.Equal(t, string(want), string(got))
				continue
			}
			var refused *fingerprint.SyntaxError
			require.ErrorAs(t, err, &refused, doc)
			require.Equal(t, err, hashed)
			require.Equal(t, strings.LastIndex(doc, `"`+names[1]+`"`), refused.Offset)
			require.Empty(t, got)
		}
	}
}
