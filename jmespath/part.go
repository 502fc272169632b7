package jmespath

import "slices"

// A Part is what an expression is made of.
type Part struct {
	// Kind is an operator as it is spelled (== != < <= > >= && || ! | [] [*] * @), or one of
	// identifier, member (the name in a multi-select hash), literal, raw string, function, filter,
	// index, slice, multi-select list, multi-select hash.
	Kind string

	// Text is the name of an identifier, a member or a function.
	Text string

	// Offset is the position in the expression, in bytes.
	Offset int
}

const (
	partIdentifier = "identifier"
	partMember     = "member"
	partFunction   = "function"
)

// String names the part for an error.
func (p Part) String() string {
	switch p.Kind {
	case partIdentifier, partMember:
		return p.Kind + " " + quoted(p.Text)
	case partFunction:
		return p.Kind + " " + p.Text
	}
	return p.Kind
}

// Parts returns what the expression is made of, in the order of its text. It is for those who take
// only a part of the language.
func (x *Expression) Parts() []Part { return slices.Clone(x.parts) }
