package operate

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/store"
)

// The limits of what is stored, in bytes.
const (
	maxBy      = 256
	maxWhy     = 512
	maxMessage = 4096
)

const (
	fieldResult = "result"
	isEmpty     = "is empty"
)

func checked(s Shown, v Verdict, a Act) (store.Record, error) {
	err := cmp.Or(readable("by", a.By, maxBy), readable("why", a.Why, maxWhy), v.check())
	if err != nil {
		return store.Record{}, err
	}
	r, err := s.record()
	if err != nil {
		return store.Record{}, err
	}
	if a.Operation != "" && r.Operation() != a.Operation {
		return store.Record{}, refusal(ErrOtherOperation, "%v: not of %q but of %q", ErrOtherOperation, a.Operation,
			r.Operation())
	}
	return r, nil
}

func (v Verdict) check() error {
	if v.ofStep() && v.step == "" {
		return bad("step", isEmpty)
	}
	switch v.action {
	case "":
		return bad("verdict", "is none: use Executed, NotExecuted, Failed, StepExecuted or StepFailed")
	case ActionExecuted, ActionStepExecuted:
		if !utf8.Valid(v.result) || !json.Valid(v.result) {
			return bad(fieldResult, "of %d bytes is no JSON", len(v.result))
		}
		if v.response {
			return checkResponse(v.result)
		}
	case ActionFailed, ActionStepFailed:
		return cmp.Or(readable("error type", v.errorType, maxBy), readable("error message", v.message, maxMessage))
	case ActionNotExecuted, ActionRelease, ActionDelete:
	}
	return nil
}

// checkResponse finds what no gateway takes for a response. Errors do not quote it.
func checkResponse(text []byte) error {
	var r events.APIGatewayV2HTTPResponse // it has what those of the other gateways have
	err := json.Unmarshal(text, &r)
	wrong, _ := errors.AsType[*json.UnmarshalTypeError](err)
	_, coded := base64.StdEncoding.DecodeString(r.Body)
	fields := slices.Clone(r.Cookies)
	for name, value := range r.Headers {
		fields = append(fields, name, value)
	}
	for name, values := range r.MultiValueHeaders {
		fields = append(append(fields, name), values...)
	}
	const no = "is no response of a gateway: "
	switch {
	case wrong != nil && wrong.Field != "":
		return bad(fieldResult, no+"%s has another type", wrong.Field)
	case err != nil:
		return bad(fieldResult, no+"it is no object")
	case r.StatusCode < 200 || r.StatusCode > 599:
		return bad(fieldResult, no+"statusCode %d is not from 200 to 599", r.StatusCode)
	case r.StatusCode >= 500 || slices.Contains(notStored, r.StatusCode):
		return bad(fieldResult, "has the status %d, which a handler does not store: it means that a retry may execute",
			r.StatusCode)
	case r.IsBase64Encoded && coded != nil:
		return bad(fieldResult, no+"isBase64Encoded is true, and body is no base64")
	case slices.ContainsFunc(fields, breaksHeader):
		return bad(fieldResult, no+"a header or cookie has a line break or another control character")
	default:
		return nil
	}
}

// notStored are the statuses below 500 that a handler does not store by itself.
var notStored = []int{401, 403, 408, 409, 423, 425, 429}

// breaksHeader reports whether a text cannot stand in a header field (RFC 9110, section 5.5).
func breaksHeader(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func readable(field, text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return bad(field, isEmpty)
	case len(text) > most:
		return bad(field, "has %d bytes, more than %d", len(text), most)
	case !utf8.ValidString(text):
		return bad(field, "is not UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return bad(field, "has characters that cannot be printed")
	default:
		return nil
	}
}
