package execution

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

// MarkOf returns the most cautious of all marks in the tree of err, wherever it stands: an effect that may have happened
// outweighs one that certainly did not.
func MarkOf(err error) Mark {
	found := Unmarked
	if m, ok := err.(*markedError); ok { //nolint:errorlint // what it wraps follows
		found = m.mark
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

// Stripped returns the handler's own error value. Lambda reports the outermost type as the error type, and retry rules
// match it, so a mark must not become that type. A mark inside the handler's own wrapping stays where it is.
func Stripped(err error) error {
	for {
		m, ok := err.(*markedError) //nolint:errorlint // only outermost marks are removed
		if !ok {
			return err
		}
		err = m.err
	}
}
