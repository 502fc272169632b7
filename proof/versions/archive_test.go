package versions_test

import (
	"archive/zip"
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root    = "../.."
	archive = "testdata/before.zip"
	// commitBefore is the last commit without steps.
	commitBefore = "f005afbb0d9fbc1264928ec6f705fd88a267eb27"
)

// folders are what a handler and an operator need of the library.
var folders = []string{
	".", "dynamo", "fingerprint", "internal/execution", "internal/fold", "internal/gateway", "internal/httpfield", "internal/powertools",
	"internal/protocol", "jmespath", "operate", "store",
}

var write = flag.Bool("archive", false, "write the archive of the version before from the history")

// The archive is what the history says, where that is there. A clone that is shallow has none of it.
func TestTheArchiveIsTheVersionBefore(t *testing.T) {
	t.Parallel()
	if exec.Command("git", "-C", root, "cat-file", "-e", commitBefore+"^{commit}").Run() != nil {
		t.Skip("the history is not here; the tests beside this one need only the archive")
	}
	files := inHistory(t)
	if *write {
		pack(t, files)
	}
	require.Equal(t, files, unpacked(t))
}

// inHistory are the files of the version before, by their path.
func inHistory(t *testing.T) map[string]string {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		require.NoError(t, err, args)
		return string(out)
	}
	files := map[string]string{}
	for path := range strings.Lines(git("ls-tree", "-r", "--name-only", commitBefore)) {
		path = strings.TrimSpace(path)
		code := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if code && slices.Contains(folders, filepath.Dir(path)) || path == "LICENSE" {
			files[path] = git("show", commitBefore+":"+path)
		}
	}
	return files
}

// pack writes the archive: always the same bytes for the same files.
func pack(t *testing.T, files map[string]string) {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	paths := []string{}
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		f, err := w.Create(path)
		require.NoError(t, err)
		_, err = io.WriteString(f, files[path])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(archive, out.Bytes(), 0o600))
}

// unpacked are the files of the archive.
func unpacked(t *testing.T) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer r.Close()
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		files[f.Name] = string(text)
	}
	return files
}

// extract writes the files of the archive into a folder.
func extract(dir string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	return os.CopyFS(dir, r)
}
