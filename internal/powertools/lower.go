package powertools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// lowerCase is String.prototype.toLowerCase: the Unicode default case conversion without locale,
// which maps two characters differently from their simple mapping (SpecialCasing.txt): İ becomes
// two characters, and Σ at the end of a word becomes ς.
func lowerCase(s string) string {
	lower := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := jsontext.NextRune(s[i:])
		switch {
		case r == 'İ':
			lower = append(lower, "i\u0307"...)
		case r == 'Σ' && endsWord(s[:i], s[i+size:]):
			lower = append(lower, "ς"...)
		default:
			lower = jsontext.AppendRune(lower, unicode.ToLower(r))
		}
		i += size
	}
	return string(lower)
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
