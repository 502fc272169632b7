package protocol

import (
	"context"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// Work is the handler of one delivery as the protocol sees it.
type Work interface {
	// Execute runs the handler. It sets *returned once the handler has returned: should it panic
	// after that, the effect has happened.
	Execute(ctx context.Context, returned *bool) Ended
	// Answer returns what a completed record keeps of an answer that the handler commits, as
	// Execute does for the one that it returns. problem, and err, say why there is none: it cannot
	// be stored, or is not to be. It changes nothing.
	Answer(answer any) (text []byte, problem string, err error)
	// Resolve asks the resolver what became of an earlier execution under this claim.
	Resolve(ctx context.Context, c execution.Claim) Resolution
}

// Ended is how a handler ended.
type Ended struct {
	// Err is the error that the handler returned, with its marks.
	Err error
	// Keep says that the handler returned a result without an error, and that this result is to be
	// stored.
	Keep bool
	// Untouched says that the handler returned a result which is not to be stored, and which means
	// that nothing has happened.
	Untouched bool
	// Result is the text to store where the record completes: the result, or, if Failure is set,
	// the failure that Err marks as terminal. ResultErr is why there is none.
	Result    []byte
	Failure   bool
	ResultErr error
}

// Resolution is what a resolver found out.
type Resolution struct {
	Finding execution.Finding
	// Result and ResultErr are those of [Ended], of an execution that had its effect.
	Result    []byte
	ResultErr error
}
