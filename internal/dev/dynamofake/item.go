package dynamofake

import (
	"cmp"
	"math/big"
)

// Item is an item by the names of its attributes.
type Item map[string]Value

// Value is a value of one of DynamoDB's types, as JSON has it: {"S": "text"}.
type Value map[string]any

// typed is the type of a value, and its text if it is a text, a number or bytes, which are in
// base64. What is not there has no type.
func (v Value) typed() (kind, text string) {
	for kind, inner := range v {
		text, _ = inner.(string)
		return kind, text
	}
	return "", ""
}

// compare orders two values of one type.
func (v Value) compare(other Value) (order int, ok bool) {
	kind, text := v.typed()
	otherKind, otherText := other.typed()
	switch {
	case kind != otherKind:
	case kind == "S":
		return cmp.Compare(text, otherText), true
	case kind == "N":
		a, aOK := new(big.Rat).SetString(text)
		b, bOK := new(big.Rat).SetString(otherText)
		if aOK && bOK {
			return a.Cmp(b), true
		}
	}
	return 0, false
}

// sum adds a number to one that may be absent.
func (v Value) sum(added Value) Value {
	if v == nil {
		v = Value{"N": "0"}
	}
	kind, text := v.typed()
	addedKind, addedText := added.typed()
	a, first := new(big.Int).SetString(text, 10)
	b, second := new(big.Int).SetString(addedText, 10)
	if kind != "N" || addedKind != "N" || !first || !second {
		invalidf("only integers are added here")
	}
	return Value{"N": a.Add(a, b).String()}
}
