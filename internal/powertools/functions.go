package powertools

import "github.com/go-idempotent/idempotent/jmespath"

// toString leaves text alone and writes everything else in a style.
func toString(s *style) func(jmespath.Value) (jmespath.Value, error) {
	return func(argument jmespath.Value) (jmespath.Value, error) {
		if argument.Kind() == jmespath.String {
			return argument, nil
		}
		v, err := valueOf(argument)
		if err != nil {
			return jmespath.Value{}, err
		}
		written, err := s.write(nil, v)
		if err != nil {
			return jmespath.Value{}, err
		}
		return jmespath.FromString(string(written))
	}
}

func valueOf(argument jmespath.Value) (value, error) {
	v, _, err := parse(argument.JSON())
	return v, err
}

// lengthInUTF16 is length where strings are UTF-16.
func lengthInUTF16(argument jmespath.Value) (jmespath.Value, error) {
	v, err := valueOf(argument)
	if err != nil {
		return jmespath.Value{}, err
	}
	switch v.kind {
	case text:
		return integer(len(units(v.text)))
	case array:
		return integer(len(v.elements))
	case object:
		return integer(len(v.members))
	case null, boolean, number:
	}
	return jmespath.Value{}, jmespath.ErrInvalidType
}

// objectOrder returns an object with its members in the order of a JavaScript object.
func objectOrder(argument jmespath.Value) (jmespath.Value, error) {
	v, err := valueOf(argument)
	if err != nil {
		return jmespath.Value{}, err
	}
	members, err := asObject(v.members)
	if err != nil {
		return jmespath.Value{}, err
	}
	return selected(value{kind: object, members: members})
}

// unchangedStyle writes what parse has read, with numbers as they were.
var unchangedStyle = style{
	comma: ",", colon: ":", arrange: asSent, number: asWritten, text: withSurrogates(&escapes{hex: lowerHex}),
}

func selected(v value) (jmespath.Value, error) {
	written, err := unchangedStyle.write(nil, v)
	if err != nil {
		return jmespath.Value{}, err
	}
	return jmespath.Parse(written)
}

// truthyNotNull is not_null of a language that then takes a value that is 0, false or empty for none.
func truthyNotNull(arguments []jmespath.Value) (jmespath.Value, error) {
	for _, argument := range arguments {
		if argument.Kind() == jmespath.Null {
			continue
		}
		v, err := valueOf(argument)
		if err != nil || !truthy(v) {
			return jmespath.Value{}, err
		}
		return argument, nil
	}
	return jmespath.Value{}, nil
}
