package idempotent

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// replayedHeader marks a replay. It is never stored, also not where a handler passes on the response of another service.
const replayedHeader = "Idempotent-Replayed"

const headerTrue = "true"

// expiresHeader is the default of [HTTP.ExpiresHeader].
const expiresHeader = "Idempotency-Key-Expires"

// noHeader as the name of a header that we send says that we do not.
const noHeader = "-"

// answers reports whether the handler made a response at all: an error beside an empty one stands alone.
func (s *httpShape[In, Out]) answers(out Out) bool { return s.family.response(out).status != 0 }

// stores goes by status. A response without a proper one is never stored: the gateway makes a server error of it.
func (s *httpShape[In, Out]) stores(out Out) bool {
	status := s.family.response(out).status
	stores := s.http.Profile.stores
	if s.http.StoreStatus != nil {
		stores = s.http.StoreStatus
	}
	return status >= 200 && status <= 599 && stores(status)
}

func (*httpShape[In, Out]) replaysBytes() bool { return false }

// storedForm leaves out what must not be replayed.
func (s *httpShape[In, Out]) storedForm(out Out) (Out, bool) {
	r := s.family.response(out)
	named := r.connectionOptions()
	dropped := func(name string) bool { return s.http.drops(name) || isOneOf(named, name) }
	headers, fewer := without(r.headers, dropped)
	multi, fewerMulti := without(r.multi, dropped)
	cookies := r.cookies
	if !s.http.StoreCookies {
		cookies = nil
	}
	if !fewer && !fewerMulti && len(cookies) == len(r.cookies) {
		return out, false
	}
	r.headers, r.multi, r.cookies = headers, multi, cookies
	return s.family.with(out, r), true
}

// drops reports whether a header is not stored: it belongs to one connection, to one moment, to one client, or to us.
func (h HTTP) drops(name string) bool {
	switch {
	case strings.EqualFold(name, dateHeader) || isOneOf(connectionHeaders, name):
		return true
	case strings.EqualFold(name, "set-cookie"):
		return !h.StoreCookies
	default:
		return h.owns(name)
	}
}

// isOneOf reports whether names has a name, in any spelling.
func isOneOf(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// owns reports whether a response header is one that only we set, here or in a service whose response the handler may have
// passed on: there it has the default name.
func (h HTTP) owns(name string) bool {
	own := h.ownHeaders()
	return isOneOf(own[:], name)
}

func (h HTTP) ownHeaders() [3]string {
	return [...]string{replayedHeader, expiresHeader, h.ExpiresHeader}
}

// connectionOptions are the names of the headers that the Connection header names as belonging to it.
func (r httpResponse) connectionOptions() []string {
	var names []string
	for _, value := range r.connection() {
		for name := range strings.SplitSeq(value, ",") {
			names = append(names, strings.Trim(name, " \t"))
		}
	}
	return names
}

// connection are the values of the Connection header, which few responses have. As for headersOf, the multi-value map
// holds all of them if it has any.
func (r httpResponse) connection() []string {
	var values []string
	for name, several := range r.multi {
		if strings.EqualFold(name, connectionHeader) {
			values = append(values, several...)
		}
	}
	if len(values) > 0 {
		return values
	}
	for name, value := range r.headers {
		if strings.EqualFold(name, connectionHeader) {
			values = append(values, value)
		}
	}
	return values
}

// answerForm adds to a response until when it is replayed, if it is at all, and marks a replay. What the handler may have
// passed on under the same names gives way.
func (s *httpShape[In, Out]) answerForm(src *source[In], out Out, expires time.Time, replayed bool) (Out, bool) {
	r := s.family.response(out)
	var fewer, fewerMulti bool
	r.headers, fewer = without(r.headers, s.http.owns)
	r.multi, fewerMulti = without(r.multi, s.http.owns)
	ours := make(map[string]string)
	if replayed {
		ours[replayedHeader] = headerTrue
	}
	if !expires.IsZero() && s.http.ExpiresHeader != noHeader {
		ours[s.http.ExpiresHeader] = expires.UTC().Format(httpDate)
	}
	if len(ours) > 0 {
		r = r.adding(ours, src.http.form)
	} else if !fewer && !fewerMulti {
		return out, false
	}
	return s.family.with(out, r), true
}

// without returns m without the dropped names, and whether there were any. m itself stays as it is: a handler may return
// one map with every response.
func without[V any](m map[string]V, dropped func(name string) bool) (kept map[string]V, fewer bool) {
	for name := range m {
		if dropped(name) {
			kept = maps.Clone(m)
			maps.DeleteFunc(kept, func(name string, _ V) bool { return dropped(name) })
			return kept, true
		}
	}
	return m, false
}

func (h HTTP) validateAnswers() error {
	var errs []error
	addf := func(format string, args ...any) { errs = append(errs, fmt.Errorf("WithHTTP: "+format, args...)) }
	if h.Profile != ProfileIETF && h.Profile != ProfileStripe {
		addf("Profile %d is neither ProfileIETF nor ProfileStripe", h.Profile)
	}
	if s := h.InProgressStatus; !slices.Contains([]int{0, 202, 409, 425}, s) {
		addf("InProgressStatus %d is not 202, 409 or 425", s)
	}
	if s := h.MismatchStatus; !slices.Contains([]int{0, 400, 409, 422}, s) {
		addf("MismatchStatus %d is not 400, 409 or 422", s)
	}
	if h.MaxRetryAfter != 0 {
		errs = append(errs, atLeast("WithHTTP", "MaxRetryAfter", h.MaxRetryAfter, time.Second))
	}
	switch name := h.ExpiresHeader; {
	case name != "" && !isToken(name):
		addf("ExpiresHeader %q is no header name", name)
	case hasMeaning(name):
		addf("ExpiresHeader %q has another meaning", name)
	case strings.EqualFold(name, h.withDefaults().Header):
		addf("ExpiresHeader %q is the header of the key", name)
	}
	switch scheme, err := schemeOf(h.ProblemBase); {
	case err != nil:
		addf("ProblemBase %q is no URI reference: %w", h.ProblemBase, err)
	case !slices.Contains([]string{"", "http", "https", "urn", "tag"}, scheme):
		addf("ProblemBase %q has the scheme %q, which is not http, https, urn or tag", h.ProblemBase, scheme)
	}
	return joinProblems(errs...)
}

// schemeOf is the scheme of base, empty if it is relative. The error is what keeps base and a name behind it from being a
// URI reference (RFC 3986, section 4.1).
func schemeOf(base string) (string, error) {
	for _, c := range base {
		if c <= ' ' || c > '~' || strings.ContainsRune("\"<>\\^`{|}", c) {
			return "", fmt.Errorf("it holds the character %q", c)
		}
	}
	u, err := url.Parse(base + "mismatch")
	if cause := errors.Unwrap(err); cause != nil {
		return "", cause // without the text again
	}
	if err != nil {
		return "", err
	}
	return u.Scheme, nil
}
