package idempotent

import (
	"errors"
	"fmt"
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
	errs = append(errs, h.validateFingerprintHeaders()...)
	return joinProblems(append(errs, h.validateRequestAge(), h.validateAnswers())...)
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
	if s := h.MismatchStatus; !slices.Contains([]int{0, 400, 409, 422}, s) {
		return fmt.Errorf("WithHTTP: MismatchStatus %d is not 400, 409 or 422", s)
	}
	return nil
}
