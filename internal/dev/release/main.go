// Command release shows that what would be tagged can be built by somebody who has nothing else,
// and tags it:
//
//	go run ./internal/dev/release        # checks
//	go run ./internal/dev/release -tag   # checks, and makes the tags, in the order in which they have to be pushed
//
// The version is the first one in CHANGELOG.md. The working tree is committed and tagged in a
// repository of its own, which stands in for the one that everybody fetches from. In an empty
// module the program of the README is built and tested with what is tagged there, and the command
// is installed from it.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	s := stranger{folder: folder, origin: filepath.Join(folder, "origin")}
	if err := t.publish(s.origin); err != nil {
		return err
	}
	if err := s.buildsTheProgram(t); err != nil {
		return err
	}
	fmt.Println("The program of the README builds in an empty module, and its test passes.")
	if err := s.goes(folder, "install", "-trimpath", library+"/cmd/idempotent@"+t.version); err != nil {
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
	if out, err := output(t.root, nil, "git", "status", "--porcelain"); err != nil || len(out) > 0 {
		return fmt.Errorf("the working tree has changes, so nothing was tagged: %s %w", out, err)
	}
	for _, name := range names {
		if _, err := output(t.root, nil, "git", "tag", "-a", name, "-m", name); err != nil {
			return err
		}
	}
	fmt.Println("Push them one by one, in this order: git push origin", strings.Join(names, " && git push origin "))
	return nil
}

// tagNames are those of the modules that have one, each behind those that it requires.
func (t *tree) tagNames() (names []string) {
	all := slices.SortedStableFunc(slices.Values(t.modules),
		func(a, b module) int { return cmp.Compare(len(a.requires), len(b.requires)) })
	for _, m := range all {
		if !slices.Contains(unpublished, m.folder) {
			names = append(names, strings.TrimPrefix(m.folder+"/"+t.version, "./"))
		}
	}
	return names
}

// publish makes a repository in a folder, with the tags. It has the files that git knows or would
// add.
func (t *tree) publish(folder string) error {
	within := func(args ...string) []string {
		return append([]string{
			"git", "--git-dir", folder, "--work-tree", t.root,
			"-c", "user.name=release", "-c", "user.email=release@example.com",
			"-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false",
		}, args...)
	}
	commands := [][]string{
		{"git", "init", "--quiet", "--bare", folder},
		within("add", "--all"),
		within("commit", "--quiet", "--message", t.version),
	}
	for _, name := range t.tagNames() {
		commands = append(commands, within("tag", name))
	}
	for _, command := range commands {
		if _, err := output("", nil, command...); err != nil {
			return err
		}
	}
	return nil
}
