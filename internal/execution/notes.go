package execution

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"unicode/utf8"
)

// Mark is what a handler says about an error that it returns.
type Mark int

// The marks, the most cautious last.
const (
	// Unmarked: the handler says nothing, and the policies decide.
	Unmarked Mark = iota
	// NotExecuted: nothing happened.
	NotExecuted
	// Terminal: the failure is final and is stored.
	Terminal
	// Uncertain: the downstream may have acted.
	Uncertain
)

// ErrFinal and ErrMayHaveHappened are what errors of the root package that tell of another
// execution answer to in their method Is. A handler that returns one of them has called another
// handler.
var (
	// ErrFinal: that execution ended with a stored failure.
	ErrFinal = errors.New("the failure of another execution is final")
	// ErrMayHaveHappened: that execution may have had its effect.
	ErrMayHaveHappened = errors.New("another execution may have had its effect")
)

// markedError carries a mark beside the handler's error. Its text is that of the error.
type markedError struct {
	err  error
	mark Mark
}

func (e *markedError) Error() string { return e.err.Error() }
func (e *markedError) Unwrap() error { return e.err }

// Marked returns err with a mark. A nil error stays nil.
func Marked(err error, m Mark) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, mark: m}
}

// MarkOf returns the most cautious of all marks in the tree of err, wherever it stands: an effect
// that may have happened outweighs one that certainly did not.
func MarkOf(err error) (found Mark) {
	marked, is := err.(*markedError) //nolint:errorlint // what it wraps follows
	tells, ok := err.(interface{ Is(target error) bool })
	switch {
	case is:
		found = marked.mark
	case ok && tells.Is(ErrMayHaveHappened):
		return Uncertain
	case ok && tells.Is(ErrFinal):
		found = Terminal
	}
	switch wrapper := err.(type) { //nolint:errorlint // the whole tree is walked
	case interface{ Unwrap() error }:
		found = max(found, MarkOf(wrapper.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, e := range wrapper.Unwrap() {
			found = max(found, MarkOf(e))
		}
	}
	return found
}

// Stripped returns the handler's own error value: Lambda reports the outermost type as the error
// type, and retry rules match it. A mark inside the handler's own wrapping stays where it is.
func Stripped(err error) error {
	for {
		switch outer := err.(type) { //nolint:errorlint // only outermost marks are removed
		case *markedError:
			err = outer.err
		case *notedError:
			err = outer.main
		default:
			return err
		}
	}
}

// maxNotes bounds the errors of [Notes].
const maxNotes = 20

// Notes are the errors that a handler notes because it cannot return one. What is beyond 20 is left
// out, unless it is more cautious than all before. Nil takes none; they are safe for concurrent
// use.
type Notes struct {
	mu     sync.Mutex
	closed bool
	all    []error
	mark   Mark // the most cautious of all
}

// Close takes no more errors, or takes them again.
func (n *Notes) Close(closed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = closed
}

// Add takes note of an error.
func (n *Notes) Add(err error) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
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
	all []error
	// main is the one of them that the handler returned, or else the first of the most cautious
	// ones. beside is true if it returned no error: what it returned is its answer.
	main   error
	beside bool
}

func (e *notedError) Error() string   { return errors.Join(e.all...).Error() }
func (e *notedError) Unwrap() []error { return e.all }

// Noted returns the error of a handler that returned err and noted others, nil if there is none.
// The execution that ctx belongs to takes no more of them.
func Noted(ctx context.Context, err error) error {
	p := placeOf(ctx)
	if p == nil || p.claim.Notes == nil {
		return err
	}
	n := p.claim.Notes
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	switch {
	case len(n.all) == 0:
		return err
	case err != nil:
		return &notedError{main: err, all: append([]error{err}, n.all...)}
	default:
		main := slices.MaxFunc(n.all, func(a, b error) int { return cmp.Compare(MarkOf(a), MarkOf(b)) })
		return &notedError{main: main, all: n.all, beside: true}
	}
}

// StandsBeside reports whether err tells only what a handler noted, perhaps that of an inner
// execution, so that what it returned is its answer all the same.
func StandsBeside(err error) bool {
	noted, ok := errors.AsType[*notedError](err)
	return ok && noted.beside
}

// The bounds of [Names]. What is beyond them, or no UTF-8, is left out: a record keeps them, and
// stays small.
const (
	maxNames = 20
	maxName  = 64 // bytes
)

// Names are the names of the derived keys that an execution handed out, for the record of one whose
// outcome is unknown. The zero value has none, and nil takes none. It is safe for concurrent use.
type Names struct {
	mu  sync.Mutex
	all []string // in ascending order
}

// Add takes note of names.
func (n *Names) Add(names ...string) {
	if n == nil || len(names) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		fits := name != "" && len(name) <= maxName && utf8.ValidString(name) && len(n.all) < maxNames
		if i, has := slices.BinarySearch(n.all, name); fits && !has {
			n.all = slices.Insert(n.all, i, name)
		}
	}
}

// Sorted returns the names in ascending order, each once.
func (n *Names) Sorted() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}
