package fingerprint

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"

	"github.com/go-idempotent/idempotent/internal/fold"
)

// order puts the members of objects in order while a document is being written.
//
// An object that lies in few others is put in order as soon as it ends, so that little has to be
// remembered of a long document. A deeper one is only noted and moves together with an outer one:
// sorting at each closing brace would move the core of a deep document once per level.
type order struct {
	open    []member // of the objects that have not ended, outermost first
	objects []object // noted because they cannot stay as they are, by start
	moved   []member // of noted objects, each one's in the order of their keys
	text    []byte   // room for the one being put in order
	hashes  []uint64 // room for one of each member
}

// immediate is the number of levels on which objects are put in order as soon as they end, hence
// how often a byte may move.
const immediate = 8

// A member is a key and its value. Positions are those in the output.
type member struct {
	start, end uint32 // from the opening quote of the key to the end of the value
	source     uint32 // position of the key in the source
	next       uint32 // index of the first noted object, if any, that starts after start
}

// An object lists its members in the order in which they belong between its braces.
type object struct {
	start, end  uint32 // from the opening to the closing brace
	first, last uint32 // moved[first:last] are its members
	next        uint32 // index of the first noted object that starts after end
}

// offset narrows a position or an index, of which maxSize bytes leave fewer than 2^32. Long
// documents have many.
func offset(n int) uint32 {
	return uint32(n) //nolint:gosec // see above
}

// A scope is how much order remembered when an object began.
type scope struct{ open, objects, moved int }

// newOrder returns an order with room for a small document, one allocation instead of several, that
// puts objects in order in the given room as long as it suffices.
func newOrder(room []byte) *order {
	small := new(struct {
		order

		members [2][16]member
		objects [8]object
	})
	small.open, small.moved = small.members[0][:0], small.members[1][:0]
	small.order.objects, small.text = small.objects[:0], room
	return &small.order
}

// end tells that the object that began with s, in so many others, ends with text, the output so
// far. It refuses equal keys and, if folding is set, those that are equal under folding only.
func (o *order) end(s scope, text []byte, depth int, folding bool) error {
	members := o.open[s.open:]
	o.open = o.open[:s.open]
	if folding {
		if source, found := o.firstFolded(members, text); found {
			return &SyntaxError{Offset: int(source), Reason: reasonFolded}
		}
	}
	sorted := ascending(members, text)
	switch {
	case sorted && len(o.objects) == s.objects+1: // nothing noted within
		o.objects = o.objects[:s.objects]
	case !sorted && sortMembers(members, text):
		return &SyntaxError{Offset: int(firstDuplicate(members, text)), Reason: reasonDuplicate}
	case depth < immediate:
		o.arrange(s, members, text)
	default:
		o.note(s, members, offset(len(text)-1))
	}
	return nil
}

// few is the number of members from which hashes of their names are worth their memory.
const few = 16

// firstFolded returns the position in the source of the first key of an object which is equal to an
// earlier one, also under folding only, if there is one.
func (o *order) firstFolded(members []member, text []byte) (source uint32, found bool) {
	if len(members) < 2 || len(members) > few && o.allDifferent(members, text) {
		return 0, false
	}
	var names fold.Names[[]byte]
	for _, m := range members {
		if !names.Add(keyOf(text[m.start:])) {
			return m.source, true
		}
	}
	return 0, false
}

// allDifferent reports whether the hashes of the folded keys are. Nobody can choose keys whose
// hashes collide, because the seed is random.
func (o *order) allDifferent(members []member, text []byte) bool {
	folded, seed := make([]byte, 0, 64), maphash.MakeSeed()
	hashes := slices.Grow(o.hashes[:0], len(members))
	for _, m := range members {
		folded = fold.Append(folded[:0], keyOf(text[m.start:]))
		hashes = append(hashes, maphash.Bytes(seed, folded))
	}
	o.hashes = hashes
	slices.Sort(hashes)
	return len(slices.Compact(hashes)) == len(members)
}

func ascending(members []member, text []byte) bool {
	for i := 1; i < len(members); i++ {
		if compareKeys(text[members[i-1].start:], text[members[i].start:]) >= 0 {
			return false
		}
	}
	return true
}

// sortMembers puts the members in the order of their keys, equal keys in that of the text. It
// reports whether there are any: members that end up side by side have been compared.
func sortMembers(members []member, text []byte) (duplicates bool) {
	slices.SortFunc(members, func(a, b member) int {
		if c := compareKeys(text[a.start:], text[b.start:]); c != 0 {
			return c
		}
		duplicates = true
		return cmp.Compare(a.start, b.start)
	})
	return duplicates
}

// firstDuplicate returns the position in the source of the first key that occurred before. There
// must be one.
func firstDuplicate(sorted []member, text []byte) (source uint32) {
	source = math.MaxUint32
	for i := 1; i < len(sorted); i++ {
		if compareKeys(text[sorted[i-1].start:], text[sorted[i].start:]) == 0 {
			source = min(source, sorted[i].source)
		}
	}
	return source
}

func (o *order) note(s scope, sorted []member, end uint32) {
	first := len(o.moved)
	o.moved = append(o.moved, sorted...)
	ended := &o.objects[s.objects]
	ended.end, ended.next = end, offset(len(o.objects))
	ended.first, ended.last = offset(first), offset(len(o.moved))
}

// arrange puts the object that began with s, and what is noted within it, in order at the end of
// text, and forgets them.
func (o *order) arrange(s scope, sorted []member, text []byte) {
	start := o.objects[s.objects].start
	room := slices.Grow(o.text[:0], len(text)-int(start))
	o.text = append(o.appendMembers(room, text, sorted), '}')
	copy(text[start:], o.text)
	o.objects, o.moved = o.objects[:s.objects], o.moved[:s.moved]
}

// appendMembers appends the opening brace and the members of an object.
func (o *order) appendMembers(dst, text []byte, sorted []member) []byte {
	separator := byte('{')
	for _, m := range sorted {
		dst = append(dst, separator)
		dst = o.appendOrdered(dst, text, m.start, m.end, m.next)
		separator = ','
	}
	return dst
}

// appendOrdered appends text[start:end] to dst with noted objects in order; next is the index of
// the first that does not start before start. It calls itself once per level of nesting, at most
// [MaxDepth] deep.
func (o *order) appendOrdered(dst, text []byte, start, end, next uint32) []byte {
	for int(next) < len(o.objects) && o.objects[next].start < end {
		noted := o.objects[next]
		dst = append(dst, text[start:noted.start]...)
		dst = o.appendMembers(dst, text, o.moved[noted.first:noted.last])
		start, next = noted.end, noted.next
	}
	return append(dst, text[start:end]...)
}
