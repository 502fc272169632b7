package lambdaruntime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

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
	output, err := logs.open()
	if err != nil {
		return nil, err
	}
	a, err := serveAPI(f)
	if err != nil {
		return nil, err
	}
	p := &process{api: a, cmd: exec.Command(f.Bootstrap), exited: make(chan struct{})}
	p.cmd.Env = f.environment(a.address)
	p.cmd.Stdout, p.cmd.Stderr = output, output
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
	p.status = errors.Join(p.cmd.Wait(), p.api.close())
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

// logs keeps what the processes of a sandbox write. They write to a file, not to a pipe: what a process has written before it answers is there when
// its answer is. It is safe for concurrent use.
type logs struct {
	mu   sync.Mutex
	file *os.File
	// kept is what the file had when it was closed.
	kept []byte
}

// open returns the file for a process.
func (l *logs) open() (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		file, err := os.CreateTemp("", "function-*.log")
		if err != nil {
			return nil, fmt.Errorf("a file for what the function writes: %w", err)
		}
		l.file = file
	}
	return l.file, nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := l.text()
	if err != nil {
		return fmt.Sprintf("what the function wrote cannot be read: %v", err)
	}
	return string(text)
}

func (l *logs) text() ([]byte, error) {
	if l.file == nil {
		return l.kept, nil
	}
	return os.ReadFile(l.file.Name())
}

// close removes the file. What was written is kept.
func (l *logs) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	text, err := l.text()
	l.kept = text
	err = errors.Join(err, l.file.Close(), os.Remove(l.file.Name()))
	l.file = nil
	return err
}
