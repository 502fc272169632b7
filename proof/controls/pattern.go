package main

import (
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// pattern is Go in which a guard is recognised wherever it stands. It is compared token by token
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
type pattern struct {
	expression *regexp.Regexp
	// pieces are what stands between the metavariables, whose names are those of the groups.
	pieces, names []string
}

// tokens are Go that patterns are compared with. Each token stands behind a mark, which says
// whether it is an identifier; those begin with a small letter here.
type tokens struct {
	source, text string
	all          []lexeme
}

// lexeme is a token, where it begins in the text of all of them, and where it is in its source.
type lexeme struct {
	text         string
	at, from, to int
}

const (
	sign  = "\x00"
	ident = "\x01"
	marks = sign + ident
)

// lex splits Go into its tokens, without comments, semicolons, and commas before brackets. A text
// that is broken into several literals is one token.
func lex(source string) tokens {
	t := tokens{source: source}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), func(token.Position, string) {}, 0)
	for pos, kind, text := s.Scan(); kind != token.EOF; pos, kind, text = s.Scan() {
		n := len(t.all)
		is := func(i int, text string) bool { return i >= 0 && t.all[i].text == sign+text }
		switch {
		case kind == token.SEMICOLON:
			continue
		case text == "" || kind.IsOperator():
			text = kind.String()
		}
		l := lexeme{text: sign + text, from: file.Offset(pos), to: file.Offset(pos) + len(text)}
		switch {
		case kind == token.IDENT && is(n-1, "$"): // the capital of a metavariable counts
			l.text = ident + text
		case kind == token.IDENT:
			l.text = ident + plain(text)
		case slices.Contains([]string{")", "]", "}"}, text) && is(n-1, ","): // which is there because a line ends
			t.all = t.all[:n-1]
		case l.quoted() && is(n-1, "+") && n > 1 && t.all[n-2].quoted():
			l.from, l.text = t.all[n-2].from, strings.TrimSuffix(t.all[n-2].text, `"`)+text[1:]
			t.all = t.all[:n-2]
		}
		t.all = append(t.all, l)
	}
	var all strings.Builder
	for i, l := range t.all {
		t.all[i].at = all.Len()
		all.WriteString(l.text)
	}
	t.text = all.String()
	return t
}

func (l lexeme) quoted() bool { return strings.HasPrefix(l.text, sign+`"`) }

var capital = regexp.MustCompile(`\b[A-Z]`)

// plain is a name, which leaves open whether it is exported.
func plain(name string) string { return capital.ReplaceAllStringFunc(name, strings.ToLower) }

var metavariable = regexp.MustCompile(sign + `\$` + ident + "([^" + marks + "]+)")

func newPattern(text string) (p pattern) {
	text = lex(text).text
	// What is in the middle of an operand is no place, nor what ends before its last token does.
	before, after := "", "$|["+marks+"]"
	if text[:1] == ident || strings.HasPrefix(text, sign+"$") {
		before = "(?:^|[^.]|[^" + sign + "][.])"
	}
	if strings.LastIndex(text, ident) > strings.LastIndex(text, sign) {
		after = "$|" + ident + "|" + sign + "(?:[^.]|[.][^" + marks + "])"
	}
	var expression strings.Builder
	end := 0
	for _, at := range metavariable.FindAllStringSubmatchIndex(text, -1) {
		piece, name, last := text[end:at[0]], text[at[2]:at[3]], "[^"+marks+"]+"
		if token.IsExported(name) {
			last = plain(name)
		}
		p.pieces, p.names, end = append(p.pieces, piece), append(p.names, "$"+name), at[1]
		operand := "((?:" + ident + "[^" + marks + "]+" + sign + "[.])*" + ident + last + ")"
		expression.WriteString(regexp.QuoteMeta(piece) + operand)
	}
	p.pieces = append(p.pieces, text[end:])
	p.expression = regexp.MustCompile(
		before + "(" + expression.String() + regexp.QuoteMeta(text[end:]) + ")(?:" + after + ")")
	return p
}

// match is a place where a pattern fits, and what its metavariables stand for there.
type match struct {
	from, to int
	bound    map[string]string
}

// in are the places where the pattern fits.
func (p pattern) in(t tokens) (all []match) {
	if slices.ContainsFunc(p.pieces, func(piece string) bool { return !strings.Contains(t.text, piece) }) {
		return nil
	}
	for begin := 0; ; {
		at := p.expression.FindStringSubmatchIndex(t.text[begin:])
		if at == nil {
			return all
		}
		group := func(i int) (from, to int) {
			return t.all[t.index(begin+at[2*i])].from, t.all[t.index(begin+at[2*i+1])-1].to
		}
		m, fits := match{bound: make(map[string]string)}, true
		m.from, m.to = group(1)
		for i, name := range p.names {
			from, to := group(i + 2)
			before, again := m.bound[name]
			m.bound[name] = t.source[from:to]
			fits = fits && (!again || before == m.bound[name])
		}
		if fits {
			all = append(all, m)
		}
		begin += at[2] + 1
	}
}

// index is that of the token that begins at a place in the text.
func (t tokens) index(at int) int {
	i, _ := slices.BinarySearchFunc(t.all, at, func(l lexeme, at int) int { return l.at - at })
	return i
}

var filled = regexp.MustCompile(`\$\w+`)

// fill puts what metavariables stand for into a text. What it does not know, as in a literal,
// stays.
func (m match) fill(text string) string {
	return filled.ReplaceAllStringFunc(text, func(name string) string {
		if text, known := m.bound[name]; known {
			return text
		}
		return name
	})
}
