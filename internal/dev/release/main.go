// Command release shows that what would be tagged can be built by somebody who has nothing else,
// and tags it:
//
//	go run ./internal/dev/release        # checks
//	go run ./internal/dev/release -tag   # checks, and makes the tags, in the order in which they have to be pushed
//
// The version is the first one in CHANGELOG.md. The modules are served from the working tree by a
// module proxy of files. In an empty module the program of the README is built and tested against
// that proxy, and the command is installed from it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	tag := flag.Bool("tag", false, "make the tags of the last commit")
	flag.Parse()
	if err := run(*tag); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(tag bool) error {
	t, err := open(".")
	if err != nil {
		return err
	}
	if problems := t.problems(); len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n         "))
	}
	fmt.Printf("No go.mod has a replacement, and each names %s.\n", t.version)
	folder, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	proxy := filepath.Join(folder, "proxy")
	for _, m := range t.published() {
		if err := t.publish(m, proxy); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	s := stranger{folder: folder, proxy: proxy}
	if err := s.buildsTheProgram(t); err != nil {
		return err
	}
	fmt.Println("The program of the README builds in an empty module, and its test passes.")
	if err := s.installs(t); err != nil {
		return err
	}
	fmt.Println("The command can be installed.")
	return t.tags(tag)
}

// tags tells the tags, the library first: a nested module needs its version. If they are wanted, it
// makes them, of a commit without changes.
func (t *tree) tags(wanted bool) error {
	names := t.tagNames()
	if !wanted {
		fmt.Println("The tags would be, in this order:", strings.Join(names, ", "))
		return nil
	}
	if out, err := exec.Command("git", "-C", t.root, "status", "--porcelain").Output(); err != nil || len(out) > 0 {
		return fmt.Errorf("the working tree has changes, so nothing was tagged: %s %w", out, err)
	}
	for _, name := range names {
		if out, err := exec.Command("git", "-C", t.root, "tag", "-a", name, "-m", name).CombinedOutput(); err != nil {
			return fmt.Errorf("tag %s: %s: %w", name, out, err)
		}
	}
	fmt.Println("Push them one by one, in this order: git push origin", strings.Join(names, " && git push origin "))
	return nil
}

func (t *tree) tagNames() (names []string) {
	for _, m := range t.published() {
		names = append(names, strings.TrimPrefix(m.folder+"/"+t.version, "./"))
	}
	return names
}
