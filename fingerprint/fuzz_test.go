package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

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
