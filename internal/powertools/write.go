package powertools

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A style is how a language writes a JSON value.
type style struct {
	comma, colon string
	// arrange returns the members in the order of the language, and refuses names. It must not
	// change its argument.
	arrange func([]member) ([]member, error)
	number  func(dst []byte, written string) ([]byte, error)
	text    func(dst []byte, content string) ([]byte, error) // with quotes
}

// write appends a value. Depth is bounded by the parser.
func (s *style) write(dst []byte, v value) (_ []byte, err error) {
	switch v.kind {
	case null:
		return append(dst, "null"...), nil
	case boolean:
		return append(dst, v.text...), nil
	case number:
		return s.number(dst, v.text)
	case text:
		return s.text(dst, v.text)
	case array:
		return s.array(dst, v.elements)
	case object:
	}
	return s.object(dst, v.members)
}

func (s *style) array(dst []byte, elements []value) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, s.comma...)
		}
		if dst, err = s.write(dst, e); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (s *style) object(dst []byte, members []member) ([]byte, error) {
	members, err := s.arrange(members)
	if err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, s.comma...)
		}
		if dst, err = s.text(dst, m.name); err != nil {
			return nil, err
		}
		if dst, err = s.write(append(dst, s.colon...), m.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// asSent keeps the order of the event.
func asSent(members []member) ([]member, error) { return members, nil }

// withSurrogates writes halves of surrogate pairs as escapes, and leaves the rest to the form of a
// language.
func withSurrogates(form *escapes) func([]byte, string) ([]byte, error) {
	return func(dst []byte, content string) ([]byte, error) { return form.append(dst, content), nil }
}

// withoutSurrogates refuses a content that has no form in UTF-8.
func withoutSurrogates(form *escapes) func([]byte, string) ([]byte, error) {
	return func(dst []byte, content string) ([]byte, error) {
		if hasSurrogate(content) {
			return nil, ErrSurrogate
		}
		return form.append(dst, content), nil
	}
}

// escapes tells which characters a language escapes in a JSON string. All use the short forms \b \t
// \n \f \r and \\, and \u for the other characters below U+0020.
type escapes struct {
	hex   string // sixteen digits
	ascii bool   // escape whatever is not printable ASCII, DEL included
}

const (
	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
)

func (e *escapes) append(dst []byte, content string) []byte {
	dst = append(dst, '"')
	for content != "" {
		r, size := nextRune(content)
		dst = e.rune(dst, r)
		content = content[size:]
	}
	return append(dst, '"')
}

func (e *escapes) rune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r < ' ':
		return e.control(dst, r)
	case utf16.IsSurrogate(r):
		return e.unit(dst, r)
	case !e.ascii || r < 0x7F:
		return utf8.AppendRune(dst, r)
	case r > 0xFFFF:
		first, second := utf16.EncodeRune(r)
		return e.unit(e.unit(dst, first), second)
	}
	return e.unit(dst, r)
}

func (e *escapes) control(dst []byte, r rune) []byte {
	if i := strings.IndexByte("\b\t\n\f\r", byte(r)); i >= 0 {
		return append(dst, '\\', "btnfr"[i])
	}
	return e.unit(dst, r)
}

func (e *escapes) unit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', e.hex[r>>12&0xF], e.hex[r>>8&0xF], e.hex[r>>4&0xF], e.hex[r&0xF])
}
