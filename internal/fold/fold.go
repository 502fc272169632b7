// Package fold knows which names of members encoding/json takes for one: those that differ only in
// case, as Unicode folds it. So "code" and "Code" are the same field of a struct, and "ſ" (U+017F)
// is an s. Of two members with such names the decoder keeps the last.
package fold

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Distinct reports whether no two names are equal under folding. It sorts them, and may drop some.
func Distinct(names []string) bool {
	slices.SortFunc(names, Compare)
	return len(slices.CompactFunc(names, func(a, b string) bool { return Compare(a, b) == 0 })) == len(names)
}

// Compare returns 0 if two names are equal under folding, and else -1 or 1, which puts names in an
// order.
func Compare[T string | []byte](one, other T) int {
	i, j := 0, 0
	for i < len(one) && j < len(other) {
		a, first := runeAt(one, i)
		b, second := runeAt(other, j)
		if a != b && folded(a) != folded(b) {
			return cmp.Compare(folded(a), folded(b))
		}
		i, j = i+first, j+second
	}
	return cmp.Compare(len(one)-i, len(other)-j)
}

// runeAt returns the rune at a position, folded if it is one of ASCII, and its size.
func runeAt[T string | []byte](name T, i int) (r rune, size int) {
	if c := name[i]; c < utf8.RuneSelf {
		return rune(Upper(c)), 1
	}
	return utf8.DecodeRuneInString(string(name[i:min(i+utf8.UTFMax, len(name))]))
}

// Upper folds a character of ASCII.
func Upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// folded is the smallest rune of all that are equal to r under folding.
func folded(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
