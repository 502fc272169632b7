package dynamofake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// Item is an item by the names of its attributes.
type Item map[string]Value

// Value is a value of one of DynamoDB's types. Text, numbers and bytes have their text, the last in
// base64. Others are kept as they are.
type Value struct {
	kind string // "S", "N", "B", or that of another type
	text string
	json json.RawMessage
}

// Text is a value of type S.
func Text(text string) Value { return Value{kind: "S", text: text} }

// String is the text of a value of type S, N or B.
func (v Value) String() string { return v.text }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Value) UnmarshalJSON(text []byte) error {
	var typed map[string]json.RawMessage
	if err := json.Unmarshal(text, &typed); err != nil {
		return err
	}
	if len(typed) != 1 {
		return fmt.Errorf("%d types of one value", len(typed))
	}
	for kind, inner := range typed {
		*v = Value{kind: kind}
		switch kind {
		case "S", "N", "B":
			return json.Unmarshal(inner, &v.text)
		default:
			v.json = inner
		}
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	if v.json != nil {
		return json.Marshal(map[string]json.RawMessage{v.kind: v.json})
	}
	return json.Marshal(map[string]string{v.kind: v.text})
}

// compare orders two values of one type.
func (v Value) compare(other Value) (order int, ok bool) {
	switch {
	case v.kind != other.kind:
	case v.kind == "S":
		return cmp.Compare(v.text, other.text), true
	case v.kind == "N":
		a, aOK := new(big.Rat).SetString(v.text)
		b, bOK := new(big.Rat).SetString(other.text)
		if aOK && bOK {
			return a.Cmp(b), true
		}
	}
	return 0, false
}

// sum adds a number to one that may be absent.
func (v Value) sum(added Value) (Value, error) {
	if v.kind == "" {
		v = Value{kind: "N", text: "0"}
	}
	a, first := new(big.Int).SetString(v.text, 10)
	b, second := new(big.Int).SetString(added.text, 10)
	if v.kind != "N" || added.kind != "N" || !first || !second {
		return Value{}, errors.New("only integers are added here")
	}
	return Value{kind: "N", text: a.Add(a, b).String()}, nil
}

// maxItem is the size of the largest item, in bytes of names and values.
const maxItem = 400 << 10

func (it Item) size() (size int) {
	for name, v := range it {
		size += len(name) + len(v.json) + len(v.text)
		if v.kind == "B" {
			size -= len(v.text) / 4
		}
	}
	return size
}
