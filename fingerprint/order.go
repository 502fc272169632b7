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
		if source := sortMembers(members, text, true); source >= 0 {
			return &SyntaxError{Offset: source, Reason: "keys that differ only in case"}
		}
	}
	if source := sortMembers(members, text, false); source >= 0 {
		return &SyntaxError{Offset: source, Reason: "duplicate key"}
	}
	if !slices.IsSortedFunc(members, func(a, b member) int { return cmp.Compare(a.start, b.start) }) {
		if p.depth >= immediate {
			members = slices.Clone(members) // those of other objects take their place
		}
		p.noted = append(p.noted, object{start, len(text), members})
	}
	if within := p.noted[noted:]; p.depth < immediate && len(within) > 0 {
		slices.SortFunc(within, func(a, b object) int { return cmp.Compare(a.start, b.start) })
		p.room = appendOrdered(slices.Grow(p.room[:0], len(text)-start), text, start, len(text), within)
		copy(text[start:], p.room)
		p.noted = p.noted[:noted]
	}
	return nil
}

// sortMembers sorts by the keys, and returns where in the source the first key is that is equal to
// an earlier one, -1 if none is. Members with equal keys stay in the order of the text.
//
// It inserts the members one by one. Those of most objects are few, or in order already, and a
// general sort calls a function to compare two of them. Where they are many, inserting would take
// time by their square, so they are sorted first.
func sortMembers(members []member, text []byte, folding bool) (source int) {
	const few = 32
	if len(members) > few {
		slices.SortFunc(members, func(a, b member) int {
			return cmp.Or(compareKeys(text[a.start:], text[b.start:], folding), cmp.Compare(a.start, b.start))
		})
	}
	source = -1
	for i, m := range members {
		for ; i > 0; i-- {
			order := compareKeys(text[members[i-1].start:], text[m.start:], folding)
			if later := int(m.source); order == 0 && (source < 0 || later < source) {
				source = later
			}
			if order <= 0 {
				break
			}
			members[i] = members[i-1]
		}
		members[i] = m
	}
	return source
}

// appendOrdered appends text[start:end] to dst with the noted objects that begin there in order. It
// calls itself once per level of nesting, at most [MaxDepth] deep.
func appendOrdered(dst, text []byte, start, end int, noted []object) []byte {
	for len(noted) > 0 {
		next, _ := slices.BinarySearchFunc(noted, start, func(o object, at int) int { return o.start - at })
		if next == len(noted) || noted[next].start >= end {
			break
		}
		o := noted[next]
		noted = noted[next+1:]
		dst = append(dst, text[start:o.start]...)
		separator := byte('{')
		for _, m := range o.members {
			dst = appendOrdered(append(dst, separator), text, int(m.start), int(m.end), noted)
			separator = ','
		}
		dst = append(dst, '}')
		start = o.end
	}
	return append(dst, text[start:end]...)
}

// compareKeys compares the keys at the beginning of two canonical texts by the UTF-16 code units of
// their characters (RFC 8785 section 3.2.3), or else as [fold.Compare] does. A canonical text has
// one spelling for each character, so equal bytes are equal characters, and no escape sequence
// becomes another one under folding.
//
// Under folding, too, most keys differ in a character of ASCII, which needs neither their ends nor
// their escapes.
func compareKeys(a, b []byte, folding bool) int {
	i := 1
	for ; folding && isPlain(a[i]) && isPlain(b[i]); i++ {
		if x, y := fold.Upper(a[i]), fold.Upper(b[i]); x != y {
			return cmp.Compare(x, y)
		}
	}
	if folding {
		return fold.Compare(a[i:jsontext.End(a, 0)-1], b[i:jsontext.End(b, 0)-1])
	}
	for ; ; i++ {
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
