//go:build unix

package dynamolocal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// child is a program that says its process id and stays.
var child = []string{"sh", "-c", "echo pid $$; exec sleep 300"}

// TestChildDiesWithItsParent kills a parent in the way that leaves it no time for anything.
func TestChildDiesWithItsParent(t *testing.T) {
	if os.Getenv("DYNAMOLOCAL_ROLE") == "parent" {
		p, err := startProcess(child)
		require.NoError(t, err)
		fmt.Println(said(t, p))
		select {}
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildDiesWithItsParent$")
	cmd.Env = append(os.Environ(), "DYNAMOLOCAL_ROLE=parent")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid := pidIn(t, line)
	require.True(t, alive(pid))

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 10*time.Millisecond)
}

func TestChildIsStopped(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"politely":               child,
		"although it ignores it": {"sh", "-c", "trap '' TERM; echo pid $$; while :; do sleep 1; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := startProcess(args)
			require.NoError(t, err)
			pid := pidIn(t, said(t, p))
			require.NoError(t, p.stop())
			require.False(t, alive(pid))
			require.NoError(t, p.stop())
		})
	}
}

func TestChildThatEndsByItself(t *testing.T) {
	t.Parallel()
	p, err := startProcess([]string{"sh", "-c", "echo done"})
	require.NoError(t, err)
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		t.Fatal("its end was not seen")
	}
	require.Equal(t, "done\n", p.output.tail())
	require.NoError(t, p.stop())
}

func TestOutputThatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	var b tailBuffer
	for range 10 {
		_, err := b.Write([]byte(strings.Repeat("x", outputKept-1) + "."))
		require.NoError(t, err)
	}
	require.Len(t, b.tail(), outputKept)
	require.True(t, strings.HasSuffix(b.tail(), "x."))
}

// said waits until the child has said its process id.
func said(t *testing.T, p *process) string {
	t.Helper()
	require.Eventually(t, func() bool { return strings.HasSuffix(p.output.tail(), "\n") }, time.Minute,
		time.Millisecond)
	return p.output.tail()
}

func pidIn(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), "pid "))
	require.NoError(t, err)
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
