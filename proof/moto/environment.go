package moto

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	_ "embed"
)

// startLimit bounds the installation of the packages.
const startLimit = 5 * time.Minute

//go:embed requirements.txt
var requirements []byte

// environment returns the interpreter of an environment with the packages. One that was made from
// the same file stays.
//
// The tests of several packages may want it at once: each makes its own then, and the first one to
// be complete gets the name.
func environment() (python string, err error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the folder of the package is not known")
	}
	folderOfPackage := filepath.Dir(here)
	root := filepath.Join(folderOfPackage, "..", "..")
	folder := filepath.Join(root, ".tools", fmt.Sprintf("moto-%x", sha256.Sum256(requirements))[:13])
	python = filepath.Join(folder, "bin", "python")
	if isThere(folder) {
		return python, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	mine := folder + "-" + rand.Text()
	venv := exec.CommandContext(ctx, filepath.Join(root, ".ci", "venv"), mine,
		filepath.Join(folderOfPackage, "requirements.txt"))
	if out, err := venv.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	if err := os.Rename(mine, folder); err != nil && !isThere(folder) {
		return "", err
	}
	return python, os.RemoveAll(mine) // nothing, unless another one was first
}

// isThere reports whether an environment is complete: .ci/venv writes the file last.
func isThere(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "requirements.txt"))
	return err == nil
}
