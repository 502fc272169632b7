package jmespath

import (
	"errors"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// parseText makes a Value of one acceptable JSON text. The error is a *JSONError.
func parseText(text string) (Value, error) { return parsePayload([]byte(text)) }

// parsePayload is parseText for a text that the caller may use again. It is acceptable if it has a
// canonical form. Everything else in the package reads text that has passed, and does not look for
// errors again.
func parsePayload(text []byte) (Value, error) {
	if _, err := fingerprint.Canonical(nil, text); err != nil {
		failure := &JSONError{Detail: err.Error()}
		if wrong, ok := errors.AsType[*fingerprint.SyntaxError](err); ok {
			failure.Offset, failure.Detail = wrong.Offset, wrong.Reason
		}
		return Value{}, failure
	}
	return Value{strings.Trim(string(text), " \t\r\n")}, nil
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
