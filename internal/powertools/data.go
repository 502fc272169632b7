package powertools

import "github.com/go-idempotent/idempotent/internal/numbers"

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
	case c.raw() && c.strings:
		content, err := hashJava(c.rules.data, v)
		return Data{Text, string(content)}, err
	}
	content, err := c.rules.data.write(nil, v)
	if err != nil {
		return Data{}, err
	}
	kind := Text
	if c.language == TypeScript {
		kind = Value
	}
	return Data{kind, string(content)}, nil
}

// raw reports whether the language keeps strings without quotes.
func (c *Codec) raw() bool { return c.language == Java || c.language == Java17 || c.language == Java21 }

// DecodeData returns the result of a completed record as JSON text. The error is ErrUnreadable if
// the language, on the same type of handler, would not have written it, or writes what is no JSON,
// such as NaN.
func (c *Codec) DecodeData(d Data) ([]byte, error) {
	if d.Kind == Absent && c.rules.absent {
		return []byte("null"), nil
	}
	if (d.Kind == Value) != (c.language == TypeScript) || d.Kind == Absent {
		return nil, ErrUnreadable
	}
	if c.raw() && c.strings {
		return (&escapes{hex: lowerHex}).append(nil, d.Text), nil
	}
	if _, _, err := parse([]byte(d.Text)); err != nil {
		return nil, ErrUnreadable
	}
	return []byte(d.Text), nil
}

// pythonData is the style of pythonStyle for results.
func pythonData() *style {
	s := pythonStyle
	s.number = lossless(pythonNumber)
	return &s
}

func javaData(j jdk) *style {
	s := *javaStyle(j)
	s.number = lossless(s.number)
	return &s
}

// lossless keeps the spelling of a number that is not exactly what the language would keep of it.
func lossless(number func([]byte, string) ([]byte, error)) func([]byte, string) ([]byte, error) {
	return func(dst []byte, written string) ([]byte, error) {
		if isInteger(written) || numbers.FloatKeeps(written, 64) {
			if own, err := number(dst, written); err == nil {
				return own, nil
			}
		}
		return append(dst, written...), nil
	}
}

// typescriptData is marshall of @aws-sdk/util-dynamodb, as JSON text.
func typescriptData() *style {
	return &style{
		comma: ",", colon: ":",
		arrange: attributes,
		number:  attributeNumber,
		text:    withoutSurrogates(&escapes{hex: lowerHex}),
	}
}

func attributes(members []member) ([]member, error) {
	for _, m := range members {
		if m.name == "" {
			return nil, ErrEmptyName
		}
	}
	return asObject(members)
}

// attributeNumber refuses what marshall refuses (beyond Number.MAX_SAFE_INTEGER) and what DynamoDB
// does (below 1e-130; its upper bound is far away).
func attributeNumber(dst []byte, written string) ([]byte, error) {
	f, err := double(written)
	const largest, least = 1<<53 - 1, 1e-130
	if err != nil || f > largest || f < -largest || f != 0 && f < least && f > -least {
		return nil, ErrNumberRange
	}
	if numbers.FloatKeeps(written, 64) {
		return appendJavaScript(dst, f), nil
	}
	return append(dst, written...), nil
}
