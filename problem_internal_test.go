package idempotent

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRetryAfterIsRoundedUpAndAtLeastASecond(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "1", -1: "1", 0: "1", 1: "1", time.Second - 1: "1", time.Second: "1", time.Second + 1: "2",
		90 * time.Second: "90", math.MaxInt64: "9223372037", math.MinInt64: "1",
	} {
		assert.Equal(t, want, retryAfter(d), d)
	}
}
