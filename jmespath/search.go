package jmespath

import (
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/fold"
	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// maxGrowth is how many bytes one evaluation may make, beside perByte for each byte of the payload.
// The largest event of AWS Lambda has 6 MB (AWS Lambda quotas, synchronous invocation).
const (
	maxGrowth = 16 << 20
	perByte   = 4
)

// A search is one evaluation of an expression. What fails panics with an *Error, see caught.
type search struct {
	growth  int  // bytes that may still be made
	folding bool // see Expression.Folding
	within  frame
}

// A frame is the innermost call that is being evaluated, and its arguments that a failure is about.
type frame struct {
	*call

	arguments []argument
}

func newSearch(document Value) *search {
	return &search{growth: maxGrowth + perByte*len(document.text)}
}

// failure returns the error of a search, for the panic that ends it.
func (s *search) failure(kind, detail string) *Error {
	failure := &Error{Kind: kind, Detail: detail}
	if s.within.call != nil {
		failure.Function, failure.Offset = s.within.name, s.within.offset
		failure.Nothing = slices.ContainsFunc(s.within.arguments, argument.isNothing)
	}
	return failure
}

// grow takes bytes that are about to be made off the bound.
func (s *search) grow(bytes int) {
	if s.growth -= bytes; s.growth < 0 {
		panic(s.failure(errLimit, "the evaluation makes too much of the payload"))
	}
}

// string makes a string of a content that is UTF-8.
func (s *search) string(content string) Value {
	s.grow(len(content))
	return stringValue(content)
}

func (s *search) collect(brackets string, members []member) Value {
	made := builder{search: s, brackets: brackets}
	for _, m := range members {
		made.add(m.raw, m.value)
	}
	return made.value()
}

// A builder makes an array, or an object, of values that come one by one. Unlike a slice of them it
// takes hardly more memory than the text.
type builder struct {
	*search

	brackets string // "[]" or "{}"
	text     strings.Builder
}

// add adds an element, which has no name, or a member, whose name is a string of JSON and not there
// yet.
func (b *builder) add(name string, value Value) {
	if name != "" {
		name += ":"
	}
	text := value.json()
	b.grow(len(name) + len(text) + len(","))
	separator := byte(',')
	if b.text.Len() == 0 {
		b.text.Grow(32) // enough for most keys
		separator = b.brackets[0]
	}
	b.text.WriteByte(separator)
	b.text.WriteString(name)
	b.text.WriteString(text)
}

func (b *builder) value() Value {
	if b.text.Len() == 0 {
		return Value{b.brackets}
	}
	b.text.WriteByte(b.brackets[1])
	return Value{b.text.String()}
}

// field returns the member of that name, or null if a value is no object or has none.
func (s *search) field(on Value, name string) Value {
	if on.kind() != typeObject {
		return Value{}
	}
	s.unambiguous(on, false)
	for raw, value := range on.members() {
		sent := jsontext.Unquote(raw)
		if sent == name {
			return value
		}
		if s.folding && fold.Compare(sent, name) == 0 {
			panic(s.failure(errFoldedName, "a name is there only in another spelling"))
		}
	}
	return Value{}
}

// unambiguous refuses an object of which two names are equal under folding, if the expression is
// one of Folding; deep also those within a value.
func (s *search) unambiguous(v Value, deep bool) {
	if s.folding && (v.kind() == typeObject || deep && v.kind() == typeArray) && unambiguousAt(v.text, 0, deep) < 0 {
		panic(s.failure(errFoldedName, "two names of an object are equal but for case"))
	}
}

// unambiguousAt looks at the array or object at i and returns the position behind it, -1 if it is
// ambiguous.
func unambiguousAt(text string, i int, deep bool) int {
	var room [16]string // enough for most objects
	names := room[:0]
	end := jsontext.Within(text, i, func(raw string, at int) int {
		if raw != "" {
			names = append(names, jsontext.Unquote(raw))
		}
		if deep && (text[at] == '{' || text[at] == '[') {
			return unambiguousAt(text, at, deep)
		}
		return jsontext.End(text, at)
	})
	if !fold.Distinct(names) {
		return -1
	}
	return end
}

// membersOf returns what is in an object or an array, whose elements have no names.
func (s *search) membersOf(container Value) (all []member) {
	s.unambiguous(container, false)
	for raw, value := range container.members() {
		all = append(all, member{raw, value})
	}
	return all
}

// equal compares two values by content: numbers by their exact values, strings by their characters,
// objects without regard to the order of their members.
func (s *search) equal(a, b Value) bool {
	kind := a.kind()
	switch {
	case kind != b.kind():
		return false
	case a.text == b.text, kind == typeNull:
		return true
	case kind == typeNumber:
		return compareNumbers(a, b) == 0
	case kind == typeString:
		return a.str() == b.str()
	case kind == typeBoolean:
		return false
	}
	left, right := s.sortedMembers(a), s.sortedMembers(b)
	return slices.EqualFunc(left, right, func(l, r member) bool { return l.raw == r.raw }) &&
		slices.EqualFunc(left, right, func(l, r member) bool { return s.equal(l.value, r.value) })
}

// sortedMembers returns the elements of an array, or the members of an object by name, with the
// content of the names in place of their spelling.
func (s *search) sortedMembers(of Value) []member {
	members := s.membersOf(of)
	if of.kind() == typeObject {
		for i := range members {
			members[i].raw = jsontext.Unquote(members[i].raw)
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.raw, b.raw) })
	}
	return members
}
