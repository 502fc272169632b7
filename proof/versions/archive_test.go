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
	root = "../.."
)

// archived is a version before this one: its files, and where the history has them.
type archived struct{ file, commit string }

var (
	// withoutSteps is the last version without steps, withoutCommits the last one without commits.
	withoutSteps   = archived{"testdata/before.zip", "f005afbb0d9fbc1264928ec6f705fd88a267eb27"}
	withoutCommits = archived{"testdata/steps.zip", "59495c09fb94c76be0a0d2e4fd2d77bdbedcd3d7"}
)

// folders are what a handler and an operator need of the library.
var folders = []string{
	".", "dynamo", "fingerprint", "internal/execution", "internal/fold", "internal/gateway", "internal/httpfield", "internal/powertools",
	"internal/protocol", "jmespath", "operate", "store",
}

var write = flag.Bool("archive", false, "write the archives of the versions before from the history")

// The archives are what the history says, where that is there. A clone that is shallow has none of it.
func TestTheArchivesAreTheVersionsBefore(t *testing.T) {
	t.Parallel()
	for _, a := range []archived{withoutSteps, withoutCommits} {
		t.Run(a.file, func(t *testing.T) {
			t.Parallel()
			if exec.Command("git", "-C", root, "cat-file", "-e", a.commit+"^{commit}").Run() != nil {
				t.Skip("the history is not here; the tests beside this one need only the archive")
			}
			files := a.inHistory(t)
			if *write {
				a.pack(t, files)
			}
			require.Equal(t, files, a.unpacked(t))
		})
	}
}

// inHistory are the files of the version, by their path.
func (a archived) inHistory(t *testing.T) map[string]string {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		require.NoError(t, err, args)
		return string(out)
	}
	files := map[string]string{}
	for path := range strings.Lines(git("ls-tree", "-r", "--name-only", a.commit)) {
		path = strings.TrimSpace(path)
		code := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if code && slices.Contains(folders, filepath.Dir(path)) || path == "LICENSE" {
			files[path] = git("show", a.commit+":"+path)
		}
	}
	return files
}

// pack writes the archive: always the same bytes for the same files.
func (a archived) pack(t *testing.T, files map[string]string) {
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
	require.NoError(t, os.WriteFile(a.file, out.Bytes(), 0o600))
}

// unpacked are the files of the archive.
func (a archived) unpacked(t *testing.T) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(a.file)
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
func (a archived) extract(dir string) error {
	r, err := zip.OpenReader(a.file)
	if err != nil {
		return err
	}
	defer r.Close()
	return os.CopyFS(dir, r)
}
