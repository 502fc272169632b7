package fingerprint

import (
	"cmp"
	"strings"
)

// compareKeys compares the keys at the beginning of two canonical texts by the UTF-16 code units of
// their characters (RFC 8785 section 3.2.3). A canonical text has one spelling for each character,
// so equal bytes are equal characters.
func compareKeys(a, b []byte) int {
	for i := 1; ; {
		if a[i] == b[i] && a[i] != '"' && a[i] != '\\' {
			i++
			continue
		}
		x, y := sortUnit(a[i:]), sortUnit(b[i:])
		if x != y || x == endOfKey {
			return cmp.Compare(x, y)
		}
		i += len(`\"`) // the same escape sequence: the character behind the backslash is not what it looks like
	}
}

// keyOf returns the key that a canonical text begins with, between its quotes, with its escapes.
// Folding it is folding the key: each character has one spelling, and no escape sequence becomes
// another one.
func keyOf(text []byte) []byte {
	for i := 1; ; i++ {
		switch text[i] {
		case '"':
			return text[1:i]
		case '\\':
			i++
		}
	}
}

// endOfKey sorts a key before those that it is a prefix of.
const endOfKey = -1

// sortUnit returns a number that orders keys as UTF-16 would by the byte or escape sequence in
// which they differ.
//
// The order of UTF-8 bytes is that of code points. UTF-16 differs in one point: it writes the
// characters from U+10000, which begin with 0xF0 to 0xF4 in UTF-8, with surrogates (0xD800 to
// 0xDFFF), hence before U+E000 to U+FFFF, which begin with 0xEE and 0xEF.
func sortUnit(key []byte) int {
	switch c := key[0]; c {
	case '"':
		return endOfKey
	case '\\':
		return unescape(key)
	case 0xEE, 0xEF:
		return int(c) + 0x10
	default:
		return int(c)
	}
}

// unescape returns the character of the canonical escape sequence that text begins with.
func unescape(text []byte) int {
	switch c := text[1]; c {
	case '"', '\\':
		return int(c)
	case 'u':
		return int(text[4]-'0')<<4 | strings.IndexByte(lowerHex, text[5])
	default:
		return int(shortControls[strings.IndexByte(shortLetters, c)])
	}
}
