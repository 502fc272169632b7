package powertools

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
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
	twice bool  // a member name occurred twice
	err   error // a RefusalError
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
	v, _ = p.value(jsontext.Space(p.src, 0), 0)
	if p.err != nil {
		return value{}, p.twice, p.err
	}
	return v, p.twice, nil
}

const trueWord = "true"

// value reads the value at a position, and returns the position behind it, -1 with an error.
func (p *parser) value(at, depth int) (v value, end int) {
	switch p.src[at] {
	case '{', '[':
		return p.container(at, depth)
	case '"':
		end = jsontext.End(p.src, at)
		return value{kind: text, text: jsontext.Unquote(p.src[at:end])}, end
	}
	end = jsontext.End(p.src, at)
	switch scalar := p.src[at:end]; {
	case scalar == "null":
		return value{}, end
	case scalar == trueWord, scalar == "false":
		return value{kind: boolean, text: scalar}, end
	case len(scalar) > maxNumber:
		p.err = ErrNumberLength
		return value{}, -1
	default:
		return value{kind: number, text: scalar}, end
	}
}

func (p *parser) container(at, depth int) (v value, end int) {
	if depth == MaxDepth {
		p.err = ErrDepth
		return value{}, -1
	}
	var positions map[string]int
	if v.kind = array; p.src[at] == '{' {
		v.kind, positions = object, map[string]int{}
	}
	end = jsontext.Within(p.src, at, func(name string, at int) int {
		content, behind := p.value(at, depth+1)
		if v.kind == array {
			v.elements = append(v.elements, content)
			return behind
		}
		name = jsontext.Unquote(name)
		if known, twice := positions[name]; twice {
			p.twice = true
			v.members[known].value = content
			return behind
		}
		positions[name] = len(v.members)
		v.members = append(v.members, member{name, content})
		return behind
	})
	return v, end
}
