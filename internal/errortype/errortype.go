// Package errortype has the names by which Lambda, and so Step Functions, knows errors of package idempotent: it
// reports the Go type of an error as errorType, by which retries and catches choose.
package errortype

// Of is an error under another name. Text and errors.Is are those of the error.
type Of struct{ error }

// Unwrap returns the error.
func (o Of) Unwrap() error { return o.error }

// The names.
type (
	CommitError           struct{ Of }
	CommitFailedError     struct{ Of }
	CommittedError        struct{ Of }
	DecodeError           struct{ Of }
	EncodeError           struct{ Of }
	InProgressError       struct{ Of }
	InvalidKeyError       struct{ Of }
	MismatchError         struct{ Of }
	MissingKeyError       struct{ Of }
	MissingTenantError    struct{ Of }
	RefusedError          struct{ Of }
	StaleRequestError     struct{ Of }
	StepError             struct{ Of }
	StoreUnavailableError struct{ Of }
	SupersededError       struct{ Of }
	UnknownOutcomeError   struct{ Of }
	UnreadableError       struct{ Of }
	WrappedTwiceError     struct{ Of }
)

// As gives an error the name of a type.
func As[T interface {
	~struct{ Of }
	error
}](err error) error {
	return T{Of{err}}
}
