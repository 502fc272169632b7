package httpfield

import (
	"math"
	"strconv"
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
		assert.Equal(t, want, RetryAfter(d), d)
	}
}

func TestSecondsAreWrittenForClients(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Second: "1 second", 1500 * time.Millisecond: "1.5 seconds", time.Minute: "60 seconds",
		23 * time.Hour: "82800 seconds",
		0:              "0 seconds",
	} {
		assert.Equal(t, want, Seconds(d))
	}
}

func TestTimestampHasOneOfThreeForms(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	for text, want := range map[string]time.Time{
		at.Format(time.RFC3339Nano):                                      at,
		at.In(time.FixedZone("", -3*3600-1800)).Format(time.RFC3339Nano): at,
		strconv.FormatInt(at.Unix(), 10):                                 at.Truncate(time.Second),
		at.Format(Date):                                                  at.Truncate(time.Second),
		"Sun, 06 Nov 1994 08:49:37 GMT": time.Date(1994, 11, 6, 8, 49,
			37, 0, time.UTC),
		"0":                    time.Unix(0, 0),
		"99999999999":          time.Unix(99999999999, 0),
		"0001-01-01T00:00:00Z": {},
	} {
		got, ok := ParseTimestamp(text)
		assert.True(t, ok, text)
		assert.True(t, want.Equal(got), "%s: %v", text, got)
	}
	for _, text := range []string{
		"", " ", "now", "-1", "+1767323045", "1767323045.5", strconv.FormatInt(at.UnixMilli(), 10), "100000000000",
		"99999999999999999999999",
		"0x6957", "٢٠٢٦", at.Format(time.DateOnly), at.Format(time.DateTime), at.Format("2006-01-02T15:04:05"),
		at.Format(time.RFC1123Z),
		at.Format(time.RFC850), "1767323045,1767323045", at.Format(time.RFC3339) + ", " + at.Format(time.RFC3339),
		at.Format(Date) + ", " + at.Format(Date), " " + at.Format(time.RFC3339),
	} {
		_, ok := ParseTimestamp(text)
		assert.False(t, ok, text)
	}
}
