package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"strings"
)

// A pattern is Go in which a guard is recognised wherever it stands. It is compared token by token
// with the sources: white space, line breaks, comments, semicolons and commas before brackets do
// not count, nor whether a name is exported, nor into how many literals a text is broken.
//
// $name stands for one operand: an identifier, or a chain of them such as v.owner or
// store.StatusInProgress. It stands for the same text each time. If the name begins with a capital,
// it stands only for an operand that ends with that name: $Reached for reached, Reached and
// store.Reached.
//
// So a guard is still found after a receiver or a variable was renamed, and after it was moved to
// another package.
type pattern []lexeme

// lexeme is a token and where it is in its source. A metavariable is one lexeme, of the kind
// token.ILLEGAL.
type lexeme struct {
	kind     token.Token
	text     string
	from, to int
}

// lex splits Go into its tokens, without comments, semicolons, and commas before brackets. A text
// that is broken into several literals is one token.
func lex(source []byte) []lexeme {
	var (
		s      scanner.Scanner
		tokens []lexeme
	)
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, func(token.Position, string) {}, 0)
	dollar := -1
	for {
		pos, kind, text := s.Scan()
		at := file.Offset(pos)
		switch {
		case kind == token.EOF:
			return tokens
		case kind == token.SEMICOLON:
			continue
		case kind == token.ILLEGAL && text == "$":
			dollar = at
			continue
		case text == "" || kind.IsOperator():
			text = kind.String()
		}
		l := lexeme{kind, text, at, at + len(text)}
		if n := len(tokens); n > 0 && closes(kind) && tokens[n-1].kind == token.COMMA {
			tokens = tokens[:n-1] // it is there because a line ends
		}
		if n := len(tokens); n > 1 && quoted(l) && tokens[n-1].kind == token.ADD && quoted(tokens[n-2]) {
			before := tokens[n-2]
			l.text, l.from = before.text[:len(before.text)-1]+text[1:], before.from
			tokens = tokens[:n-2]
		}
		if dollar >= 0 && dollar+1 == at {
			l = lexeme{token.ILLEGAL, "$" + text, dollar, l.to}
		}
		tokens, dollar = append(tokens, l), -1
	}
}

func closes(kind token.Token) bool {
	return kind == token.RPAREN || kind == token.RBRACE || kind == token.RBRACK
}

// quoted reports whether a token is a text in quotation marks.
func quoted(l lexeme) bool { return l.kind == token.STRING && l.text[0] == '"' }

// binding says what the metavariables of a pattern stand for in one place.
type binding map[string][]lexeme

// text is what a metavariable stands for.
func (b binding) text(name string) string {
	var text strings.Builder
	for _, l := range b[name] {
		text.WriteString(l.text)
	}
	return text.String()
}

// matchAt reports whether the pattern begins at a token, and the token after its end.
func (p pattern) matchAt(source []lexeme, at int) (end int, b binding, ok bool) {
	if p[0].operand() && at > 0 && source[at-1].kind == token.PERIOD {
		return 0, nil, false // in the middle of an operand
	}
	m := matching{pattern: p, source: source}
	end, ok = m.rest(0, at)
	return end, m.bound, ok
}

func (l lexeme) operand() bool { return l.kind == token.IDENT || l.kind == token.ILLEGAL }

type matching struct {
	pattern pattern
	source  []lexeme
	bound   binding
}

// rest matches what is left of the pattern with what is left of the source.
func (m *matching) rest(i, at int) (end int, ok bool) {
	for ; i < len(m.pattern); i++ {
		p := m.pattern[i]
		if p.kind == token.ILLEGAL {
			return m.operand(i, at)
		}
		if at == len(m.source) || !p.same(m.source[at]) {
			return 0, false
		}
		at++
	}
	if m.pattern[i-1].operand() && at < len(m.source) && m.source[at].kind == token.PERIOD {
		return 0, false // in the middle of an operand
	}
	return at, true
}

// operand lets a metavariable stand for as long a chain as the rest of the pattern allows.
func (m *matching) operand(i, at int) (end int, ok bool) {
	name := m.pattern[i].text
	bound, again := m.bound[name]
	for n := chain(m.source[at:]); n > 0; n -= 2 {
		stands := m.source[at : at+n]
		if again && !same(bound, stands) || !fits(name, stands[n-1].text) || !m.whole(i+1, at+n) {
			continue
		}
		if m.bound == nil {
			m.bound = make(binding)
		}
		m.bound[name] = stands
		if end, ok := m.rest(i+1, at+n); ok {
			return end, true
		}
		if !again {
			delete(m.bound, name)
		}
	}
	return 0, false
}

// whole reports whether an operand ends at a place in the source: another part of it follows only
// if the pattern names it.
func (m *matching) whole(i, at int) bool {
	named := i < len(m.pattern) && m.pattern[i].kind == token.PERIOD
	return named || at == len(m.source) || m.source[at].kind != token.PERIOD
}

// chain is the number of tokens of the chain of identifiers that a source begins with.
func chain(source []lexeme) int {
	n := 0
	for n < len(source) && source[n].kind == token.IDENT {
		n++
		if n+1 >= len(source) || source[n].kind != token.PERIOD || source[n+1].kind != token.IDENT {
			return n
		}
		n++
	}
	return n
}

// fits reports whether a metavariable may stand for an operand that ends with a name.
func fits(metavariable, last string) bool {
	name := metavariable[1:]
	return !token.IsExported(name) || sameName(name, last)
}

// plain is the text of a token, which leaves open whether a name is exported.
func (l lexeme) plain() string {
	if l.kind == token.IDENT {
		return strings.ToLower(l.text[:1]) + l.text[1:]
	}
	return l.text
}

func (l lexeme) same(other lexeme) bool {
	return l.kind == other.kind && (l.text == other.text || l.kind == token.IDENT && sameName(l.text, other.text))
}

// sameName leaves open whether a name is exported.
func sameName(a, b string) bool {
	return a != "" && b != "" && strings.EqualFold(a[:1], b[:1]) && a[1:] == b[1:]
}

func same(a, b []lexeme) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].text != b[i].text {
			return false
		}
	}
	return true
}

// fill puts what metavariables stand for into a text.
func (b binding) fill(text string) (string, error) {
	var filled strings.Builder
	end := 0
	for _, l := range lex([]byte(text)) {
		if l.kind != token.ILLEGAL || l.text[0] != '$' {
			continue
		}
		if b[l.text] == nil {
			return "", fmt.Errorf("%s is not in the pattern", l.text)
		}
		filled.WriteString(text[end:l.from])
		filled.WriteString(b.text(l.text))
		end = l.to
	}
	return filled.String() + text[end:], nil
}
