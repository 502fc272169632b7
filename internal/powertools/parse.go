package powertools

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const (
	// MaxDepth is the number of arrays and objects that may enclose one another.
	MaxDepth = 1000

	// maxNumber is the length of the longest number that Jackson reads (StreamReadConstraints of
	// 2.15); Python has a limit of its own, 4300 digits.
	maxNumber = 1000
)

// parser reads a text that encoding/json has found valid. Unlike package fingerprint it takes what
// these languages take: equal member names, and halves of surrogate pairs as escapes.
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
	if !utf8.Valid(src) || !json.Valid(src) {
		return value{}, false, ErrSyntax
	}
	p := parser{src: string(src)}
	v, err = p.value()
	return v, p.twice, err
}

func (p *parser) value() (value, error) {
	switch p.next() {
	case '{', '[':
		if p.depth == MaxDepth {
			return value{}, ErrDepth
		}
		p.depth++
		defer func() { p.depth-- }()
		if p.next() == '[' {
			return p.array()
		}
		return p.object()
	case '"':
		return value{kind: text, text: p.text()}, nil
	}
	switch scalar := p.scalar(); scalar {
	case "null":
		return value{}, nil
	case trueWord, "false":
		return value{kind: boolean, text: scalar}, nil
	default:
		if len(scalar) > maxNumber {
			return value{}, ErrNumberLength
		}
		return value{kind: number, text: scalar}, nil
	}
}

const trueWord = "true"

func (p *parser) array() (value, error) {
	v := value{kind: array}
	for p.pos++; p.next() != ']'; {
		element, err := p.value()
		if err != nil {
			return value{}, err
		}
		v.elements = append(v.elements, element)
	}
	p.pos++
	return v, nil
}

func (p *parser) object() (value, error) {
	v := value{kind: object}
	positions := make(map[string]int)
	for p.pos++; p.next() != '}'; {
		name := p.text()
		content, err := p.value()
		if err != nil {
			return value{}, err
		}
		at, known := positions[name]
		if known {
			p.twice = true
			v.members[at].value = content
			continue
		}
		positions[name] = len(v.members)
		v.members = append(v.members, member{name, content})
	}
	p.pos++
	return v, nil
}

// next passes over what stands between two values, and returns the byte behind it.
func (p *parser) next() byte {
	for strings.IndexByte(" \t\n\r,:", p.src[p.pos]) >= 0 {
		p.pos++
	}
	return p.src[p.pos]
}

// scalar reads a number or a word.
func (p *parser) scalar() string {
	rest := p.src[p.pos:]
	if end := strings.IndexAny(rest, " \t\n\r,]}"); end >= 0 {
		rest = rest[:end]
	}
	p.pos += len(rest)
	return rest
}

// text reads a string and returns its content.
func (p *parser) text() string {
	p.next() // its quote
	p.pos++
	start := p.pos
	for ; p.src[p.pos] != '"'; p.pos++ {
		if p.src[p.pos] == '\\' {
			p.pos++
		}
	}
	p.pos++
	return unescaped(p.src[start : p.pos-1])
}
