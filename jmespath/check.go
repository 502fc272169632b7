package jmespath

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// parseText makes a Value of one acceptable JSON text. The error is a *JSONError.
// It is the only place that decides what is acceptable. Everything else in the
// package reads text that has passed, and does not look for errors again.
func parseText(text string) (Value, error) {
	// One pass of its own is cheaper than decoding runes on the way.
	if !utf8.ValidString(text) {
		return Value{}, &JSONError{Offset: invalidUTF8(text), Detail: "invalid UTF-8"}
	}
	c := checker{text: text, names: make([]string, 0, 32)}
	start := skipSpace(text, 0)
	end := c.value(start, 0)
	if end >= 0 {
		if rest := skipSpace(text, end); rest < len(text) {
			end = c.fail(rest, "data after the value")
		}
	}
	if end < 0 {
		return Value{}, &JSONError{Offset: c.offset, Detail: c.problem}
	}
	return Value{text[start:end]}, nil
}

// invalidUTF8 returns the position of the first byte of a text that is not part of
// a character. There must be one.
func invalidUTF8(text string) int {
	for i := 0; ; {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
}

// A checker walks over a JSON text. Its methods take the position where a part
// begins and return the position behind it, or a negative one after fail.
type checker struct {
	text    string
	names   []string // of the objects around the position, outermost first
	offset  int
	problem string
}

func (c *checker) fail(at int, problem string) int {
	c.offset, c.problem = at, problem
	return -1
}

func (c *checker) value(i, depth int) int {
	if i >= len(c.text) {
		return c.fail(i, "unexpected end")
	}
	switch b := c.text[i]; b {
	case '"':
		return c.str(i)
	case '{', '[':
		if depth == maxDepth {
			return c.fail(i, "nested too deep")
		}
		if b == '{' {
			return c.object(i, depth+1)
		}
		return c.array(i, depth+1)
	case 't':
		return c.word(i, "true")
	case 'f':
		return c.word(i, "false")
	case 'n':
		return c.word(i, "null")
	}
	return c.number(i)
}

func (c *checker) word(i int, word string) int {
	if !strings.HasPrefix(c.text[i:], word) {
		return c.fail(i, "not a JSON value")
	}
	return i + len(word)
}

func (c *checker) array(i, depth int) int {
	i = skipSpace(c.text, i+1)
	if c.at(i, ']') {
		return i + 1
	}
	for {
		if i = c.value(i, depth); i < 0 {
			return i
		}
		i = skipSpace(c.text, i)
		if c.at(i, ']') {
			return i + 1
		}
		if !c.at(i, ',') {
			return c.fail(i, "expected a comma or the end of the array")
		}
		i = skipSpace(c.text, i+1)
	}
}

func (c *checker) object(i, depth int) int {
	outer := len(c.names)
	var known map[string]struct{}
	i = skipSpace(c.text, i+1)
	if c.at(i, '}') {
		return i + 1
	}
	for {
		if !c.at(i, '"') {
			return c.fail(i, "expected a member name")
		}
		end := c.str(i)
		if end < 0 {
			return end
		}
		if !c.remember(unquote(c.text[i:end]), outer, &known) {
			return c.fail(i, "member name repeated in one object")
		}
		i = skipSpace(c.text, end)
		if !c.at(i, ':') {
			return c.fail(i, "expected a colon")
		}
		if i = c.value(skipSpace(c.text, i+1), depth); i < 0 {
			return i
		}
		i = skipSpace(c.text, i)
		if c.at(i, '}') {
			c.names = c.names[:outer]
			return i + 1
		}
		if !c.at(i, ',') {
			return c.fail(i, "expected a comma or the end of the object")
		}
		i = skipSpace(c.text, i+1)
	}
}

// remember adds a name to those of the object that begin at outer, and reports
// whether it is new. Few names are compared one by one, which needs no memory;
// many go into a set, so that an object with n names takes O(n).
func (c *checker) remember(name string, outer int, known *map[string]struct{}) bool {
	const few = 24
	if *known == nil {
		if slices.Contains(c.names[outer:], name) {
			return false
		}
		c.names = append(c.names, name)
		if len(c.names)-outer > few {
			*known = make(map[string]struct{}, 4*few)
			for _, other := range c.names[outer:] {
				(*known)[other] = struct{}{}
			}
		}
		return true
	}
	before := len(*known)
	(*known)[name] = struct{}{}
	return len(*known) > before
}

// at reports whether the byte at i is b.
func (c *checker) at(i int, b byte) bool { return i < len(c.text) && c.text[i] == b }
