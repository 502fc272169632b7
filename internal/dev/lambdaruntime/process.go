package lambdaruntime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a bootstrap and the Runtime API that it alone talks to: one life of a sandbox. Nothing
// that is left of an earlier process can reach it.
type process struct {
	function Function
	cmd      *exec.Cmd
	api      *httptest.Server
	// next hands an event to the process when it asks for one, answered gets what it answers.
	next     chan invocation
	answered chan result
	// exited is closed when the process is reaped and its API has come to rest.
	exited chan struct{}
}

// invocation is one event on its way to a process.
type invocation struct {
	payload []byte
	timeout time.Duration
}

// result is a response, or the error that the caller gets instead.
type result struct {
	response []byte
	err      error
}

func startProcess(f Function, output *os.File) (*process, error) {
	p := &process{
		function: f, cmd: exec.Command(f.Bootstrap),
		next: make(chan invocation), answered: make(chan result, 1), exited: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.handleNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{what}", p.handleAnswer)
	p.api = httptest.NewUnstartedServer(mux)
	// A killed process leaves broken connections: they are not worth a line.
	p.api.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.api.Start()
	p.cmd.Env = f.environment(p.api.Listener.Addr().String())
	p.cmd.Stdout, p.cmd.Stderr = output, output
	if err := p.cmd.Start(); err != nil {
		p.api.Close()
		return nil, fmt.Errorf("start the function %s: %w", f.name(), err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // its state says how it ended
		p.api.CloseClientConnections()
		p.api.Close() // waits until no request is being handled
	}()
	return p, nil
}

// handleNext blocks until there is an event for the process.
func (p *process) handleNext(w http.ResponseWriter, r *http.Request) {
	select {
	case i := <-p.next:
		now, id := time.Now(), requestID()
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(now.Add(i.timeout).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn",
			"arn:aws:lambda:us-east-1:"+accountID+":function:"+p.function.name())
		trace := strings.ReplaceAll(id, "-", "")
		h.Set("Lambda-Runtime-Trace-Id",
			fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", now.Unix(), trace[:24], trace[16:]))
		_, _ = w.Write(i.payload) // fails if the process was killed, and then its end is the answer
	case <-r.Context().Done(): // the process ended, or dropped the connection to ask again
	}
}

// handleAnswer ends the invocation, the only one that there is, with the body of the request.
func (p *process) handleAnswer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process is gone, and its end is the answer
	}
	if r.PathValue("what") == "response" {
		p.answered <- result{response: body}
	} else {
		failure := new(FunctionError)
		_ = json.Unmarshal(body, failure) // one in another form has no type
		p.answered <- result{err: failure}
	}
	write(w, http.StatusAccepted, `{"status":"OK"}`)
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails if the client is gone, or the process was killed
}

// invoke waits for the answer to what the process has taken, or says what the service then says.
func (p *process) invoke(i invocation) ([]byte, error) {
	var otherwise error
	select {
	case r := <-p.answered:
		return r.response, r.err
	case <-p.exited:
		otherwise = p.ended()
	case <-time.After(i.timeout):
		if err := p.kill(); err != nil {
			return nil, err
		}
		otherwise = timedOut(i.timeout)
	}
	select {
	case r := <-p.answered: // before it was gone
		return r.response, r.err
	default:
		return nil, otherwise
	}
}

// kill sends SIGKILL and waits until the process is gone.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// alive reports whether the process has not ended.
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
