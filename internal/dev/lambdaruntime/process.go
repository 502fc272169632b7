package lambdaruntime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// process is a bootstrap and the API that it alone talks to: one life of a sandbox.
type process struct {
	api *api
	cmd *exec.Cmd
	// exited is closed when the process is reaped and its API has come to rest; status says then
	// how it ended, nil for exit code 0.
	exited chan struct{}
	status error
}

func startProcess(f Function, output *os.File) (*process, error) {
	p := &process{api: serveAPI(f), cmd: exec.Command(f.Bootstrap), exited: make(chan struct{})}
	p.cmd.Env = f.environment(p.api.server.Listener.Addr().String())
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = dieWithParent()

	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		p.api.close()
		return nil, fmt.Errorf("start the function %s: %w", f.name(), err)
	}
	return p, nil
}

// live starts the process and waits for its end on one operating system thread: Linux kills a child
// whose death follows its parent's when the thread that started it ends, see prctl(2),
// PR_SET_PDEATHSIG.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	defer close(p.exited)
	p.status = p.cmd.Wait()
	p.api.close()
}

// kill sends SIGKILL and waits until the process is gone, if there is one.
func (p *process) kill() error {
	if p == nil {
		return nil
	}
	err := p.cmd.Process.Kill()
	<-p.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// alive reports whether there is a process that has not ended.
func (p *process) alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ended says how the process ended, "signal: killed" or "exit status 1", to whom it has not
// answered.
func (p *process) ended(requestID string) *FunctionError {
	if p.status == nil {
		return serviceError(TypeExited, requestID, "Runtime exited without providing a reason")
	}
	return serviceError(TypeExited, requestID, "Runtime exited with error: %v", p.status)
}
