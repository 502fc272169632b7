package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Change is what differs from a commit.
type Change struct {
	// Base is the commit, and Why says why that one.
	Base, Why string
	// Files are those that differ from it, deleted ones included, from the root of the repository.
	Files []string
}

// Git returns what a command of git prints, without the last newline.
func Git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := run(ctx, root, "git", args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Since compares the working tree at root with a commit.
func Since(ctx context.Context, root, base string) (c Change, err error) {
	differ, err := Git(ctx, root, "diff", "--name-only", "--no-renames", base)
	added, errOfAdded := Git(ctx, root, "ls-files", "--others", "--exclude-standard")
	files := append(strings.Fields(differ), strings.Fields(added)...)
	slices.Sort(files)
	return Change{Base: base, Files: files}, errors.Join(err, errOfAdded)
}

// settled is how old a commit is, in seconds, that a change is not a part of, if nothing else says
// where the change begins.
const settled = 24 * 60 * 60

// Latest compares the working tree with where the change began: with BASE, or with where the branch
// left origin/main, or with the newest commit that is a day older than the last one.
func Latest(ctx context.Context, root string) (Change, error) {
	base, why, err := begin(ctx, root)
	if err != nil {
		return Change{}, err
	}
	c, err := Since(ctx, root, base)
	c.Why = why
	return c, err
}

func begin(ctx context.Context, root string) (base, why string, err error) {
	git := func(args ...string) string {
		out, failed := Git(ctx, root, args...)
		err = errors.Join(err, failed)
		return out
	}
	if base := os.Getenv("BASE"); base != "" {
		return git("rev-parse", "--verify", base+"^{commit}"), "BASE", err
	}
	fork, none := Git(ctx, root, "merge-base", "HEAD", "origin/main") // an error is that there is no such branch
	if none == nil && fork != git("rev-parse", "HEAD") {
		return fork, "where the branch left origin/main", err
	}
	last, failed := strconv.Atoi(git("log", "-1", "--format=%ct"))
	base = git("log", "-1", "--format=%H", fmt.Sprint("--before=", last-settled))
	if base == "" {
		// Everything is new.
		base = git("hash-object", "-t", "tree", os.DevNull)
	}
	return base, "the newest commit that is a day older than the last one", errors.Join(err, failed)
}
