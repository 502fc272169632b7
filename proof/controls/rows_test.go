package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rowsOf reads files of rows.
func rowsOf(t *testing.T, files map[string]string) ([]control, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return readRows(dir)
}

func TestRowsAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	got, err := rowsOf(t, map[string]string{"a.txt": `# An area.
[live-lease]
without: a running execution: is taken over
in: judge
old: case !$held.Lapsed($now):
new:
first: ./store TestA/of_nothing
`})
	require.NoError(t, err)
	assert.Equal(t, []control{{
		name: "live-lease", area: "a", without: "a running execution: is taken over", in: "judge",
		old: "case !$held.Lapsed($now):", suite: "./store", test: "TestA/of_nothing",
	}}, got)
}

func TestWhatIsWrongWithRowsIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	const row = "[a]\nwithout: b\nold: a\nnew:\nfirst: . TestA\n"
	for text, want := range map[string]string{
		"old: a\n":              `a.txt:1: "old: a" is no name in brackets and no new field of a row`,
		"[A]\n":                 `a.txt:1: "[A]" is no name`,
		row + "[a":              `a.txt:6: "[a" is no name`,
		"[a]\nodd: a\n":         `a.txt:2: "odd: a" is no`,
		"[a]\nold: a\nold: b\n": `a.txt:3: "old: b" is no name in brackets and no new field`,
		"[a]\n" + row:           "a.txt: a has to say old, new, without",
		"[a]\nold: a\nnew: b\n": "a.txt: a has to say",
		row + "\n" + row:        "a is in a and in a",
		"[a]\nwithout: b\nold: a\nfirst: . TestA": "a.txt: a has to say",
		"[a]\nwithout: b\nold: a\nnew:\nfirst: b": "and first: a package and one of its tests",
	} {
		_, err := rowsOf(t, map[string]string{"a.txt": text})
		assert.ErrorContains(t, err, want, text)
	}
	_, err := rowsOf(t, map[string]string{"a.txt": row, "b.txt": row})
	require.ErrorContains(t, err, "a is in a and in b")
	_, err = rowsOf(t, nil)
	require.ErrorContains(t, err, "has no rows")
}

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
