package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pattern, source string
		matches         []string // what becomes of each place
		becomes         string
	}{
		"white space, comments and semicolons do not count": {
			"if $a { return 1; }", "if a { // why\n\n\treturn 1\n}", []string{"a"}, "$a",
		},
		"nor does a comma at the end of a line": {"f($a, $b)", "f(\n\ta,\n\tb,\n)", []string{"a, b"}, "$a, $b"},
		"a metavariable is one operand": {
			"f($x)", "f(a); f(a.b.c); f(a+b); f(1); f(g(a))",
			[]string{"a", "a.b.c"},
			"$x",
		},
		"the same one is the same text": {
			"$x == $x", "a == b; a.b == a.b; a == a.b",
			[]string{"a.b"},
			"$x",
		},
		"it leaves to the pattern what that names": {
			"$x.Status == $y", "v.mine.Status == done",
			[]string{"v.mine, done"},
			"$x, $y",
		},
		"it begins where its operand begins": {"$x == nil", "a.b.c == nil", []string{"a.b.c"}, "$x"},
		"it ends where its operand ends": {
			"_ = $x", "_ = a.b.c; _ = a.(T); _ = a.b()",
			[]string{"a.b.c", "a.b"},
			"$x",
		},
		"a name is not the end of a longer one": {
			"owner == nil", "v.owner == nil; owner == nil",
			[]string{"here"},
			"here",
		},
		"nor the beginning": {
			"return v.mine", "return v.mine.Status; return v.mineral; return v.mine",
			[]string{"here"},
			"here",
		},
		"a capital asks for a name": {
			"$Reached($t)",
			"reached(a); store.Reached(b); v.reached(c); breached(d)",
			[]string{"a", "b", "c"},
			"$t",
		},
		"a capital keeps its qualifier": {
			"$r.Status == $StatusUnknown",
			"r.Status == store.StatusUnknown",
			[]string{"store.StatusUnknown"},
			"$StatusUnknown",
		},
		"a name may be exported": {
			"$held.lapsed($now)", "held.Lapsed(now)",
			[]string{"held"},
			"$held",
		},
		"the rest of a name counts":   {"lapsed", "elapsed; lapsedNow; LAPSED", nil, ""},
		"strings count to the letter": {`f("a")`, `f("A"); f(" a")`, nil, ""},
		"a text may be broken": {
			`x + "ab" + y`,
			"x + \"a\" +\n\"b\" + y; x + `a` + \"b\" + y",
			[]string{"here"},
			"here",
		},
		"of a chain as much as the rest of a pattern allows": {"$x.a.b", "a.b.a.b", []string{"a.b"}, "$x"},
		"filling leaves texts alone": {
			"$route", "r . route",
			[]string{`r . route == "$default" && x == '$'`},
			`$route == "$default" && x == '$'`,
		},
	} {
		var got []string
		for _, m := range newPattern(c.pattern).in(lex(c.source)) {
			got = append(got, m.fill(c.becomes))
		}
		assert.Equal(t, c.matches, got, name)
	}
}

func TestLexemesAreWhereTheyAre(t *testing.T) {
	t.Parallel()
	const text = "if a.b <= `x` {\n\treturn\n}"
	tokens := lex(text)
	for _, l := range tokens.all {
		assert.Equal(t, l.text[1:], text[l.from:l.to])
	}
	assert.Len(t, tokens.all, 9)
}
