package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rowsOf reads a file of rows.
func rowsOf(t *testing.T, text string) ([]control, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600))
	return readRows(dir)
}

func TestRowsAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	got, err := rowsOf(t, `# An area.
[live-lease]
without: a running execution: is taken over
in: judge
old: case !$held.Lapsed($now):
new:
suite: ./memory ./store
first: ./store TestA/of_nothing
`)
	require.NoError(t, err)
	assert.Equal(t, []control{{
		name: "live-lease", area: "a", without: "a running execution: is taken over", in: "judge",
		old:   "case !$held.Lapsed($now):",
		suite: []string{"./memory", "./store"}, first: catcher{"./store", "TestA/of_nothing"},
	}}, got)
}

func TestWhatIsWrongWithRowsIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"old: a\n":                             "a.txt:1: a field before the first row",
		"[a]\n[b]":                             "a.txt:1: a has no pattern: old is missing",
		"[A]\n":                                "a.txt:1: [A] is no name in brackets",
		"[a\n":                                 "a.txt:1: [a is no name in brackets",
		"[a]\nodd: a\n":                        `a.txt:2: "odd: a" is no field`,
		"[a]\nold: a\nold: b\n":                "a.txt:3: old is there twice",
		"[a]\nold: a\nwithout: b\n":            "a.txt:1: a does not say what its pattern becomes",
		"[a]\nold: a\nnew: b\n":                "a.txt:1: a does not say what happens without the guard",
		"[a]\nwithout: b\nold: a\nnew:\n\n[a]": "a.txt:6: a is the name of the row at a.txt:1, too",
		"[a]\nwithout: b\nold: a\nnew:\nfirst: b": "a.txt:1: a names no test",
	} {
		_, err := rowsOf(t, text)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := readRows(t.TempDir())
	require.ErrorContains(t, err, "has no rows")
}

func TestWhatCatchesARowIsWrittenIntoIt(t *testing.T) {
	t.Parallel()
	const before = "# An area.\n[a]\nwithout: b\nold: a\nnew:\nfirst: . TestX\nsuite: ./memory\n\n[b]\nwithout: " +
		"b\nold: a\nnew:\n"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(before), 0o600))
	for _, name := range []string{"a", "b"} {
		require.NoError(t, record(dir, guard{control: control{name: name, area: "a"}}, catcher{".", "TestZ/" + name}))
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "# An area.\n[a]\nwithout: b\nold: a\nnew:\nsuite: ./memory\nfirst: . TestZ/a\n\n"+
		"[b]\nwithout: b\nold: a\nnew:\nfirst: . TestZ/b\n", string(text))
	require.ErrorContains(t,
		record(dir, guard{control: control{name: "c", area: "a"}}, catcher{".", "TestZ"}), "no row c")
}
