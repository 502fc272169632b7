package execution

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// maxNotes bounds the errors of [Notes].
const maxNotes = 20

// Notes are the errors that a handler notes because it cannot return one. What is beyond 20 is left
// out, unless it is more cautious than all before. The zero value takes none until it is opened,
// and nil takes none at all. They are safe for concurrent use.
type Notes struct {
	mu   sync.Mutex
	open bool
	all  []error
	mark Mark // the most cautious of all
}

// NotesOf returns where the execution that a context belongs to notes errors, nil if it belongs to
// none.
func NotesOf(ctx context.Context) *Notes {
	if c, ok := ctx.Value(claimKey{}).(*Claim); ok {
		return c.Notes
	}
	return nil
}

// Open begins to take errors.
func (n *Notes) Open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
}

// Add takes note of an error.
func (n *Notes) Add(err error) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open {
		return
	}
	mark := MarkOf(err)
	switch {
	case len(n.all) < maxNotes:
		n.all = append(n.all, err)
	case mark > n.mark:
		n.all[maxNotes-1] = err
	}
	n.mark = max(n.mark, mark)
}

// Close takes no more errors, and returns those that were noted, in their order.
func (n *Notes) Close() []error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = false
	return n.all
}

// All returns the errors that were noted so far, in their order.
func (n *Notes) All() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// Mark returns the most cautious mark of all errors that were noted so far.
func (n *Notes) Mark() Mark {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mark
}

// notedError is what a handler noted, with the error that it returned.
type notedError struct {
	// main is the error that the handler returned, or else the first of the most cautious ones that
	// it noted. all has both.
	main error
	all  []error
	// beside is true if the handler returned no error: what it returned is its answer.
	beside bool
}

func (e *notedError) Error() string   { return errors.Join(e.all...).Error() }
func (e *notedError) Unwrap() []error { return e.all }

// Noted returns the error of a handler that returned err and noted others, nil if there is none.
func Noted(err error, notes []error) error {
	switch {
	case len(notes) == 0:
		return err
	case err != nil:
		return &notedError{main: err, all: append([]error{err}, notes...)}
	default:
		main := slices.MaxFunc(notes, func(a, b error) int { return cmp.Compare(MarkOf(a), MarkOf(b)) })
		return &notedError{main: main, all: notes, beside: true}
	}
}

// StandsBeside reports whether err tells only what a handler noted, so that what it returned is its
// answer all the same. It may be the handler of an inner execution.
func StandsBeside(err error) bool {
	noted, ok := errors.AsType[*notedError](err)
	return ok && noted.beside
}
