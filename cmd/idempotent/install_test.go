package main_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	library = "github.com/go-idempotent/idempotent"
	// version is the one of the library that go.mod names.
	version = "v0.1.0"
)

// Whoever has no clone of the repository installs the command from a proxy: its go.mod must not point into the repository, and must
// name every module that it needs.
func TestItCanBeInstalledFromAProxy(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("unpacks every module again")
	}
	files := repository(t)
	proxy := t.TempDir()
	publish(t, proxy, library, "", files)
	publish(t, proxy, library+"/cmd/idempotent", "cmd/idempotent/", files)
	modules, bin := t.TempDir(), t.TempDir()
	cached := output(t, "go", "env", "GOMODCACHE")
	c := exec.Command("go", "install", "-trimpath", library+"/cmd/idempotent@"+version)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "GOWORK=off", "GOBIN="+bin, "GOMODCACHE="+modules, "GOFLAGS=-modcacherw", "GOSUMDB=off",
		"GOPROXY=file://"+proxy+",file://"+cached+"/cache/download")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(filepath.Join(bin, "idempotent"), "list", "--demo").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "charge#result-lost")
	assert.Equal(t, "idempotent version "+version, output(t, filepath.Join(bin, "idempotent"), "--version"))
}

// repository lists the files of the repository that would be published.
func repository(t *testing.T) []string {
	t.Helper()
	list := output(t, "git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard")
	return strings.Split(list, "\n")
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	require.NoError(t, err, "%s %v", name, args)
	return strings.TrimSpace(string(out))
}

// publish puts the module in a folder of the repository where a proxy has it. What belongs to a module further inside is left out.
func publish(t *testing.T, proxy, module, folder string, files []string) {
	t.Helper()
	dir := filepath.Join(proxy, module, "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	goMod, err := os.ReadFile(filepath.Join("../..", folder, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, version+".mod"), goMod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o600))
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	defer archive.Close()
	w := zip.NewWriter(archive)
	for _, file := range files {
		path, inside := strings.CutPrefix(file, folder)
		if !inside || nested(path, folder, files) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", file))
		if os.IsNotExist(err) { // removed, and not committed yet
			continue
		}
		require.NoError(t, err)
		f, err := w.Create(module + "@" + version + "/" + path)
		require.NoError(t, err)
		_, err = f.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
}

// nested reports whether a file belongs to a module in a folder inside of this one.
func nested(path, folder string, files []string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if slices.Contains(files, folder+dir+"/go.mod") {
			return true
		}
	}
	return false
}
