package lambdaruntime

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The types of the errors that the service itself reports for a function.
const (
	// TypeTimedOut: the invocation was not answered by its deadline, and the process was killed.
	TypeTimedOut = "Sandbox.Timedout"
	// TypeExited: the process ended before it answered.
	TypeExited = "Runtime.ExitError"
	// TypeResponseTooLarge: the response exceeds [MaxResponse].
	TypeResponseTooLarge = "Function.ResponseSizeTooLarge"
)

var (
	// ErrPayloadTooLarge is returned for an event beyond [MaxPayload]. The function was not invoked.
	ErrPayloadTooLarge = errors.New("lambdaruntime: the event is larger than 6 MB")
	// ErrClosed is returned by an invocation of a closed sandbox.
	ErrClosed = errors.New("lambdaruntime: the sandbox is closed")
)

// FunctionError is the failure of an invocation: the function reported it, or the service did
// because the function could not.
type FunctionError struct {
	// Type and Message are those of the payload, empty if it holds none.
	Type, Message string
	// Payload is the document that the caller gets.
	Payload []byte
}

func (e *FunctionError) Error() string {
	return fmt.Sprintf("lambdaruntime: function error %s: %s", e.Type, e.Message)
}

// serviceError is what the service reports for an invocation.
func serviceError(kind, requestID, format string, args ...any) *FunctionError {
	message := fmt.Sprintf("RequestId: %s Error: %s", requestID, fmt.Sprintf(format, args...))
	payload := fmt.Appendf(nil, `{"errorType":%q,"errorMessage":%q}`, kind, message)
	return &FunctionError{Type: kind, Message: message, Payload: payload}
}

func timedOut(requestID string, after time.Duration) *FunctionError {
	return serviceError(TypeTimedOut, requestID, "Task timed out after %.2f seconds", after.Seconds())
}

// exited says how a process ended: "signal: killed", "exit status 1".
func exited(requestID string, status error) *FunctionError {
	if status == nil {
		return serviceError(TypeExited, requestID, "Runtime exited without providing a reason")
	}
	return serviceError(TypeExited, requestID, "Runtime exited with error: %v", status)
}

// reported is an error that the function sent. Any payload is passed on; one in another form has no
// type.
func reported(payload []byte) *FunctionError {
	var d struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal(payload, &d); err != nil {
		return &FunctionError{Payload: payload}
	}
	return &FunctionError{Type: d.ErrorType, Message: d.ErrorMessage, Payload: payload}
}

// invocation is one event on its way through a sandbox.
type invocation struct {
	id      string
	payload []byte
	timeout time.Duration

	// delivered gets the deadline when a process takes the event: the time it needs to start does not
	// count.
	delivered chan time.Time
	// answered gets what the process answers.
	answered chan result
	// finished is closed when result is set.
	finished chan struct{}
	result   result
}

// result is a response, or the error that the caller gets instead.
type result struct {
	response []byte
	err      error
}

func newInvocation(payload []byte, timeout time.Duration) *invocation {
	return &invocation{
		id: requestID(), payload: payload, timeout: timeout,
		delivered: make(chan time.Time, 1), answered: make(chan result, 1), finished: make(chan struct{}),
	}
}

func (i *invocation) deliver() time.Time {
	deadline := time.Now().Add(i.timeout)
	i.delivered <- deadline
	return deadline
}

// answerOr returns the answer of a process that is gone, or else what the service says in its place.
func (i *invocation) answerOr(otherwise *FunctionError) result {
	select {
	case r := <-i.answered:
		return r
	default:
		return result{err: otherwise}
	}
}

// requestID is a random UUID (RFC 9562, version 4).
func requestID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
