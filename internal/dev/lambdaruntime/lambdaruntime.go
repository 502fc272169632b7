// Package lambdaruntime runs AWS Lambda functions on this machine: it starts the bootstrap binary
// of a function as a child process and serves it the Lambda Runtime API, as the sandboxes of AWS
// do.
//
// A [Sandbox] starts a process for an invocation that finds all others busy, hands it one event at
// a time, keeps it for later ones, and kills it when an invocation is not answered by its deadline.
// Besides, [Sandbox.Kill] kills at any moment.
//
// What differs from AWS: a process is not frozen between invocations, there is no limit on memory
// and on the size of events and responses, and there are no extensions, no streamed responses and
// no traces. A process whose parent is killed ends when it answers, or at once if it waits for an
// event.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html.
package lambdaruntime

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// initLimit is how long a process may take until it asks for its first event.
const initLimit = 10 * time.Second

func (s *Sandbox) name() string { return filepath.Base(s.Bootstrap) }

// environment is that of a process. Of a name that occurs twice the last one counts.
func (s *Sandbox) environment(api string) []string {
	return slices.Concat([]string{"AWS_REGION=us-east-1", "TZ=:UTC"}, s.Environment, []string{
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128",
		"AWS_LAMBDA_FUNCTION_NAME=" + s.name(),
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + s.name(),
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

// process is a bootstrap and the Runtime API that it alone talks to: one life of a sandbox. Nothing
// that is left of an earlier process can reach it.
type process struct {
	sandbox *Sandbox
	cmd     *exec.Cmd
	api     *httptest.Server
	// next hands an event to the process when it asks for one, answered gets what it answers.
	next     chan []byte
	answered chan result
	// exited is closed when the process is reaped and its API has come to rest, and then answered.
	exited chan struct{}
}

// result is a response, or the error that the caller gets instead.
type result struct {
	response []byte
	err      error
}

func (s *Sandbox) start() (*process, error) {
	p := &process{
		sandbox: s, cmd: exec.Command(s.Bootstrap),
		next: make(chan []byte), answered: make(chan result, 1), exited: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.handleNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{what}", p.handleAnswer)
	p.api = httptest.NewUnstartedServer(mux)
	p.api.Config.ErrorLog = log.New(io.Discard, "", 0) // a killed process leaves broken connections
	p.api.Start()
	p.cmd.Env = s.environment(p.api.Listener.Addr().String())
	p.cmd.Stdout, p.cmd.Stderr = s.output, s.output
	if err := p.cmd.Start(); err != nil {
		p.api.Close()
		return nil, fmt.Errorf("start the function %s: %w", s.name(), err)
	}
	go p.reap()
	return p, nil
}

func (p *process) reap() {
	_ = p.cmd.Wait() // its state says how it ended
	p.api.CloseClientConnections()
	p.api.Close() // waits until no request is being handled
	close(p.exited)
	close(p.answered)
}

// handleNext blocks until there is an event for the process.
func (p *process) handleNext(w http.ResponseWriter, r *http.Request) {
	select {
	case event := <-p.next:
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", rand.Text())
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(p.sandbox.Timeout).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:"+p.sandbox.name())
		_, _ = w.Write(event) // fails if the process was killed, and then its end is the answer
	case <-r.Context().Done(): // the process ended, or dropped the connection to ask again
	}
}

// handleAnswer ends the invocation, the only one that there is, with the body of the request.
func (p *process) handleAnswer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process is gone, and its end is the answer
	}
	answer := result{response: body}
	if r.PathValue("what") != "response" {
		failure := new(FunctionError)
		_ = json.Unmarshal(body, failure) // one in another form has no type
		answer = result{err: failure}
	}
	p.answered <- answer
	write(w, http.StatusAccepted, `{"status":"OK"}`)
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails if the client is gone, or the process was killed
}

// invoke waits for the answer to what the process has taken, and kills it at the deadline.
func (p *process) invoke() ([]byte, error) {
	timeout := p.sandbox.Timeout
	deadline := time.AfterFunc(timeout, func() { _ = p.cmd.Process.Kill() }) // fails if it has ended
	answer, answered := <-p.answered
	switch timely := deadline.Stop(); {
	case answered: // also if the deadline came then
		return answer.response, answer.err
	case timely:
		return nil, p.ended()
	default:
		return nil, timedOut(timeout)
	}
}

// kill sends SIGKILL and waits until the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // likewise
	<-p.exited
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ended says how the process ended before it answered: "signal: killed" or "exit status 1".
func (p *process) ended() *FunctionError {
	return &FunctionError{TypeExited, fmt.Sprintf("Runtime exited with error: %v", p.cmd.ProcessState)}
}
