// Package artifact finds what was built for a function, and tells whether it wraps a handler.
package artifact

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// marker is the text that idempotent.Wrap leaves in a program. It is put together here, so that this program does not have it for that reason.
var marker = []byte(strings.Join([]string{"github.com/go-idempotent/idempotent:", "this", "program", "calls", "Wrap", "(7H2QXVT4KZ6M)"}, " "))

// library is the module that has Wrap.
const library = "github.com/go-idempotent/idempotent"

// bootstrap is how Lambda's runtimes for programs call the program.
const bootstrap = "bootstrap"

// largest is how large a program may be: Lambda takes 250 MB, layers included.
const largest = 256 << 20

// ErrNone says that nothing is built.
var ErrNone = errors.New("it is not built")

// Program is what was built for a function.
type Program struct {
	// Path is where it is, with the file in it if that is an archive.
	Path string
	// Wraps reports whether idempotent.Wrap is linked in.
	Wraps bool
	// Library is the version of the library of which it has a package, empty if it has none.
	Library string
}

// Find reads the program at a path: a file, a folder with bootstrap, or an archive with it. It returns ErrNone if there is nothing, and another error for what
// is no program of Go, of which nobody knows whether it wraps.
func Find(path string) (Program, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Program{}, ErrNone
	case err != nil:
		return Program{}, err
	case info.IsDir():
		return inFolder(path)
	case strings.EqualFold(filepath.Ext(path), ".zip"):
		return inArchive(path)
	default:
		return file(path)
	}
}

func inFolder(folder string) (Program, error) {
	p, err := file(filepath.Join(folder, bootstrap))
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, ErrNone
	}
	return p, err
}

func file(path string) (Program, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return Program{}, err
	}
	defer f.Close()
	return program(path, f)
}

func inArchive(path string) (Program, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", path, err)
	}
	defer archive.Close()
	f, err := archive.Open(bootstrap)
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, fmt.Errorf("%s has no %s", path, bootstrap)
	}
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	return program(path+"/"+bootstrap, f)
}

// program looks for the marker in a program of Go. In another one its absence says nothing: it may be compressed, or a script that starts the program.
func program(path string, r io.Reader) (Program, error) {
	content, err := io.ReadAll(io.LimitReader(r, largest+1))
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(content) > largest {
		return Program{}, fmt.Errorf("%s is too large for Lambda", path)
	}
	p := Program{Path: path, Wraps: bytes.Contains(content, marker)}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err == nil {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == library {
				p.Library = m.Version
			}
		}
	}
	if err != nil && !p.Wraps { // a program that has the marker has said it all
		return Program{}, fmt.Errorf("%s is no program of Go that can be read", path)
	}
	return p, nil
}
