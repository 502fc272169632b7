package artifact_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/artifact"
)

// The marker is there if and only if Wrap is linked in, however the program is built.
func TestAProgramTellsWhetherItWraps(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("links many programs")
	}
	shipped := []string{"-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid="}
	for name, build := range map[string]struct {
		architecture string
		flags        []string
	}{
		"as it is":       {"amd64", nil},
		"as it ships":    {"amd64", shipped},
		"for another":    {"arm64", shipped},
		"for a debugger": {"amd64", []string{"-gcflags", "all=-N -l"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "for a debugger" && os.Getenv("IDEMPOTENT_TEST_STRICT") != "1" {
				t.Skip("it compiles everything anew; IDEMPOTENT_TEST_STRICT=1 does it")
			}
			folder := t.TempDir()
			args := append(append([]string{"build", "-o", folder}, build.flags...), "./testdata/hello", "./testdata/wraps", "./testdata/generic",
				"./testdata/imports", "./testdata/unreached")
			c := exec.Command("go", args...)
			c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+build.architecture, "GOFLAGS=")
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s", out)
			for program, want := range map[string]struct{ wraps, has bool }{
				"hello": {false, false}, "imports": {false, true}, "unreached": {false, true}, "wraps": {true, true}, "generic": {true, true},
			} {
				p, err := artifact.Find(filepath.Join(folder, program))
				require.NoError(t, err, program)
				assert.Equal(t, want.wraps, p.Wraps, program)
				assert.Equal(t, want.has, p.Library != "", program)
			}
		})
	}
}

// hello builds the smallest program into a file.
func hello(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.Command("go", "build", "-o", file, "./testdata/hello").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

func TestAProgramIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := hello(t, filepath.Join(folder, "bootstrap"))
	p, err := artifact.Find(folder)
	require.NoError(t, err)
	assert.Equal(t, artifact.Program{Path: program}, p)

	archive := filepath.Join(folder, "function.ZIP")
	zipped(t, archive, program, "bootstrap")
	p, err = artifact.Find(archive)
	require.NoError(t, err)
	assert.Equal(t, artifact.Program{Path: archive + "/bootstrap"}, p)
}

func zipped(t *testing.T, archive, file, as string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	f, err := os.Create(archive)
	require.NoError(t, err)
	defer f.Close()
	w := zip.NewWriter(f)
	entry, err := w.Create(as)
	require.NoError(t, err)
	_, err = entry.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

// What cannot be read neither wraps nor does it not.
func TestWhatIsNoProgramOfGoIsAnError(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := artifact.Find(filepath.Join(folder, "nothing"))
	require.ErrorIs(t, err, artifact.ErrNone)
	_, err = artifact.Find(folder)
	require.ErrorIs(t, err, artifact.ErrNone, "a folder without the program")

	script := filepath.Join(folder, "bootstrap")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec ./program\n"), 0o700))
	_, err = artifact.Find(folder)
	require.ErrorContains(t, err, "is no program of Go that can be read")
	require.NotErrorIs(t, err, artifact.ErrNone)

	archive := filepath.Join(folder, "function.zip")
	zipped(t, archive, script, "bin/bootstrap")
	_, err = artifact.Find(archive)
	require.ErrorContains(t, err, "has no bootstrap")
	require.NoError(t, os.WriteFile(archive, []byte("PK"), 0o600))
	_, err = artifact.Find(archive)
	require.ErrorContains(t, err, "function.zip")
	require.NotErrorIs(t, err, artifact.ErrNone)
}
