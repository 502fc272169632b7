package idempotent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clockSkew is how far the timestamp of a request may be ahead of our clock.
const clockSkew = time.Minute

// httpDate is the preferred form of an HTTP-date (RFC 9110, section 5.6.7), always in GMT.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// maxUnix bounds timestamps in seconds, in digits. Those in milliseconds have more.
const maxUnix = 11

// requestAge refuses a request whose timestamp is not a recent one. Its record may have expired: it would be executed
// again.
func (s *httpShape[In, Out]) requestAge(r *httpRequest) error {
	name := s.http.TimestampHeader
	if name == "" {
		return nil
	}
	reason := s.http.staleness(r.event.headers.of(name), s.now())
	if reason == "" {
		return nil
	}
	return &StaleRequestError{Operation: s.operation, Source: sourceHeader + name, Reason: reason}
}

// staleness says what is wrong with a timestamp, continuing "the timestamp" and without its value; empty if nothing is.
func (h HTTP) staleness(values []string, now time.Time) string {
	switch len(values) {
	case 0:
		return "is missing"
	case 1:
	default:
		return "was sent more than once"
	}
	at, ok := parseTimestamp(strings.Trim(values[0], " \t"))
	switch {
	case !ok:
		return "is neither Unix time in seconds, nor a time of RFC 3339, nor an HTTP-date, or was sent more than once"
	case reached(at.Add(h.MaxRequestAge), now):
		return "is " + inSeconds(h.MaxRequestAge) + " old or older"
	case !reached(at, now.Add(clockSkew)):
		return "is more than " + inSeconds(clockSkew) + " ahead of the clock"
	default:
		return ""
	}
}

// inSeconds writes a duration for clients, who need not know how Go does.
func inSeconds(d time.Duration) string {
	if d == time.Second {
		return "1 second"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " seconds"
}

// parseTimestamp reads Unix seconds (digits alone), RFC 3339 and the preferred form of HTTP-date. A gateway joins repeated
// headers with a comma; what comes of that is none of them.
func parseTimestamp(text string) (time.Time, bool) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(seconds, 0), err == nil && len(text) <= maxUnix
	}
	for _, layout := range []string{time.RFC3339, httpDate} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func (h HTTP) validateRequestAge() error {
	switch {
	case h.TimestampHeader == "" && h.MaxRequestAge == 0:
		return nil
	case h.TimestampHeader == "":
		return errors.New("WithHTTP: MaxRequestAge needs a TimestampHeader")
	case h.MaxRequestAge == 0:
		return errors.New("WithHTTP: TimestampHeader needs a MaxRequestAge")
	}
	errs := []error{atLeast("WithHTTP", "MaxRequestAge", h.MaxRequestAge, time.Second)}
	is := func(name string) bool { return strings.EqualFold(name, h.TimestampHeader) }
	switch {
	case !isToken(h.TimestampHeader):
		errs = append(errs, fmt.Errorf("WithHTTP: TimestampHeader %q is no header name", h.TimestampHeader))
	case is(h.withDefaults().Header):
		errs = append(errs, fmt.Errorf("WithHTTP: TimestampHeader %q is the header of the key", h.TimestampHeader))
	case slices.ContainsFunc(h.FingerprintHeaders, is):
		errs = append(errs, fmt.Errorf("WithHTTP: TimestampHeader %q is also one of FingerprintHeaders: a retry at another time "+
			"would be another request", h.TimestampHeader))
	}
	return joinProblems(errs...)
}
