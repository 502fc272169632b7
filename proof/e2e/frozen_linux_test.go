package e2e_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

func TestAFunctionKilledAtItsDeadlineIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.timeout = 2 * time.Second
	o := newOrder(t)
	gate := s.provider.hold(&s.provider.after)
	first := s.reach(gate, o)
	require.NoError(t, freeze(s.sandboxes[0].PID()), "so that it cannot end by itself")
	lost := <-first
	require.NotNil(t, lost.failure, lost)
	assert.Equal(t, lambdaruntime.TypeTimedOut, lost.failure.Type)
	gate.Open()
	s.assertRecovered(o)
}

func TestAConnectionThatDiedWhileTheSandboxWasFrozenCostsNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	require.Equal(t, http.StatusCreated, s.post(newOrder(t)).status)
	require.NoError(t, freeze(s.sandboxes[0].PID()))
	require.NoError(t, s.proxy.Refuse())
	require.NoError(t, s.proxy.Accept())
	require.NoError(t, syscall.Kill(s.sandboxes[0].PID(), syscall.SIGCONT))
	a := s.post(newOrder(t))
	assert.Equal(t, http.StatusCreated, a.status, a)
	assert.Equal(t, 1, s.sandboxes[0].Starts())
}

// freeze stops a process where it stands, as Lambda does between invocations, and waits until all
// of its threads have stopped: a signal takes a moment to reach them. During an invocation the
// deadline goes on.
func freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for began := time.Now(); !stopped(pid); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			return errors.New("the process does not stop")
		}
	}
	return nil
}

func stopped(pid int) bool {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread that has ended
		}
		// The state follows the name, which stands in parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if err != nil || !bytes.HasPrefix(state, []byte("T")) {
			return false
		}
	}
	return true
}
