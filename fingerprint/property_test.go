package fingerprint_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// decimal is a number to be spelled: the integer written by digits × 10^exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// Values are drawn as nil, bool, string, decimal, []any and map[string]any, at most depth levels
// deep and with exponents up to the given one. Small alphabets make equal parts and common prefixes
// likely.
func drawValue(t *rapid.T, depth, exponent int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return drawString(t)
	case 3:
		return decimal{
			negative: rapid.Bool().Draw(t, "negative"),
			digits:   rapid.StringMatching(`0|[1-9][0-9]{0,1}|[1-9][0-9]{14,30}`).Draw(t, "digits"),
			exponent: rapid.IntRange(-exponent, exponent).Draw(t, "exponent"),
		}
	case 4:
		array := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range array {
			array[i] = drawValue(t, depth-1, exponent)
		}
		return array
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 6).Draw(t, "size") {
			object[drawString(t)] = drawValue(t, depth-1, exponent)
		}
		return object
	}
}

// drawDeep puts a value into some objects, one within the other, with other members before and
// behind.
func drawDeep(t *rapid.T, value any) any {
	for range rapid.IntRange(0, 20).Draw(t, "levels") {
		object := map[string]any{drawString(t): value}
		for range rapid.IntRange(0, 2).Draw(t, "siblings") {
			object[drawString(t)] = drawValue(t, 1, 3)
		}
		value = object
	}
	return value
}

func drawString(t *rapid.T) string {
	runes := []rune("ab\"\\/\n\t\u0000\u001f\u007f\u00e9\uD7FF\uE000\uFFFD\uFFFF\U00010000\U0001F600\U0010FFFF")
	return string(rapid.SliceOfN(rapid.SampledFrom(runes), 0, 4).Draw(t, "string"))
}

// spell writes a value as one of its many JSON texts. Spelling is no choice that a failure has to
// be reduced by, so it draws only a seed.
func spell(t *rapid.T, value any) string {
	s := speller{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "spelling"), 0))}
	s.value(value)
	return s.String()
}

type speller struct {
	strings.Builder
	*rand.Rand
}

func (s *speller) space() {
	for s.IntN(3) == 0 {
		s.WriteByte(" \t\r\n"[s.IntN(4)])
	}
}

func (s *speller) value(value any) {
	s.space()
	switch v := value.(type) {
	case nil:
		s.WriteString("null")
	case bool:
		s.WriteString(strconv.FormatBool(v))
	case string:
		s.text(v)
	case decimal:
		s.number(v)
	case []any:
		s.WriteByte('[')
		s.space()
		for i, element := range v {
			if i > 0 {
				s.WriteByte(',')
			}
			s.value(element)
		}
		s.WriteByte(']')
	case map[string]any:
		s.WriteByte('{')
		s.space()
		keys := slices.Collect(maps.Keys(v))
		slices.Sort(keys) // so that the seed alone decides
		s.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i, key := range keys {
			if i > 0 {
				s.WriteByte(',')
			}
			s.space()
			s.text(key)
			s.space()
			s.WriteByte(':')
			s.value(v[key])
		}
		s.WriteByte('}')
	}
	s.space()
}

func (s *speller) text(text string) {
	s.WriteByte('"')
	for _, r := range text {
		short := strings.IndexRune("\"\\/\b\f\n\r\t", r)
		switch {
		case short >= 0 && s.IntN(2) == 0:
			s.WriteString(`\` + `"\/bfnrt`[short:short+1])
		case r < ' ' || r == '"' || r == '\\' || s.IntN(3) == 0:
			for _, unit := range utf16.Encode([]rune{r}) {
				format := []string{`\u%04x`, `\u%04X`}[s.IntN(2)]
				fmt.Fprintf(s, format, unit)
			}
		default:
			s.WriteRune(r)
		}
	}
	s.WriteByte('"')
}

// number writes the digits with zeros around them, sets the point anywhere and makes up for it in
// the exponent.
func (s *speller) number(n decimal) {
	if n.negative {
		s.WriteByte('-')
	}
	trailing := s.IntN(3)
	digits := n.digits + strings.Repeat("0", trailing)
	exponent := n.exponent - trailing
	behind := s.IntN(len(digits) + 3)
	if lack := behind + 1 - len(digits); lack > 0 {
		digits = strings.Repeat("0", lack) + digits
	}
	point := len(digits) - behind
	if digits[0] == '0' { // there is one digit before the point if it is 0
		point = 1
		behind = len(digits) - 1
	}
	s.WriteString(digits[:point])
	if behind > 0 {
		s.WriteString("." + digits[point:])
	}
	if exponent += behind; exponent == 0 && s.IntN(2) == 0 {
		return
	}
	s.WriteByte("eE"[s.IntN(2)])
	switch {
	case exponent < 0:
		s.WriteByte('-')
	case s.IntN(2) == 0:
		s.WriteByte('+')
	}
	s.WriteString(strings.Repeat("0", s.IntN(3)) + strconv.Itoa(max(exponent, -exponent)))
}

// change returns a value that differs in one place, or happens to be the same.
func change(t *rapid.T, value any) any {
	switch v := value.(type) {
	case decimal:
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0:
			v.negative = !v.negative
		case 1:
			v.exponent++
		case 2:
			v.digits, v.exponent = v.digits+"0", v.exponent-1
		default:
			v.digits, v.exponent = v.digits+"1", v.exponent-1
		}
		return v
	case string:
		changed := []string{v + "a", "a" + v, strings.ToUpper(v), strings.TrimPrefix(v, "a")}
		return rapid.SampledFrom(changed).Draw(t, "change")
	case []any:
		if len(v) == 0 {
			return []any{[]any{}}
		}
		changed := slices.Clone(v)
		i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			changed[0], changed[i] = changed[i], changed[0]
		case 1:
			changed = slices.Delete(changed, i, i+1)
		default:
			changed[i] = change(t, changed[i])
		}
		return changed
	case map[string]any:
		if len(v) == 0 {
			return map[string]any{"": nil}
		}
		changed := maps.Clone(v)
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "key")
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			delete(changed, key)
		case 1:
			changed[key+"a"] = changed[key]
			delete(changed, key)
		default:
			changed[key] = change(t, changed[key])
		}
		return changed
	default:
		return rapid.SampledFrom([]any{nil, true, false, "", "null"}).Draw(t, "change")
	}
}

func TestSpellingDoesNotCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := drawDeep(t, drawValue(t, 4, 40))
		one, other := spell(t, value), spell(t, value)
		form := canonical(t, one)
		require.Equal(t, form, canonical(t, other), "spelled %q and %q", one, other)
		require.Equal(t, form, canonical(t, form), "the canonical form is its own canonical form")
	})
}

func TestCanonicalFormsAreEqualIfValuesAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := drawDeep(t, drawValue(t, 3, 3))
		one, other := spell(t, value), spell(t, change(t, value))
		x, ok := understand([]byte(one))
		require.True(t, ok, one)
		y, ok := understand([]byte(other))
		require.True(t, ok, other)
		require.Equal(t, reflect.DeepEqual(x, y), canonical(t, one) == canonical(t, other), "%q and %q", one, other)
	})
}

// Of documents of which most are damaged those are accepted that the oracle accepts.
func TestDamagedDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := spell(t, drawValue(t, 3, 3))
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			at := rapid.IntRange(0, len(doc)).Draw(t, "at")
			insert := rapid.SampledFrom([]string{
				"", ",", ":", "[", "]", "{", "}", `"`, `\`, `\n`, `\u0061`, `\ud83d`, `\ud83d\ude00`, "\x00", "\x1f",
				"\xff", "é", "0", "1", "-", ".", "e5", " ", "\n", "true", `"a":1,`, `"a"`,
			}).Draw(t, "insert")
			drop := rapid.IntRange(0, 2).Draw(t, "drop")
			doc = doc[:at] + insert + doc[min(at+drop, len(doc)):]
		}
		_, err := fingerprint.Canonical(nil, []byte(doc))
		_, ok := understand([]byte(doc))
		require.Equal(t, ok, err == nil, "%q: %v", doc, err)
	})
}
