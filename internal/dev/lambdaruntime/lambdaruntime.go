// Package lambdaruntime runs AWS Lambda functions on this machine, for tests and local fronts: it
// starts the bootstrap binary of a function as a child process and serves it the Lambda Runtime
// API, as the sandboxes of AWS do.
//
// A [Sandbox] does what the service does to processes: it starts one for an invocation that finds
// all others busy, hands it one event at a time, keeps it for later ones, and kills it when an
// invocation is not answered by its deadline. Besides, [Sandbox.Kill] kills at any moment.
//
// What differs from AWS: a process is not frozen between invocations, there is no limit on memory
// and on the size of events and responses, and there are no extensions and no streamed responses. A
// process whose parent is killed ends when it answers, or at once if it waits for an event.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html.
package lambdaruntime

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"
)

// initLimit is how long a process may take until it asks for its first event.
const initLimit = 10 * time.Second

// Function is what a sandbox runs.
type Function struct {
	// Bootstrap is the path of the executable.
	Bootstrap string
	// Name is the name of the function, "function" if empty.
	Name string
	// Environment are the variables of the function, as "NAME=value". The process sees them and
	// what Lambda itself sets, which counts where both set one; it inherits nothing from this
	// process.
	Environment []string
}

func (f Function) name() string { return cmp.Or(f.Name, "function") }

// environment is that of a process. Of a name that occurs twice the last one counts.
func (f Function) environment(api string) []string {
	return slices.Concat([]string{"AWS_REGION=us-east-1", "TZ=:UTC"}, f.Environment, []string{
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128",
		"AWS_LAMBDA_FUNCTION_NAME=" + f.name(),
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + f.name(),
		"AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"_HANDLER=bootstrap",
	})
}

// The types of the errors that the service itself reports for a function.
const (
	// TypeTimedOut: the invocation was not answered by its deadline, and the process was killed.
	TypeTimedOut = "Sandbox.Timedout"
	// TypeExited: the process ended before it answered.
	TypeExited = "Runtime.ExitError"
)

// ErrClosed is returned by an invocation of a closed sandbox.
var ErrClosed = errors.New("lambdaruntime: the sandbox is closed")

// FunctionError is the failure of an invocation: the function reported it, or the service did
// because the function could not.
type FunctionError struct {
	// Type and Message are those of the document that the caller gets, empty if it has none.
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (e *FunctionError) Error() string {
	return fmt.Sprintf("lambdaruntime: function error %s: %s", e.Type, e.Message)
}

func timedOut(after time.Duration) *FunctionError {
	return &FunctionError{TypeTimedOut, fmt.Sprintf("Task timed out after %.2f seconds", after.Seconds())}
}

// accountID is that of every function.
const accountID = "123456789012"

// requestID is a random UUID (RFC 9562, version 4).
func requestID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
