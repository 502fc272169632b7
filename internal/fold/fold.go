// Package fold knows which names of members encoding/json takes for one: those that differ only in
// case, as Unicode folds it. So "code" and "Code" are the same field of a struct, and "ſ" (U+017F)
// is an s. Of two members with such names the decoder keeps the last.
package fold

import (
	"unicode"
	"unicode/utf8"
)

// few is the number of names up to which comparing all of them with one another is cheaper than a
// set.
const few = 16

// Text is a name, as a string or as its bytes.
type Text interface{ string | []byte }

// Names collects the names of one object, and finds two that are equal under folding. The zero
// Names is empty and ready to use. It keeps the names that it is given. It is not safe for
// concurrent use.
type Names[T Text] struct {
	names [few]T
	count int
	// many holds the folded names of an object that has more than few.
	many map[string]struct{}
}

// Add adds a name, and reports whether no name before it was equal under folding. Equal names are
// not new either.
func (n *Names[T]) Add(name T) bool {
	if n.many != nil {
		return n.addToMany(name)
	}
	for _, other := range n.names[:n.count] {
		if Equal(other, name) {
			return false
		}
	}
	if n.count == few {
		n.many = make(map[string]struct{}, 4*few)
		for _, known := range n.names {
			n.addToMany(known)
		}
		return n.addToMany(name)
	}
	n.names[n.count] = name
	n.count++
	return true
}

func (n *Names[T]) addToMany(name T) bool {
	folded := string(Append(make([]byte, 0, len(name)), name))
	_, known := n.many[folded]
	n.many[folded] = struct{}{}
	return !known
}

// Append appends the form that a name has in common with those that are equal to it under folding.
func Append[T Text](dst []byte, name T) []byte {
	for i := 0; i < len(name); {
		r, size := runeAt(name, i)
		i += size
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// Equal reports whether two names are equal under folding.
func Equal[T Text](one, other T) bool {
	i, j := 0, 0
	for i < len(one) && j < len(other) {
		a, first := runeAt(one, i)
		b, second := runeAt(other, j)
		if a != b {
			return false
		}
		i, j = i+first, j+second
	}
	return i == len(one) && j == len(other)
}

// runeAt returns the folded rune at a position, and its size.
func runeAt[T Text](name T, i int) (r rune, size int) {
	if c := name[i]; c < utf8.RuneSelf {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		return rune(c), 1
	}
	r, size = utf8.DecodeRuneInString(string(name[i:min(i+utf8.UTFMax, len(name))]))
	return folded(r), size
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
