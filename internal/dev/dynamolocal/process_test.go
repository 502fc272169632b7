//go:build unix

package dynamolocal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childOf returns a program that writes its process id into the folder and stays, after a line.
func childOf(folder, line string) []string {
	return []string{"sh", "-c", line + " echo $$ >" + folder + "/new && mv " + folder + "/new " + folder + "/pid; " +
		"while :; do sleep 1; done"}
}

// started waits until the child has told its process id.
func started(t *testing.T, folder string) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(folder, "pid"))
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	}, time.Minute, time.Millisecond)
	require.True(t, alive(pid))
	return pid
}

// TestChildDiesWithItsParent kills a parent in the way that leaves it no time for anything.
func TestChildDiesWithItsParent(t *testing.T) {
	if folder := os.Getenv("DYNAMOLOCAL_PARENT"); folder != "" {
		_, err := launch("", childOf(folder, ""))
		require.NoError(t, err)
		select {}
	}
	t.Parallel()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildDiesWithItsParent$")
	cmd.Env = append(os.Environ(), "DYNAMOLOCAL_PARENT="+folder)
	require.NoError(t, cmd.Start())
	pid := started(t, folder)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 10*time.Millisecond)
}

func TestChildIsStopped(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"politely": "", "although it ignores it": "trap '' TERM;"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			s, err := launch("", childOf(folder, line))
			require.NoError(t, err)
			pid := started(t, folder)
			s.Stop()
			require.False(t, alive(pid))
			s.Stop()
		})
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
