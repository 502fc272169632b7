package lambdaruntime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// outputDelay is how long the output of a process that has ended is waited for, if a child of its own holds it open.
const outputDelay = time.Second

// process is a bootstrap and the API that it alone talks to: one life of a sandbox.
type process struct {
	api *api
	cmd *exec.Cmd
	// exited is closed when the process is reaped and its API has come to rest; status says then how it ended, nil
	// for exit code 0.
	exited chan struct{}
	status error
}

func startProcess(f Function, logs *logs) (*process, error) {
	a, err := serveAPI(f)
	if err != nil {
		return nil, err
	}
	p := &process{api: a, cmd: exec.Command(f.Bootstrap), exited: make(chan struct{})}
	p.cmd.Env = f.environment(a.address)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = logs, logs, outputDelay
	p.cmd.SysProcAttr = dieWithParent()

	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("start the function %s: %w", f.name(), err), a.close())
	}
	return p, nil
}

// live starts the process and waits for its end on one operating system thread: Linux kills a child whose death follows
// its parent's when the thread that started it ends, see prctl(2), PR_SET_PDEATHSIG.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	defer close(p.exited)
	p.status = errors.Join(ignoreDelay(p.cmd.Wait()), p.api.close())
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

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ignoreDelay leaves out that a grandchild held the output open: the process itself ended well.
func ignoreDelay(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// logs collects what the processes of a sandbox write. It is safe for concurrent use.
type logs struct {
	mu   sync.Mutex
	text []byte
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
