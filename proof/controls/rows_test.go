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
