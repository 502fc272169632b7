package lambdaruntime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

func TestAFrozenProcessMissesItsDeadline(t *testing.T) {
	t.Parallel()
	s := sandbox(t, function())
	require.NoError(t, s.Freeze(), "nothing runs yet")
	require.NoError(t, s.Thaw(), "still nothing")
	before := look(t, s)
	require.NoError(t, s.Freeze())
	_, err := s.Invoke(t.Context(), payload(event{Do: "echo"}), 200*time.Millisecond)
	e := functionError(t, err)
	assert.Equal(t, lambdaruntime.TypeTimedOut, e.Type)
	assert.Contains(t, e.Message, "after 0.20 seconds")
	assertGone(t, before.PID)
}

func TestAProcessGoesOnWhenItIsThawed(t *testing.T) {
	t.Parallel()
	s := sandbox(t, function())
	before := look(t, s)
	require.NoError(t, s.Freeze())
	result := make(chan error, 1)
	go func() {
		_, err := s.Invoke(t.Context(), payload(event{Do: "echo"}), time.Minute)
		result <- err
	}()
	select {
	case err := <-result:
		t.Fatal("a frozen process answered", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, s.Thaw())
	require.NoError(t, <-result)
	assert.Equal(t, before.PID, look(t, s).PID)
}
