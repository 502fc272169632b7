package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/fingerprint"
)

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
