package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/proof/changes"
)

// repository is the working tree that is checked.
type repository struct {
	ctx      context.Context
	root     string
	packages *changes.Packages
}

func openRepository(ctx context.Context) (r *repository, err error) {
	r = &repository{ctx: ctx, root: "."}
	if r.root, err = r.git("rev-parse", "--show-toplevel"); err != nil {
		return nil, err
	}
	r.packages, err = changes.Read(ctx, r.root)
	return r, err
}

// git returns what a command of git prints, without the last newline.
func (r *repository) git(args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, "git", args...)
	var problems bytes.Buffer
	cmd.Dir, cmd.Stderr = r.root, &problems
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes()))
	}
	return strings.TrimRight(string(out), "\n"), err
}

// change is what a change touches.
type change struct {
	// base is the commit that it is compared with, and why that one.
	base, why string
	// files are those that differ from it, deleted ones included, from the root of the repository.
	files []string
}

// settled is how old a commit is that a change is not a part of, if nothing else says where the
// change begins.
const settled = 24 * time.Hour

// change compares the working tree with where the change began: with BASE, or with where the branch
// left origin/main, or with the newest commit that is a day older than the last one.
func (r *repository) change() (c change, err error) {
	if c.base, c.why, err = r.base(); err != nil {
		return change{}, err
	}
	differ, err := r.git("diff", "--name-only", "--no-renames", c.base)
	added, errOfAdded := r.git("ls-files", "--others", "--exclude-standard")
	if err := errors.Join(err, errOfAdded); err != nil {
		return change{}, err
	}
	c.files = append(strings.Fields(differ), strings.Fields(added)...)
	slices.Sort(c.files)
	return c, nil
}

func (r *repository) base() (base, why string, err error) {
	if base := os.Getenv("BASE"); base != "" {
		base, err := r.git("rev-parse", "--verify", base+"^{commit}")
		return base, "BASE", err
	}
	head, err := r.git("rev-parse", "HEAD")
	if err != nil {
		return "", "", err
	}
	// An error means that there is no such branch.
	if fork, err := r.git("merge-base", "HEAD", "origin/main"); err == nil && fork != head {
		return fork, "where the branch left origin/main", nil
	}
	text, err := r.git("log", "-1", "--format=%cI")
	if err != nil {
		return "", "", err
	}
	last, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", "", err
	}
	base, err = r.git("log", "-1", "--format=%H", "--before="+last.Add(-settled).Format(time.RFC3339))
	if err == nil && base == "" {
		// Everything is new.
		base, err = r.git("hash-object", "-t", "tree", os.DevNull)
	}
	return base, "the newest commit that is a day older than the last one", err
}
