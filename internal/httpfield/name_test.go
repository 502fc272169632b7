package httpfield

import (
	"strings"
	"testing"

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

// spelled calls with a name in several spellings.
func spelled(name string, call func(string)) {
	call(name)
	call(strings.ToUpper(name))
	call(strings.ToLower(name))
}

func TestHeadersWithAMeaning(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Connection", "Accept", "Authorization", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Type",
		"Cookie", "Date", "ETag", "Expires",
		"Forwarded", "Host", "Location", "Origin", "Referer", "Retry-After", "Server", "Set-Cookie",
		"User-Agent", "Vary", "Via",
		"WWW-Authenticate", "X-API-Key", "X-Amzn-Trace-Id", "X-Forwarded-For", "Idempotent-Replayed",
	} {
		spelled(name, func(name string) { assert.True(t, HasMeaning(name), name) })
	}
	for _, name := range []string{
		"", "-", "Idempotency-Key", "Idempotency-Key-Expires", "X-Connection", "Accepts",
		"X-Request-Id",
	} {
		spelled(name, func(name string) { assert.False(t, HasMeaning(name), name) })
	}
}

func TestConnectionHeaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade",
	} {
		spelled(name, func(name string) { assert.True(t, IsConnection(name), name) })
	}
	for _, name := range []string{"", "Date", "Content-Length", "X-TE", "Trailers"} {
		spelled(name, func(name string) { assert.False(t, IsConnection(name), name) })
	}
}

func TestUnsteadyHeadersDifferBetweenTries(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "Cookie", "Date", "traceparent", "tracestate", "Via", "X-Amz-Cf-Id", "X-Amz-Date",
		"X-Amz-Security-Token",
		"X-Amzn-Trace-Id", "X-Forwarded-For", "X-Request-Id",
	} {
		spelled(name, func(name string) { assert.True(t, Unsteady(name), name) })
	}
	for _, name := range []string{"", "Accept-Language", "Content-Type", "X-Tenant"} {
		spelled(name, func(name string) { assert.False(t, Unsteady(name), name) })
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
