package httpfield

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTokenIsAHeaderNameOrAMethod(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"Idempotency-Key", "x", "POST", "!#$%&'*+-.^_`|~", "09AZaz"} {
		assert.True(t, IsToken(s), s)
	}
	for _, s := range []string{
		"", "a b", "a:", "a\x00", "a/b", "ä", `"a"`, "a,b", "a;b", "[a]", "{a}", "a@b", "(a)",
		"a=b", "a\\b", "a?", "<a>", "a\x7f",
	} {
		assert.False(t, IsToken(s), s)
	}
}

// What headers mean, in every spelling.
func TestMeaningsOfHeaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		is       func(name string) bool
		yes, not []string
	}{
		"a meaning": {HasMeaning, []string{
			"Connection", "Accept", "Authorization", "Cache-Control", "Content-Encoding", "Content-Length",
			"Content-Type", "Cookie", "Date", "ETag", "Expires", "Forwarded", "Host", "Location", "Origin", "Referer",
			"Retry-After", "Server", "Set-Cookie", "User-Agent", "Vary", "Via", "WWW-Authenticate", "X-API-Key",
			"X-Amzn-Trace-Id", "X-Forwarded-For", "Idempotent-Replayed",
		}, []string{
			"", "-", "Idempotency-Key", "Idempotency-Key-Expires", "X-Connection", "Accepts", "X-Request-Id",
		}},
		"of a connection": {IsConnection, []string{
			"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE",
			"Trailer", "Transfer-Encoding", "Upgrade",
		}, []string{"", "Date", "Content-Length", "X-TE", "Trailers"}},
		"unsteady": {Unsteady, []string{
			"Authorization", "Cookie", "Date", "traceparent", "tracestate", "Via", "X-Amz-Cf-Id", "X-Amz-Date",
			"X-Amz-Security-Token", "X-Amzn-Trace-Id", "X-Forwarded-For", "X-Request-Id",
		}, []string{"", "Accept-Language", "Content-Type", "X-Tenant"}},
	} {
		for i, header := range append(c.yes, c.not...) {
			for _, spelling := range []string{header, strings.ToUpper(header), strings.ToLower(header)} {
				assert.Equal(t, i < len(c.yes), c.is(spelling), "%s: %s", name, spelling)
			}
		}
	}
}

func TestLoweredNamesAreASortedCopy(t *testing.T) {
	t.Parallel()
	names := []string{"X-B", "accept", "X-A"}
	assert.Equal(t, []string{"accept", "x-a", "x-b"}, Lowered(names))
	assert.Equal(t, []string{"X-B", "accept", "X-A"}, names)
	assert.Empty(t, Lowered(nil))
	assert.True(t, IsOneOf(names, "x-b"))
	assert.False(t, IsOneOf(names, "x-c"))
}

func TestMediaTypesOfJSON(t *testing.T) {
	t.Parallel()
	for _, media := range []string{
		"", " ", "application/json", "Application/JSON ; charset=utf-8", "text/json", " application/json\t",
		"application/vnd.shop.v1+json",
		"application/merge-patch+JSON;q=1", ";charset=utf-8",
	} {
		assert.True(t, IsJSON(media), media)
	}
	for _, media := range []string{
		"text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "application/x-ndjson",
		"text/plain; a=+json",
		"application/json, text/plain", "multipart/mixed",
	} {
		assert.False(t, IsJSON(media), media)
	}
}

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
