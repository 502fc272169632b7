package powertools

import "github.com/go-idempotent/idempotent/internal/jsontext"

// A Kind tells how the data attribute holds a result.
type Kind uint8

const (
	// Absent is a record without data attribute.
	Absent Kind = iota
	// Text is a text attribute.
	Text
	// Value is an attribute of the type that the result has: a map for an object, a list for an
	// array, and so on.
	Value
)

// Data is a result as the language keeps it.
type Data struct {
	Kind Kind
	// Text is the content of the text attribute, or the JSON text of the value, whose numbers are
	// those of the N attributes. A stored value has no order of members.
	Text string
}

// StringResults returns a codec for handlers whose result is a string. It makes a difference in
// Java, which keeps a string without quotes and looks at the type of the handler to read it back.
func (c *Codec) StringResults() *Codec {
	changed := *c
	changed.strings = true
	return &changed
}

// EncodeData returns a result, given as JSON text, as the language stores it. A number that has a
// different value as a double keeps its spelling, so that nothing is lost; every other number, and
// all the rest, is what the language would write. The error is ErrSyntax or a RefusalError; then
// nothing that the language could read stands for the result.
func (c *Codec) EncodeData(result []byte) (Data, error) {
	v, twice, err := parse(result)
	switch {
	case err != nil:
		return Data{}, err
	case twice:
		return Data{}, ErrDuplicate
	case c.raw() && (v.kind == text) != c.strings:
		return Data{}, ErrStringResult
	}
	content, err := c.write(c.rules.data, v, true)
	if err != nil {
		return Data{}, err
	}
	kind := Text
	if c.language == TypeScript {
		kind = Value
	}
	return Data{kind, string(content)}, nil
}

// DecodeData returns the result of a completed record as JSON text. The error is ErrUnreadable if
// the language, on the same type of handler, would not have written it, or writes what is no JSON,
// such as NaN.
func (c *Codec) DecodeData(d Data) ([]byte, error) {
	if d.Kind == Absent && !c.raw() { // a record without data attribute has the result null
		return []byte("null"), nil
	}
	if (d.Kind == Value) != (c.language == TypeScript) || d.Kind == Absent {
		return nil, ErrUnreadable
	}
	if c.raw() && c.strings {
		return jsontext.Escapes{}.Append(nil, d.Text), nil
	}
	if _, _, err := parse([]byte(d.Text)); err != nil {
		return nil, ErrUnreadable
	}
	return []byte(d.Text), nil
}
