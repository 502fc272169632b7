package httpfield

import (
	"strconv"
	"strings"
	"time"
)

// Date is the layout of an HTTP-date in its preferred form (RFC 9110, section 5.6.7). An HTTP-date
// is always in GMT: convert a time to UTC before you format it.
const Date = "Mon, 02 Jan 2006 15:04:05 GMT"

// maxUnixDigits is the length of the longest timestamp in seconds. A timestamp in milliseconds has
// more digits.
const maxUnixDigits = 11

// ParseTimestamp reads Unix time in seconds (digits alone), a time of RFC 3339, or an HTTP-date in
// its preferred form. It reports false for anything else, such as Unix time in milliseconds. A
// gateway joins repeated headers with a comma; the result is none of the three forms.
func ParseTimestamp(text string) (time.Time, bool) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(seconds, 0), err == nil && len(text) <= maxUnixDigits
	}
	for _, layout := range []string{time.RFC3339, Date} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Seconds writes a duration in seconds, with its unit. Clients need not know how Go writes
// durations.
func Seconds(d time.Duration) string {
	if d == time.Second {
		return "1 second"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " seconds"
}

// RetryAfter is the value of a Retry-After header (RFC 9110, section 10.2.3): whole seconds,
// rounded up, at least one.
func RetryAfter(d time.Duration) string {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(max(seconds, 1), 10)
}
