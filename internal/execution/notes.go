package execution

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxNotes bounds the errors of [Notes].
const maxNotes = 20

// Notes are the errors that a handler notes because it cannot return one. What is beyond 20 is left out, unless it is more cautious
// than all before. The zero value takes none until it is opened, and nil takes none at all. They are safe for concurrent use.
type Notes struct {
	mu   sync.Mutex
	open bool
	all  []error
	mark Mark // the most cautious of all
}

// NotesOf returns where the execution that a context belongs to notes errors, nil if it belongs to none.
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

// notedError is the error of a handler with those that it noted. Its text is that of all.
type notedError struct {
	main error // the one that the handler returned, or else the first of the most cautious ones
	all  []error
}

func (e *notedError) Error() string   { return errors.Join(e.all...).Error() }
func (e *notedError) Unwrap() []error { return e.all }

// Noted returns the error of a handler that returned err and noted others. It is nil if there is none.
func Noted(err error, notes []error) error {
	switch {
	case len(notes) == 0:
		return err
	case err == nil && len(notes) == 1:
		return notes[0]
	case err == nil:
		err = slices.MaxFunc(notes, func(a, b error) int { return int(MarkOf(a)) - int(MarkOf(b)) })
		return &notedError{main: err, all: notes}
	default:
		return &notedError{main: err, all: append([]error{err}, notes...)}
	}
}
