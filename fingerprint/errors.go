package fingerprint

import (
	"encoding/json"
	"strconv"
)

// SyntaxError reports why a JSON text has no canonical form. It names a place and a rule, never
// content of the document, so it may be logged and returned to a client. Every error of [Canonical]
// is a *SyntaxError.
type SyntaxError struct {
	// Offset is the position of the offending byte, counted in bytes from 0; the length of the
	// document when it ends too early. It is the opening quote of the second of two equal keys, the
	// backslash of a lone surrogate, and the first byte of a number that is out of range and of an
	// invalid UTF-8 sequence. Equal keys are found when their object ends; whatever is wrong before
	// that is reported instead.
	Offset int
	// Reason is a lower-case phrase for people. Its wording may change: compare offsets, not
	// reasons.
	Reason string
}

// Error returns the offset and the reason in one line.
func (e *SyntaxError) Error() string {
	return "fingerprint: JSON text, byte " + strconv.Itoa(e.Offset) + ": " + e.Reason
}

// encodeError is an error of encoding/json. Its text holds nothing of what was encoded: the error
// of a MarshalJSON may quote it, and that of a json.Number does.
type encodeError struct{ err error }

func (e encodeError) Error() string {
	switch err := e.err.(type) { //nolint:errorlint // what it wraps may be of the user's own
	case *json.UnsupportedTypeError, *json.UnsupportedValueError:
		return err.Error()
	case *json.MarshalerError:
		return "json: the encoder of " + err.Type.String() + " failed"
	default:
		return "json: it cannot be encoded"
	}
}

func (e encodeError) Unwrap() error { return e.err }
