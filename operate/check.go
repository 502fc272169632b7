package operate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/store"
)

// The limits of what an [Act] stores, in bytes.
const (
	maxBy  = 256
	maxWhy = 512
	// maxMessage bounds the message of a stored error.
	maxMessage = 4096
)

const fieldResult = "result"

const isEmpty = "is empty"

// checked returns the record that was shown, once all that was handed in is known to be good.
func checked(s Shown, v Verdict, a Act) (store.Record, error) {
	if err := a.check(); err != nil {
		return store.Record{}, err
	}
	if err := v.check(); err != nil {
		return store.Record{}, err
	}
	r, err := s.record()
	if err != nil {
		return store.Record{}, err
	}
	if a.Operation != "" && r.Operation() != a.Operation {
		return store.Record{}, fmt.Errorf("%w: not of %q but of %q; nothing was changed", ErrOtherOperation,
			a.Operation, r.Operation())
	}
	return r, nil
}

func (a Act) check() error {
	if problem := problemOf(a.By, maxBy); problem != "" {
		return &InputError{Field: "by", Problem: problem}
	}
	if problem := problemOf(a.Why, maxWhy); problem != "" {
		return &InputError{Field: "why", Problem: problem}
	}
	return nil
}

func (v Verdict) check() error {
	if v.ofStep() && v.step == "" {
		return &InputError{Field: "step", Problem: isEmpty}
	}
	switch v.action {
	case "":
		return &InputError{
			Field:   "verdict",
			Problem: "is none: use Executed, NotExecuted, Failed, StepExecuted or StepFailed",
		}
	case ActionExecuted, ActionStepExecuted:
		if !utf8.Valid(v.result) || !json.Valid(v.result) {
			return &InputError{Field: fieldResult, Problem: fmt.Sprintf("of %d bytes is no JSON", len(v.result))}
		}
		if v.response {
			return checkResponse(v.result)
		}
	case ActionFailed, ActionStepFailed:
		if problem := problemOf(v.errorType, maxBy); problem != "" {
			return &InputError{Field: "error type", Problem: problem}
		}
		if problem := problemOf(v.message, maxMessage); problem != "" {
			return &InputError{Field: "error message", Problem: problem}
		}
	case ActionNotExecuted, ActionRelease, ActionDelete:
	}
	return nil
}

// checkResponse finds what no gateway takes for a response. Errors do not quote it.
func checkResponse(text []byte) error {
	var r struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
		Cookies           []string            `json:"cookies"`
		Body              string              `json:"body"`
		IsBase64Encoded   bool                `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return &InputError{Field: fieldResult, Problem: "is no response of a gateway: " + wrong.Field +
				" has another type"}
		}
		return &InputError{Field: fieldResult, Problem: "is no response of a gateway: it is no object"}
	}
	if r.StatusCode < 200 || r.StatusCode > 599 {
		return &InputError{
			Field:   fieldResult,
			Problem: fmt.Sprintf("is no response of a gateway: statusCode %d is not from 200 to 599", r.StatusCode),
		}
	}
	if r.StatusCode >= 500 || slices.Contains(notStored, r.StatusCode) {
		return &InputError{Field: fieldResult, Problem: fmt.Sprintf(
			"has the status %d, which a handler does not store: it means that a retry may execute", r.StatusCode)}
	}
	if _, err := base64.StdEncoding.DecodeString(r.Body); err != nil && r.IsBase64Encoded {
		return &InputError{
			Field:   fieldResult,
			Problem: "is no response of a gateway: isBase64Encoded is true, and body is no base64",
		}
	}
	fields := slices.Clone(r.Cookies)
	for name, value := range r.Headers {
		fields = append(fields, name, value)
	}
	for name, values := range r.MultiValueHeaders {
		fields = append(append(fields, name), values...)
	}
	if slices.ContainsFunc(fields, breaksHeader) {
		return &InputError{
			Field:   fieldResult,
			Problem: "is no response of a gateway: a header or cookie has a line break or another control character",
		}
	}
	return nil
}

// notStored are the statuses below 500 that a handler does not store by itself.
var notStored = []int{401, 403, 408, 409, 423, 425, 429}

// breaksHeader reports whether a text cannot stand in a header field (RFC 9110, section 5.5).
func breaksHeader(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// problemOf says what is wrong with a text that somebody is to read; it is empty if nothing is.
func problemOf(text string, most int) string {
	switch {
	case strings.TrimSpace(text) == "":
		return isEmpty
	case len(text) > most:
		return fmt.Sprintf("has %d bytes, more than %d", len(text), most)
	case !utf8.ValidString(text):
		return "is not UTF-8"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has characters that cannot be printed"
	default:
		return ""
	}
}
