package protocol_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// deadlines are those of functions and of Managed Instances, which run up to 90 minutes.
var deadlines = []time.Duration{
	time.Minute, 14 * time.Minute, 16 * time.Minute, 59 * time.Minute, 61 * time.Minute, 89 * time.Minute,
}

// renewedLease says whether the lease of such an invocation is the short one.
func renewedLease(deadline time.Duration) bool { return concurrent() || deadline > 15*time.Minute }

func concurrent() bool { return os.Getenv("AWS_LAMBDA_MAX_CONCURRENCY") != "" }

// TestAProcessThatDiesFreesItsKeyALeaseLater kills a process at every minute of its invocation, and
// never in the instant of a renewal, which would be on its way or not. The key is free as soon as
// its lease has ended, and not before.
func TestAProcessThatDiesFreesItsKeyALeaseLater(t *testing.T) {
	for _, deadline := range deadlines {
		for killed := 33 * time.Second; killed < deadline; killed += time.Minute {
			t.Run(fmt.Sprintf("%v of %v", killed, deadline), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { freedALeaseAfter(t, killed, deadline) })
			})
		}
	}
}

func freedALeaseAfter(t *testing.T, killed, deadline time.Duration) {
	t.Helper()
	start := time.Now()
	var dead atomic.Bool
	gone := make(chan struct{})
	s := newShopOn(t, memory.New(), func(storetest.Call) storetest.Fault {
		if dead.Load() {
			return storetest.LoseRequest
		}
		return storetest.Pass
	})
	s.do = func(context.Context, order) (receipt, error) {
		<-gone
		return receipt{}, nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.handleFor(deadline, 1)
	}()
	time.Sleep(killed)
	dead.Store(true)

	lease := s.mustRecord().Lease
	if renewedLease(deadline) {
		assert.LessOrEqual(t, time.Until(lease), idempotent.DefaultLease)
		assert.Greater(t, time.Until(lease), idempotent.DefaultLease/2)
	} else {
		assert.Equal(t, start.Add(deadline+idempotent.DefaultMargin).UnixMilli(), lease.UnixMilli())
	}
	other := s.sandbox(nil)
	time.Sleep(time.Until(lease) - time.Second)
	other.mustFailFor(deadline, 1, idempotent.ErrInProgress)
	time.Sleep(time.Until(lease))
	other.mustHandleFor(deadline, 1)
	assertExecuted(t, s, 2)
	close(gone)
	<-done
}

// TestTheHandlerEndsBeforeItsDeadline: there is time to store the answer, however far the deadline
// is.
func TestTheHandlerEndsBeforeItsDeadline(t *testing.T) {
	for _, deadline := range deadlines {
		bubble(t, deadline.String(), func(t *testing.T) {
			s := newShop(t)
			end := time.Now().Add(deadline)
			s.do = func(ctx context.Context, _ order) (receipt, error) {
				<-ctx.Done()
				assert.Equal(t, idempotent.DefaultReserve, time.Until(end))
				assert.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
				return receipt{Charge: 7}, nil
			}
			s.mustHandleFor(deadline, 1)
			assert.Equal(t, store.StatusCompleted, s.mustRecord().Status)
		})
	}
}

// TestLeasesWhereSeveralInvocationsRunInAProcess runs the tests of this file in a process that
// Lambda tells to run ten invocations at once.
func TestLeasesWhereSeveralInvocationsRunInAProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), self, "-test.v",
		"-test.run=^(TestAProcessThatDiesFreesItsKeyALeaseLater|TestTheHandlerEndsBeforeItsDeadline)$")
	run.Env = append(os.Environ(), "AWS_LAMBDA_MAX_CONCURRENCY=10")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestAProcessThatDiesFreesItsKeyALeaseLater/33s_of_14m0s")
	assert.Equal(t, len(deadlines), strings.Count(string(out), "--- PASS: TestTheHandlerEndsBeforeItsDeadline/"))
}
