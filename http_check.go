package idempotent

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

func (h HTTP) validate() error {
	var errs []error
	switch {
	case h.Header != "" && !httpfield.IsToken(h.Header):
		errs = append(errs, fmt.Errorf("WithHTTP: Header %q is no header name", h.Header))
	case httpfield.HasMeaning(h.Header):
		errs = append(errs, fmt.Errorf("WithHTTP: Header %q has another meaning", h.Header))
	}
	for _, m := range h.RequireKey {
		switch {
		case !httpfield.IsToken(m) || strings.ToUpper(m) != m:
			errs = append(errs, fmt.Errorf("WithHTTP: RequireKey: %q is no method in capitals", m))
		case neverProtected(m):
			errs = append(errs, fmt.Errorf("WithHTTP: RequireKey: %s has no effect to protect", m))
		}
	}
	errs = append(errs, h.validateKey()...)
	errs = append(errs, h.validateFingerprintHeaders()...)
	return joinProblems(append(errs, h.validateRequestAge(), h.validateAnswers())...)
}

func (h HTTP) validateKey() []error {
	var errs []error
	for _, limit := range []struct {
		name  string
		value int
	}{{"MinKey", h.MinKey}, {"MaxKey", h.MaxKey}} {
		if limit.value < 0 || limit.value > httpfield.MaxKey {
			errs = append(errs, fmt.Errorf("WithHTTP: %s %d is not 1 to %d", limit.name, limit.value, httpfield.MaxKey))
		}
	}
	if full := h.withDefaults(); len(errs) == 0 && full.MinKey > full.MaxKey {
		errs = append(errs, fmt.Errorf("WithHTTP: MinKey %d is above MaxKey %d", full.MinKey, full.MaxKey))
	}
	if _, err := httpfield.CompileKeyFormat(h.KeyFormat); err != nil {
		errs = append(errs, fmt.Errorf("WithHTTP: KeyFormat %q: %w", h.KeyFormat, err))
	}
	return errs
}

func (h HTTP) validateFingerprintHeaders() []error {
	var errs []error
	addf := func(format string, name string) {
		errs = append(errs, fmt.Errorf("WithHTTP: FingerprintHeaders: "+format, name))
	}
	seen := map[string]bool{}
	for _, name := range h.FingerprintHeaders {
		switch lower := strings.ToLower(name); {
		case !httpfield.IsToken(name):
			addf("%q is no header name", name)
		case seen[lower]:
			addf("%q is there twice", name)
		case strings.EqualFold(name, h.withDefaults().Header):
			addf("%q carries the key", name)
		case httpfield.Unsteady(lower):
			addf("%q differs between deliveries of one request", name)
		}
		seen[strings.ToLower(name)] = true
	}
	return errs
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
	case !httpfield.IsToken(h.TimestampHeader):
		errs = append(errs, fmt.Errorf("WithHTTP: TimestampHeader %q is no header name", h.TimestampHeader))
	case is(h.withDefaults().Header):
		errs = append(errs, fmt.Errorf("WithHTTP: TimestampHeader %q is the header of the key", h.TimestampHeader))
	case slices.ContainsFunc(h.FingerprintHeaders, is):
		errs = append(errs, fmt.Errorf("WithHTTP: TimestampHeader %q is also one of FingerprintHeaders: a retry at another time "+
			"would be another request", h.TimestampHeader))
	}
	return joinProblems(errs...)
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
	case name != "" && !httpfield.IsToken(name):
		addf("ExpiresHeader %q is no header name", name)
	case httpfield.HasMeaning(name):
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

// schemeOf returns the scheme of base, empty if base is a relative reference. It returns an error if base with a name
// behind it is no URI reference (RFC 3986, section 4.1).
func schemeOf(base string) (string, error) {
	for _, c := range base {
		if c <= ' ' || c > '~' || strings.ContainsRune("\"<>\\^`{|}", c) {
			return "", fmt.Errorf("it holds the character %q", c)
		}
	}
	u, err := url.Parse(base + "mismatch")
	if cause := errors.Unwrap(err); cause != nil {
		return "", cause // without the text, which the caller names
	}
	if err != nil {
		return "", err
	}
	return u.Scheme, nil
}
