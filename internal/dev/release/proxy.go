package main

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// publish writes a module into a proxy of files, as https://go.dev/ref/mod#goproxy-protocol has it.
// The zip has the files that git knows or would add, as a tag has them, without those of nested
// modules.
func (t *tree) publish(m module, proxy string) error {
	folder := filepath.Join(proxy, filepath.FromSlash(m.path), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(t.root, m.folder, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":"2026-01-02T03:04:05Z"}`, t.version)
	for name, content := range map[string]string{
		"list": t.version + "\n", t.version + ".info": info,
		t.version + ".mod": string(mod),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	files, err := t.files(m)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(folder, t.version+".zip"))
	if err != nil {
		return err
	}
	defer out.Close()
	w := zip.NewWriter(out)
	for _, name := range files {
		if err := t.pack(w, m, name); err != nil {
			return err
		}
	}
	return w.Close()
}

// files are those of a module, relative to its folder.
func (t *tree) files(m module) (names []string, err error) {
	out, err := exec.Command("git", "-C", filepath.Join(t.root, m.folder), "ls-files", "--cached", "--others",
		"--exclude-standard", "-z").Output()
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if !t.nested(m, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// nested reports whether a file belongs to a module within this one.
func (t *tree) nested(m module, name string) bool {
	for _, other := range t.modules {
		within, err := filepath.Rel(m.folder, other.folder)
		if err == nil && within != "." && !strings.HasPrefix(within, "..") && strings.HasPrefix(name, within+"/") {
			return true
		}
	}
	return false
}

func (t *tree) pack(w *zip.Writer, m module, name string) error {
	in, err := os.Open(filepath.Join(t.root, m.folder, name))
	if os.IsNotExist(err) {
		return nil // it is removed, and not committed yet
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := w.Create(m.path + "@" + t.version + "/" + name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}
