//go:build !linux

package lambdaruntime_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// assertGone checks that a process has ended.
func assertGone(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	assert.ErrorIs(t, p.Signal(syscall.Signal(0)), os.ErrProcessDone, "process %d", pid)
}
