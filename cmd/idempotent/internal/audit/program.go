package audit

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// marker is the text that idempotent.Wrap leaves in a program. It is put together here, so that
// this program does not have it.
var marker = []byte(strings.Join([]string{
	"github.com/go-idempotent/idempotent:", "this", "program", "calls", "Wrap",
	"(7H2QXVT4KZ6M)",
}, " "))

// wraps reports whether idempotent.Wrap is linked into the program at a path, which may be that of
// its folder. The error is fs.ErrNotExist if there is nothing, and another one for what is no
// program of Go, of which nobody knows.
func wraps(path string) (bool, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "bootstrap") // so Lambda's runtimes call it
	}
	content, err := os.ReadFile(path) //nolint:gosec // the template names it, and the user the template
	if err != nil || bytes.Contains(content, marker) {
		return err == nil, err
	}
	// In another program the absence of the marker says nothing: it may be compressed, or a script
	// that starts the program.
	if _, err := buildinfo.Read(bytes.NewReader(content)); err != nil {
		return false, fmt.Errorf("%s is no program of Go that can be read", path)
	}
	return false, nil
}

// program looks where the program of a function may be: where SAM builds it, and where the template
// or CDK has it.
func (a *audit) program(f resource) (path string, is bool, err error) {
	path = filepath.Join(a.build, f.id)
	if is, err = wraps(path); !errors.Is(err, fs.ErrNotExist) {
		return path, is, err
	}
	code := text(f.metadata["aws:asset:path"]) // of CDK
	for _, property := range []string{"Code", "CodeUri"} {
		if local, is := f.properties[property].(string); is && f.metadata["BuildMethod"] == nil {
			code = local // what is built by a method is not where its source is
		}
	}
	if code == "" || strings.ContainsAny(code, "$:") {
		return path, false, fs.ErrNotExist
	}
	if !filepath.IsAbs(code) {
		code = filepath.Join(a.folder, code)
	}
	is, err = wraps(code)
	return code, is, err
}
