package idempotent

import (
	"context"
	"time"
)

// shape is how the events of a handler name their key, and how its results are stored and replayed.
type shape[In, Out any] interface {
	// prepare computes the request before any I/O. A nil request without an error needs no protection.
	prepare(ctx context.Context, src *source[In]) (*request, error)
	// answers reports whether out is an answer even if a marked error stands beside it.
	answers(out Out) bool
	// stores reports whether out is a result to keep; storedForm is what is kept of it, and whether that is another
	// value than out.
	stores(out Out) bool
	storedForm(out Out) (stored Out, changed bool)
	// answerForm is a result as it is answered, and whether that is another value than out. expires is until when it is
	// replayed, zero if it is not stored. If replaysBytes, it changes nothing, and the stored JSON can be returned without decoding it.
	answerForm(src *source[In], out Out, expires time.Time, replayed bool) (answer Out, changed bool)
	replaysBytes() bool
	// spliced is answerForm of a result for its JSON, as encodeJSON made it, without decoding it. ok is false if that
	// cannot be done, or if there is nothing to add.
	spliced(src *source[In], text []byte, expires time.Time, replayed bool) (answer []byte, ok bool)
	// problem turns an error of this package into an answer, if the shape has a form for it.
	problem(src *source[In], err error) (Out, bool)
}
