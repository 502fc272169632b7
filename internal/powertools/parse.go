package powertools

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxDepth is the number of arrays and objects that may enclose one another.
	MaxDepth = 1000
	// maxNumber is the length of the longest number that Jackson reads (StreamReadConstraints of 2.15); Python has a
	// limit of its own, 4300 digits.
	maxNumber = 1000
)

// parser reads a JSON text by the grammar of RFC 8259. Unlike package fingerprint it takes what these languages take: equal
// member names, and halves of surrogate pairs as escapes.
type parser struct {
	src   string
	pos   int
	depth int
	twice bool // a member name occurred twice
}

// parse reads src, of which nil is null. The error is ErrSyntax or a RefusalError.
func parse(src []byte) (v value, twice bool, err error) {
	if src == nil {
		return value{}, false, nil
	}
	p := parser{src: string(src)}
	if !utf8.ValidString(p.src) {
		return value{}, false, ErrSyntax
	}
	if v, err = p.value(); err != nil {
		return value{}, false, err
	}
	if p.space(); p.pos < len(p.src) {
		return value{}, false, ErrSyntax
	}
	return v, p.twice, nil
}

func (p *parser) value() (value, error) {
	p.space()
	switch c := p.peek(); {
	case c == '{':
		return p.nested(p.object)
	case c == '[':
		return p.nested(p.array)
	case c == '"':
		content, err := p.text()
		return value{kind: text, text: content}, err
	case c == '-' || isDigit(c):
		return p.number()
	}
	for word, v := range words {
		if strings.HasPrefix(p.src[p.pos:], word) {
			p.pos += len(word)
			return v, nil
		}
	}
	return value{}, ErrSyntax
}

const trueWord = "true"

var words = map[string]value{
	"null":   {},
	trueWord: {kind: boolean, text: trueWord},
	"false":  {kind: boolean, text: "false"},
}

func (p *parser) nested(read func() (value, error)) (value, error) {
	if p.depth == MaxDepth {
		return value{}, ErrDepth
	}
	p.depth++
	p.pos++
	v, err := read()
	p.depth--
	return v, err
}

func (p *parser) array() (value, error) {
	v := value{kind: array}
	if p.accept(']') {
		return v, nil
	}
	for {
		element, err := p.value()
		if err != nil {
			return value{}, err
		}
		v.elements = append(v.elements, element)
		if p.accept(']') {
			return v, nil
		}
		if !p.accept(',') {
			return value{}, ErrSyntax
		}
	}
}

func (p *parser) object() (value, error) {
	if p.accept('}') {
		return value{kind: object}, nil
	}
	var o objectBuilder
	for {
		if p.space(); p.peek() != '"' {
			return value{}, ErrSyntax
		}
		name, err := p.text()
		if err != nil {
			return value{}, err
		}
		if !p.accept(':') {
			return value{}, ErrSyntax
		}
		v, err := p.value()
		if err != nil {
			return value{}, err
		}
		if o.set(name, v) {
			p.twice = true
		}
		if p.accept('}') {
			return value{kind: object, members: o.members}, nil
		}
		if !p.accept(',') {
			return value{}, ErrSyntax
		}
	}
}

func (p *parser) number() (value, error) {
	start := p.pos
	p.skip('-')
	first := p.pos
	if !p.digits() || p.src[first] == '0' && p.pos > first+1 {
		return value{}, ErrSyntax
	}
	if p.skip('.') && !p.digits() {
		return value{}, ErrSyntax
	}
	if p.skip('e') || p.skip('E') {
		if !p.skip('-') {
			p.skip('+')
		}
		if !p.digits() {
			return value{}, ErrSyntax
		}
	}
	if p.pos-start > maxNumber {
		return value{}, ErrNumberLength
	}
	return value{kind: number, text: p.src[start:p.pos]}, nil
}

func (p *parser) digits() bool {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	return p.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// peek returns the next byte, or 0 at the end: no token starts with a zero byte.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) skip(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

// accept consumes white space and then the next byte if it is c.
func (p *parser) accept(c byte) bool {
	p.space()
	return p.skip(c)
}

func (p *parser) space() {
	for c := p.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = p.peek() {
		p.pos++
	}
}
