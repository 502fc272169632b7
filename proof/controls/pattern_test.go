package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, pattern, source string
		x                    []string // what $x stands for in each place
	}{
		{"space, comments and semicolons do not count", "if $x { return 1; }", "if a { // why\n\n\treturn 1\n}", []string{"a"}},
		{"nor does a comma at the end of a line", "f($x, $b)", "f(\n\ta,\n\tb,\n)", []string{"a"}},
		{"one operand", "f($x)", "f(a); f(a.b.c); f(a+b); f(1); f(g(a))", []string{"a", "a.b.c"}},
		{"the same is the same text", "$x == $x", "a == b; a.b == a.b; a == a.b", []string{"a.b"}},
		{"what the pattern names is left to it", "$x.Status == $y", "v.mine.Status == done", []string{"v.mine"}},
		{"it begins where its operand begins", "$x == nil", "a.b.c == nil", []string{"a.b.c"}},
		{"it ends where its operand ends", "_ = $x", "_ = a.b.c; _ = a.(T); _ = a.b()", []string{"a.b.c", "a.b"}},
		{"before dots, too", "f($y, $x", "f(a, b...)", []string{"b"}},
		{"a name ends no longer one", "owner == nil", "v.owner == nil; owner == nil", []string{"$x"}},
		{"nor begins one", "return v.mine", "return v.mine.Status; return v.mineral; return v.mine", []string{"$x"}},
		{"a capital asks for a name", "$Reached($x)", "reached(a); s.Reached(b); breached(d)", []string{"a", "b"}},
		{"a name may be exported", "$x.lapsed($now)", "held.Lapsed(now)", []string{"held"}},
		{"the rest of a name counts", "lapsed", "elapsed; lapsedNow; LAPSED", nil},
		{"strings count to the letter", `f("a")`, `f("A"); f(" a")`, nil},
		{"a text may be broken", `$x + "ab" + y`, "x + \"a\" +\n\"b\" + y; x + `a` + \"b\" + y", []string{"x"}},
		{"as much as the rest allows", "$x.a.b", "a.b.a.b", []string{"a.b"}},
	} {
		var got []string
		for _, m := range newPattern(c.pattern).in(lex(c.source)) {
			got = append(got, m.fill("$x"))
		}
		assert.Equal(t, c.x, got, c.why)
	}
}

func TestFillingLeavesTextsAloneAndNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	m := newPattern("$route == $StatusUnknown").in(lex("r.Route == store.StatusUnknown"))[0]
	assert.Equal(t, `r.Route == "$default" && x == store.StatusUnknown`, m.fill(`$route == "$default" && x == $StatusUnknown`))
}
