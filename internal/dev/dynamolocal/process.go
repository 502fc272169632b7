package dynamolocal

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// errExited is returned when the server ended before it answered.
var errExited = errors.New("DynamoDB Local ended before it answered")

const (
	outputKept = 4 << 10
	// outputDelay is how long the output of a process that has ended is waited for.
	outputDelay = time.Second

	// guard runs its arguments as a child and ends that child when standard input closes, which is
	// when the process on the other end calls stop, ends or is killed: the kernel closes the pipe
	// in every case. A child that ignores the request to end is killed after five seconds.
	guard = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{
	cat
	kill "$child"
	for _ in 1 2 3 4 5; do
		sleep 1
		kill -0 "$child" || exit 0
	done
	kill -9 "$child"
} <&3 3<&- >/dev/null 2>&1 &
exec 3<&-
wait "$child"
`
)

// process is a child that does not outlive this process, except on Windows, which has no shell to
// guard it.
type process struct {
	end    func() error  // asks the child to end
	exited chan struct{} // closed when the child is gone
	// output is the end of what the child has written. It may be read when the child is gone.
	output tail
}

func startProcess(args []string) (*process, error) {
	guarded := runtime.GOOS != "windows"
	if guarded {
		args = append([]string{"sh", "-c", guard, "sh"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // it lives until stop
	p := &process{exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &p.output, &p.output, outputDelay
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if p.end = cmd.Process.Kill; guarded {
		p.end = stdin.Close
	}
	go func() {
		defer close(p.exited)
		// How it ended says nothing: a signal ends it. One that ended by itself is told by its
		// output.
		_ = cmd.Wait()
	}()
	return p, nil
}

// stop ends the child and waits until it is gone. Calling it again has no effect.
func (p *process) stop() error {
	err := p.end()
	<-p.exited
	if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// tail keeps the last bytes written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-outputKept):]
	return len(p), nil
}
