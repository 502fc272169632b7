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

// compare orders two texts, or two numbers.
func (v Value) compare(other Value) (order int, ok bool) {
	kind, text := v.typed()
	otherKind, otherText := other.typed()
	switch {
	case kind != otherKind:
		return 0, false
	case kind == "N":
		return v.number().Cmp(other.number()), true
	default:
		return cmp.Compare(text, otherText), kind == "S"
	}
}

// number is a number, 0 if the value is not there.
func (v Value) number() *big.Rat {
	kind, text := v.typed()
	n, ok := new(big.Rat).SetString(cmp.Or(text, "0"))
	if v != nil && kind != "N" || !ok {
		invalidf("%v is no number", v)
	}
	return n
}

// sum adds a number to one that may be absent.
func (v Value) sum(added Value) Value {
	sum := v.number()
	if !sum.Add(sum, added.number()).IsInt() {
		invalidf("only integers are added here")
	}
	return Value{"N": sum.RatString()}
}
