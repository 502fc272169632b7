package fingerprint

import (
	"cmp"
	"slices"

	"github.com/go-idempotent/idempotent/internal/fold"
	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// immediate is the number of levels on which objects are put in order as soon as they end, so that
// little has to be remembered of a long document; hence how often a byte may move. A deeper object
// is only noted and moves with what is around it, or the core of a deep document would move once
// per level.
const immediate = 8

// A member is a key and its value. Its positions are below six times [maxSize], and a document of a
// few megabytes can have a million members.
type member struct {
	start, end uint32 // in the output, from the opening quote of the key to the end of the value
	source     uint32 // position of the key in the source
}

// An object is in the output from start to end, and not in order yet.
type object struct {
	start, end int
	members    []member // in the order of their keys
}

// order tells that an array or an object, which began at start, ends with text, the output so far.
// Its members are those in open from a position on, and what is to be put in order within it is
// noted from a position on. Equal keys are refused.
func (p *parser) order(text []byte, start, open, noted int) error {
	members := p.open[open:]
	p.open = p.open[:open]
	if p.form.folding {
		folding := func(a, b []byte) int { return fold.Compare(keyOf(a), keyOf(b)) }
		if source := sortMembers(members, text, folding); source >= 0 {
			return &SyntaxError{Offset: source, Reason: "keys that differ only in case"}
		}
	}
	if source := sortMembers(members, text, compareKeys); source >= 0 {
		return &SyntaxError{Offset: source, Reason: "duplicate key"}
	}
	if !slices.IsSortedFunc(members, inText) {
		if p.depth >= immediate {
			members = slices.Clone(members) // those of other objects take their place
		}
		p.noted = append(p.noted, object{start, len(text), members})
	}
	if within := p.noted[noted:]; p.depth < immediate && len(within) > 0 {
		slices.SortFunc(within, func(a, b object) int { return cmp.Compare(a.start, b.start) })
		p.room = slices.Grow(p.room[:0], len(text)-start)
		p.room = appendOrdered(p.room, text, start, len(text), within)
		copy(text[start:], p.room)
		p.noted = p.noted[:noted]
	}
	return nil
}

func inText(a, b member) int { return cmp.Compare(a.start, b.start) }

// sortMembers sorts by the keys, and returns where in the source the first key is that is equal to
// an earlier one, -1 if none is.
func sortMembers(members []member, text []byte, compare func(a, b []byte) int) (source int) {
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(compare(text[a.start:], text[b.start:]), inText(a, b))
	})
	source = -1
	for i := 1; i < len(members); i++ {
		later := int(members[i].source)
		if (source < 0 || later < source) && compare(text[members[i-1].start:], text[members[i].start:]) == 0 {
			source = later
		}
	}
	return source
}

// appendOrdered appends text[start:end] to dst with the noted objects that begin there in order. It
// calls itself once per level of nesting, at most [MaxDepth] deep.
func appendOrdered(dst, text []byte, start, end int, noted []object) []byte {
	for {
		next, _ := slices.BinarySearchFunc(noted, start, func(o object, at int) int { return o.start - at })
		if next == len(noted) || noted[next].start >= end {
			return append(dst, text[start:end]...)
		}
		o := noted[next]
		dst = append(dst, text[start:o.start]...)
		separator := byte('{')
		for _, m := range o.members {
			dst = appendOrdered(append(dst, separator), text, int(m.start), int(m.end), noted)
			separator = ','
		}
		dst = append(dst, '}')
		start = o.end
	}
}

// keyOf returns the key that a canonical text begins with, between its quotes, with its escapes.
// Folding it is folding the key: each character has one spelling, and no escape sequence becomes
// another one.
func keyOf(text []byte) []byte { return text[1 : jsontext.End(text, 0)-1] }

// compareKeys compares the keys at the beginning of two canonical texts by the UTF-16 code units of
// their characters (RFC 8785 section 3.2.3). A canonical text has one spelling for each character,
// so equal bytes are equal characters.
func compareKeys(a, b []byte) int {
	for i := 1; ; i++ {
		if a[i] == b[i] && a[i] != '"' && a[i] != '\\' {
			continue
		}
		x, y := sortUnit(a[i:]), sortUnit(b[i:])
		if x != y || x == endOfKey {
			return cmp.Compare(x, y)
		}
		i++ // of the same escape sequence: the character behind the backslash is not what it looks like
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
	switch c := key[0]; {
	case c == '"':
		return endOfKey
	case c == 0xEE || c == 0xEF:
		return int(c) + 0x10
	case c != '\\':
		return int(c)
	}
	r, _ := jsontext.Escape(key)
	return int(r)
}
