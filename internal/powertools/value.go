package powertools

import (
	"encoding/json"
	"slices"
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

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// A value is a JSON value as a language reads it: the last of equal member names counts and stands
// where the first stood.
type value struct {
	kind kind
	// text is the number as written, the content of the text (halves of surrogate pairs in three
	// bytes, as WTF-8 has them), or true or false.
	text string
	// members are those of an object, or the elements of an array, without names.
	members []member
}

type member struct {
	name  string
	value value
}

// holdsOnly reports whether a value is an array or an object in which every value passes.
func (v value) holdsOnly(passes func(value) bool) bool {
	fails := func(m member) bool { return !passes(m.value) }
	return (v.kind == array || v.kind == object) && !slices.ContainsFunc(v.members, fails)
}

func isNull(v value) bool { return v.kind == null }

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
	return v, p.twice, p.err
}

// value reads the value at a position, and returns the position behind it, -1 with an error.
func (p *parser) value(at, depth int) (v value, end int) {
	if p.src[at] == '{' || p.src[at] == '[' {
		return p.container(at, depth)
	}
	end = jsontext.End(p.src, at)
	v.text = p.src[at:end]
	switch p.src[at] {
	case '"':
		v.kind, v.text = text, jsontext.Unquote(v.text)
	case 'n':
		v = value{}
	case 't', 'f':
		v.kind = boolean
	default:
		if v.kind = number; len(v.text) > maxNumber {
			p.err = ErrNumberLength
			return v, -1
		}
	}
	return v, end
}

func (p *parser) container(at, depth int) (v value, end int) {
	if depth == MaxDepth {
		p.err = ErrDepth
		return v, -1
	}
	v.kind = array
	positions := map[string]int{}
	if p.src[at] == '{' {
		v.kind = object
	}
	end = jsontext.Within(p.src, at, func(name string, at int) int {
		content, behind := p.value(at, depth+1)
		if v.kind == object {
			name = jsontext.Unquote(name)
			if known, twice := positions[name]; twice {
				p.twice = true
				v.members[known].value = content
				return behind
			}
			positions[name] = len(v.members)
		}
		v.members = append(v.members, member{name, content})
		return behind
	})
	return v, end
}
