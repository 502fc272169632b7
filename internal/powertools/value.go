package powertools

import "strings"

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// A value is a JSON value as a language reads it: the last of equal member names counts and stands
// where the first stood.
type value struct {
	kind kind
	// text is the number as written, the content of the text (halves of surrogate pairs in three
	// bytes, as WTF-8 has them), or true or false.
	text     string
	elements []value
	members  []member
}

type member struct {
	name  string
	value value
}

// isInteger reports whether a number is written without fraction and exponent.
func isInteger(text string) bool { return !strings.ContainsAny(text, ".eE") }

// all reports whether every element or member of a container passes.
func (v value) all(passes func(value) bool) bool {
	for _, e := range v.elements {
		if !passes(e) {
			return false
		}
	}
	for _, m := range v.members {
		if !passes(m.value) {
			return false
		}
	}
	return true
}

func (v value) isContainer() bool { return v.kind == array || v.kind == object }

func isNull(v value) bool { return v.kind == null }
