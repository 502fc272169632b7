package lambdaruntime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

// assertGone checks that a process has ended.
func assertGone(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	assert.ErrorIs(t, p.Signal(syscall.Signal(0)), os.ErrProcessDone, "process %d", pid)
}

func TestAFunctionAnswersOneEventAfterTheOther(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	for _, text := range []string{"one", "two", "three"} {
		response, err := invoke(t, s, event{Do: "echo", Text: text})
		require.NoError(t, err)
		assert.JSONEq(t, `"`+text+`"`, string(response))
	}
	assert.Equal(t, 1, s.Starts(), "one process served them all")
}

// What a process has written before it answers is in the logs when its answer is there, and when
// the sandbox is closed.
func TestLogsAreThereWhenTheAnswerIs(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	for n := range 200 {
		text := fmt.Sprint("number ", n)
		_, err := invoke(t, s, event{Do: "echo", Text: text})
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(s.Logs(), "doing echo "+text+"\n"))
	}
	written := s.Logs()
	s.Close()
	assert.Equal(t, written, s.Logs())
}

func TestAFunctionSeesWhatLambdaTellsIt(t *testing.T) {
	t.Setenv("NOT_FOR_THE_FUNCTION", "secret")
	s := sandbox(t, "COLOUR=blue")
	v, name := look(t, s), filepath.Base(s.Bootstrap)

	assert.Contains(t, v.Environment, "COLOUR=blue")
	assert.Contains(t, v.Environment, "AWS_LAMBDA_FUNCTION_NAME="+name)
	assert.NotContains(t, strings.Join(v.Environment, "\n"), "NOT_FOR_THE_FUNCTION", "nothing is inherited")
	assert.Equal(t, "arn:aws:lambda:us-east-1:123456789012:function:"+name, v.Context.InvokedFunctionArn)
	assert.NotEmpty(t, v.Context.AwsRequestID)
	assert.InDelta(t, time.Minute, v.Left, float64(10*time.Second), "the deadline is the timeout from now")
}

func TestAFailureIsAFunctionErrorAndTheNextEventIsServed(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]struct {
		kind, message string
		starts        int
	}{
		"fail":  {"customError", "no stock", 1}, // the process goes on
		"panic": {"string", "no stock", 2},
		"exit":  {lambdaruntime.TypeExited, "exit status 7", 2},
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			s := sandbox(t)
			_, err := invoke(t, s, event{Do: do, Text: "no stock"})
			e := functionError(t, err)
			assert.Equal(t, want.kind, e.Type)
			assert.Contains(t, e.Message, want.message)
			_, err = invoke(t, s, event{Do: "echo"})
			require.NoError(t, err)
			assert.Equal(t, want.starts, s.Starts())
		})
	}
}

func TestAnInvocationIsKilledAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	before := look(t, s) // so that no start is measured
	started := time.Now()
	s.Timeout = 300 * time.Millisecond
	_, err := invoke(t, s, event{Do: "hang"})
	took := time.Since(started)
	e := functionError(t, err)
	assert.Equal(t, lambdaruntime.TypeTimedOut, e.Type)
	assert.Contains(t, e.Message, "Task timed out after 0.30 seconds")
	assert.GreaterOrEqual(t, took, 300*time.Millisecond)
	assert.Less(t, took, time.Minute)
	assertGone(t, before.PID)

	s.Timeout = time.Minute
	_, err = invoke(t, s, event{Do: "echo"})
	require.NoError(t, err)
	assert.Equal(t, 2, s.Starts(), "the next event gets a new process")
}

func TestKillEndsARunningInvocation(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	before := look(t, s)
	result := invoking(t, s, event{Do: "hang"})
	hangs(t, s)
	s.Kill()
	e := functionError(t, <-result)
	assert.Equal(t, lambdaruntime.TypeExited, e.Type)
	assert.Contains(t, e.Message, "signal: killed")
	assertGone(t, before.PID)

	assert.NotEqual(t, before.PID, look(t, s).PID)
}

func TestKillOfAnIdleSandboxCostsTheNextEventOnlyAStart(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	s.Kill() // nothing runs yet
	first := look(t, s)
	s.Kill()
	s.Kill() // again
	assertGone(t, first.PID)
	look(t, s)
	assert.Equal(t, 2, s.Starts())
}

func TestEndedTellsWhatAProcessUsed(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	assert.Nil(t, s.Ended(), "there was none")
	assert.Zero(t, s.PID())
	_, err := invoke(t, s, event{Do: "echo"})
	require.NoError(t, err)
	assert.Nil(t, s.Ended(), "it runs")
	running := s.PID()
	assert.Positive(t, running)
	s.Kill()
	assert.Zero(t, s.PID())
	assert.Equal(t, running, s.Ended().Pid())
	assert.Equal(t, "signal: killed", s.Ended().String())
	assert.Positive(t, s.Ended().UserTime()+s.Ended().SystemTime())
}

func TestKillWhileTheProcessStartsFailsTheInvocation(t *testing.T) {
	t.Parallel()
	s := sandbox(t, "AT_START=hang")
	result := invoking(t, s, event{Do: "echo"})
	require.Eventually(t, func() bool { return s.Starts() == 1 }, time.Minute, time.Millisecond)
	s.Kill()
	assert.Contains(t, functionError(t, <-result).Message, "signal: killed")
}

func TestAProcessThatCannotStartIsAFunctionErrorEachTime(t *testing.T) {
	t.Parallel()
	s := sandbox(t, "AT_START=exit")
	for range 2 {
		_, err := invoke(t, s, event{Do: "echo"})
		assert.Contains(t, functionError(t, err).Message, "exit status 3")
	}
	assert.Equal(t, 2, s.Starts())
	assert.Eventually(t, func() bool { return strings.Contains(s.Logs(), "cannot start\n") }, time.Minute,
		time.Millisecond)
}

func TestABootstrapThatDoesNotExistIsNoFunctionError(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	s.Bootstrap = t.TempDir() + "/bootstrap"
	_, err := invoke(t, s, event{Do: "echo"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAnInvocationWaitsForNoOther(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	first := invoking(t, s, event{Do: "hang"})
	hangs(t, s)
	for range 2 {
		_, err := invoke(t, s, event{Do: "echo"})
		require.NoError(t, err)
	}
	assert.Equal(t, 2, s.Starts(), "a process that waits is used again")
	s.Kill()
	functionError(t, <-first)
	_, err := invoke(t, s, event{Do: "echo"})
	require.NoError(t, err)
	assert.Equal(t, 3, s.Starts(), "both were killed")
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	s := sandbox(t)
	v := look(t, s)
	result := invoking(t, s, event{Do: "hang"})
	hangs(t, s)
	s.Close()
	assertGone(t, v.PID)
	functionError(t, <-result)

	_, err := invoke(t, s, event{Do: "echo"})
	require.ErrorIs(t, err, lambdaruntime.ErrClosed)
	s.Close() // again
}
