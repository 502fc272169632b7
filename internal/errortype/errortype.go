// Package errortype has the names by which Lambda, and so Step Functions, knows errors of package
// idempotent: it reports the Go type of an error as errorType, by which retries and catches choose.
package errortype

// namedError is an error under another name. Text and errors.Is are those of the error.
type namedError struct{ error }

func (e namedError) Unwrap() error { return e.error }

type (
	CommitError           struct{ namedError }
	CommitFailedError     struct{ namedError }
	CommittedError        struct{ namedError }
	DecodeError           struct{ namedError }
	EncodeError           struct{ namedError }
	InProgressError       struct{ namedError }
	InvalidKeyError       struct{ namedError }
	MismatchError         struct{ namedError }
	MissingKeyError       struct{ namedError }
	MissingTenantError    struct{ namedError }
	RefusedError          struct{ namedError }
	StaleRequestError     struct{ namedError }
	StepError             struct{ namedError }
	StoreUnavailableError struct{ namedError }
	SupersededError       struct{ namedError }
	UnknownOutcomeError   struct{ namedError }
	UnreadableError       struct{ namedError }
	WrappedTwiceError     struct{ namedError }
)

// As gives an error the name of a type.
func As[T interface {
	~struct{ namedError }
	error
}](err error) error {
	return T{namedError{err}}
}
