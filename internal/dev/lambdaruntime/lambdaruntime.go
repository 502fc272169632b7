// Package lambdaruntime runs AWS Lambda functions on this machine, for tests and local fronts: it starts the bootstrap binary
// of a function as a child process and serves it the Lambda Runtime API, as the sandboxes of AWS do.
//
// A [Sandbox] does what the service does to a process: it starts one for the first invocation, hands it one event at a time,
// keeps it for the next ones, kills it when an invocation is not answered by its deadline, and starts another one for
// the invocation after that. Besides, [Sandbox.Kill] kills it at any moment.
//
// What differs from AWS: a process is not frozen between invocations, there is no limit on memory, and there are no
// extensions and no streamed responses.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html.
package lambdaruntime

import (
	"cmp"
	"slices"
	"time"
)

const (
	// MaxPayload is the largest event of a synchronous invocation, in bytes (6 MB).
	MaxPayload = 6 << 20
	// MaxResponse is the largest response, in bytes: Lambda allows for 100 more than for an event.
	MaxResponse = MaxPayload + 100

	// initLimit is how long a process may take until it asks for its first event.
	initLimit = 10 * time.Second
)

// Function is what the sandboxes of a function have in common.
type Function struct {
	// Bootstrap is the path of the executable.
	Bootstrap string
	// Name is the name of the function, "function" if empty.
	Name string
	// Environment are the variables of the function, as "NAME=value". The process sees them and what Lambda itself sets,
	// which counts where both set one; it inherits nothing from this process.
	Environment []string
}

func (f Function) name() string { return cmp.Or(f.Name, "function") }

// arn is the one that every invocation names.
func (f Function) arn() string {
	return "arn:aws:lambda:us-east-1:123456789012:function:" + f.name()
}

// environment is that of a process. Of a name that occurs twice the last one counts.
func (f Function) environment(api string) []string {
	defaults := []string{
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"LANG=en_US.UTF-8",
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin",
		"TZ=:UTC",
	}
	reserved := []string{
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128",
		"AWS_LAMBDA_FUNCTION_NAME=" + f.name(),
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + f.name(),
		"AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"_HANDLER=bootstrap",
	}
	return slices.Concat(defaults, f.Environment, reserved)
}
