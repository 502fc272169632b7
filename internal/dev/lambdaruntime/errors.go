package lambdaruntime

import (
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

// FunctionError is the failure of an invocation: the function reported it, or the service did because the function could
// not. The caller of a real function gets it with the header X-Amz-Function-Error.
type FunctionError struct {
	// Type and Message are those of the payload, empty if it holds none.
	Type, Message string
	// Payload is the document that the caller gets.
	Payload []byte
}

func (e *FunctionError) Error() string {
	return fmt.Sprintf("lambdaruntime: function error %s: %s", e.Type, e.Message)
}

// document is the standard form of an error.
type document struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// serviceError is what the service reports for an invocation.
func serviceError(kind, requestID, format string, args ...any) *FunctionError {
	message := fmt.Sprintf("RequestId: %s Error: %s", requestID, fmt.Sprintf(format, args...))
	payload, err := json.Marshal(document{Type: kind, Message: message})
	if err != nil {
		panic(err) // two strings always have a JSON form
	}
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

// reported is an error that the function sent. Any payload is passed on; one in another form has no type.
func reported(payload []byte) *FunctionError {
	e := &FunctionError{Payload: payload}
	var d document
	if err := json.Unmarshal(payload, &d); err == nil {
		e.Type, e.Message = d.Type, d.Message
	}
	return e
}
