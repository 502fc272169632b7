package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

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

// What every document has to satisfy: it is accepted exactly if the oracle accepts it, and its
// canonical form means the same, is the canonical form of itself, and is not too long. The larger
// inputs are left to the fuzzer of the parser: the oracle is slow.
func FuzzCanonical(f *testing.F) {
	f.Fuzz(func(t *testing.T, doc []byte) {
		form, err := fingerprint.Canonical(nil, doc)
		want, ok := any(nil), false
		if len(doc) < 4096 {
			want, ok = understand(doc)
			require.Equal(t, ok, err == nil, "accepted by the oracle: %v, error: %v", ok, err)
		}
		if err != nil {
			offset := offsetOf(t, err)
			require.GreaterOrEqual(t, offset, 0)
			require.LessOrEqual(t, offset, len(doc))
			return
		}
		require.LessOrEqual(t, len(form), 6*len(doc))
		again, err := fingerprint.Canonical(nil, form)
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
		if ok {
			got, ok := understand(form)
			require.True(t, ok)
			require.True(t, reflect.DeepEqual(want, got), "%q became %q", doc, form)
		}
	})
}

func FuzzVersionOf(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		version, ok := fingerprint.VersionOf(text)
		if !ok {
			require.Empty(t, version)
			return
		}
		require.Regexp(t, `^(1|1h):[A-Za-z0-9_-]{43}$`, text)
		require.Equal(t, version, text[:len(text)-44])
	})
}

// A hash is as it was after each error, whatever the document.
func FuzzHashJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, doc []byte) {
		h := fingerprint.New("fuzz")
		before := h.Sum()
		form, want := fingerprint.Canonical(nil, doc)
		err := h.JSON(doc)
		require.Equal(t, want, err)
		if err != nil {
			var syntax *fingerprint.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, before, h.Sum())
			return
		}
		ofForm := fingerprint.New("fuzz")
		require.NoError(t, ofForm.JSON(form))
		require.Equal(t, ofForm.Sum(), h.Sum(), "the document and its canonical form are one value")
		require.LessOrEqual(t, len(fingerprint.Digested(t, doc)), len(doc), "%q", doc)
		again, err := fingerprint.Canonical(nil, fingerprint.Digested(t, doc))
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
	})
}

// number is an exact decimal, integer × 10^exponent, the integer without trailing zeros.
type number struct{ integer, exponent string }

// understand is an independent opinion on a document: what it means, in values that
// reflect.DeepEqual compares, and whether the package has to accept it. It leans on encoding/json
// for the grammar and on math/big for numbers, and is slow.
func understand(doc []byte) (value any, ok bool) {
	if !json.Valid(doc) || !utf8.Valid(doc) || hasLoneSurrogate(doc) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	if value, ok = understandNext(decoder, 0); !ok {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}

// An escape sequence, a pair of surrogates, or, in the group, a lone one: a backslash that is
// itself escaped starts nothing.
var escapes = regexp.MustCompile(`\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)`)

func hasLoneSurrogate(doc []byte) bool {
	for _, match := range escapes.FindAllSubmatch(doc, -1) {
		if len(match[1]) > 0 {
			return true
		}
	}
	return false
}

func understandNext(decoder *json.Decoder, depth int) (value any, ok bool) {
	token, err := decoder.Token()
	if err != nil {
		return nil, false
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == fingerprint.MaxDepth {
			return nil, false
		}
		if token == '{' {
			return understandObject(decoder, depth+1)
		}
		return understandArray(decoder, depth+1)
	case json.Number:
		return understandNumber(token.String())
	default:
		return token, true
	}
}

func understandArray(decoder *json.Decoder, depth int) (value any, ok bool) {
	array := []any{}
	for decoder.More() {
		element, ok := understandNext(decoder, depth)
		if !ok {
			return nil, false
		}
		array = append(array, element)
	}
	_, err := decoder.Token()
	return array, err == nil
}

func understandObject(decoder *json.Decoder, depth int) (value any, ok bool) {
	object := map[string]any{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		member, ok := understandNext(decoder, depth)
		if _, twice := object[key.(string)]; twice || !ok {
			return nil, false
		}
		object[key.(string)] = member
	}
	_, err := decoder.Token()
	return object, err == nil
}

func understandNumber(text string) (value any, ok bool) {
	mantissa, power, found := strings.Cut(strings.ToLower(text), "e")
	if !found {
		power = "0"
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	integer, _ := new(big.Int).SetString(whole+fraction, 10)
	exponent, _ := new(big.Int).SetString(power, 10)
	if integer.Sign() == 0 {
		return number{"0", "0"}, true
	}
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	for one, ten := big.NewInt(1), big.NewInt(10); ; exponent.Add(exponent, one) {
		quotient, remainder := new(big.Int).QuoRem(integer, ten, new(big.Int))
		if remainder.Sign() != 0 {
			break
		}
		integer = quotient
	}
	digits := len(strings.TrimPrefix(integer.String(), "-"))
	leading := new(big.Int).Add(exponent, big.NewInt(int64(digits-1)))
	inRange := leading.CmpAbs(big.NewInt(fingerprint.MaxExponent)) <= 0
	return number{integer.String(), exponent.String()}, inRange
}
