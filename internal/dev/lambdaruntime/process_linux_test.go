package lambdaruntime_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// assertGone checks that a process has ended and was reaped.
func assertGone(t *testing.T, pid int) {
	t.Helper()
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	assert.ErrorIs(t, err, os.ErrNotExist, "process %d", pid)
}

func TestAFunctionDiesWithTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	parent := exec.Command(executable)
	parent.Env = append(os.Environ(), parentVariable+"=1")
	stdout, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	require.True(t, running(pid))

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	if !assert.Eventually(t, func() bool { return !running(pid) }, time.Minute, time.Millisecond) {
		assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// running reports whether a process exists and is not a zombie, which is what an orphan becomes
// where nobody reaps it.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the name, which stands in parentheses.
	_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return found && state[0] != 'Z'
}
