package powertools

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// typescript has JSON.stringify after deepSort, and of results what marshall of
// @aws-sdk/util-dynamodb makes of them, as JSON text.
func typescript() *Codec {
	return &Codec{
		comma: ",", colon: ":",
		arrange: deepSorted,
		digits:  javaScriptDigits,
		doubles: notation{least: -6, most: 21, exponent: "e%+d"},
		// isMissingIdempotencyKey: what is falsy, and an array or object without any truthy value.
		nothing: falsy, digest: base64.StdEncoding.EncodeToString, hashes: openSSLNames, values: true,
	}
}

// protoName is no member of an object that is written in JavaScript: it sets what the object
// inherits from.
const protoName = "__proto__"

// deepSorted orders members as a JavaScript object has them: array indices first, by value, then
// the others as sent (ECMAScript, OrdinaryOwnPropertyKeys), or, unless they are those of an
// attribute, as deepSort of Powertools leaves them. Its comparison never says that two names are
// equal; the sort of V8 keeps such names in their order all the same.
func deepSorted(members []member, attribute bool) ([]member, error) {
	if attribute && slices.ContainsFunc(members, func(m member) bool { return m.name == "" }) {
		return nil, ErrEmptyName
	}
	var indices, names []member
	lower := map[string][]uint16{}
	for _, m := range members {
		switch {
		case m.name == protoName:
			return nil, ErrProto
		case isIndex(m.name):
			indices = append(indices, m)
		default:
			names = append(names, m)
			lower[m.name] = lowerCase(m.name)
		}
	}
	slices.SortFunc(indices, func(a, b member) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	if !attribute {
		slices.SortStableFunc(names, func(a, b member) int { return slices.Compare(lower[a.name], lower[b.name]) })
	}
	return append(indices, names...), nil
}

// isIndex reports whether V8 takes a name for an index: 0 to 4294967294 in its plain spelling.
func isIndex(name string) bool {
	n, err := strconv.ParseUint(name, 10, 32)
	return err == nil && n < 1<<32-1 && strconv.FormatUint(n, 10) == name
}

// javaScriptDigits are those of ECMAScript's Number::toString, which writes -0 as 0.
func javaScriptDigits(f float64) (decimal, error) {
	d := shortest(f, -1)
	d.negative = f < 0
	return d, nil
}

func falsy(v value) bool {
	switch v.kind {
	case number:
		f, _ := strconv.ParseFloat(v.text, 64) // what overflows is infinite
		return f == 0
	case array, object:
		return false
	default:
		return v.text == "" || v.kind == boolean && v.text == "false"
	}
}

// lowerCase is String.prototype.toLowerCase, in UTF-16: the Unicode default case conversion without
// locale, which maps two characters differently from their simple mapping (SpecialCasing.txt): İ
// becomes two characters, and Σ at the end of a word becomes ς.
func lowerCase(s string) []uint16 {
	lower := make([]uint16, 0, len(s))
	for i := 0; i < len(s); {
		r, size := jsontext.NextRune(s[i:])
		switch {
		case r == 'İ':
			lower = append(lower, 'i', '\u0307')
		case r == 'Σ' && endsWord(s[:i], s[i+size:]):
			lower = append(lower, 'ς')
		case utf16.IsSurrogate(r): // half of a pair
			lower = append(lower, uint16(r))
		default:
			lower = utf16.AppendRune(lower, unicode.ToLower(r))
		}
		i += size
	}
	return lower
}

// endsWord is the condition Final_Sigma (The Unicode Standard, table 3-17): a cased letter stands
// before and none behind, not counting characters that case ignores. Half of a surrogate pair is
// neither.
func endsWord(before, behind string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, isCaseIgnorable))
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(behind, isCaseIgnorable))
	return isCased(last) && !isCased(next)
}

// isCased is the property Cased (DerivedCoreProperties.txt).
func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// isCaseIgnorable is the property Case_Ignorable (DerivedCoreProperties.txt): four categories, Lm,
// and the characters inside words of WordBreakProperty.txt (MidLetter, MidNumLet, Single_Quote).
func isCaseIgnorable(r rune) bool {
	const insideWords = "'.:·\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A"
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune(insideWords, r)
}
