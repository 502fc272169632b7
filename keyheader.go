package idempotent

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// maxKey is the longest key that a header may carry, in characters. It is Stripe's limit.
const maxKey = 255

// KeyUUID as [HTTP.KeyFormat] demands a UUID of any version in its text form (RFC 9562, section 4). Digits may be in upper
// or lower case, but a key is compared as it was sent: one UUID in two spellings is two keys.
const KeyUUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"

// keyRules are what a key in the header has to keep to.
type keyRules struct {
	min, max int
	// format is nil if any will do; pattern is its text.
	format  *regexp.Regexp
	pattern string
}

// keyRules reads the fields that have been validated. A KeyFormat that is not valid counts as none.
func (h HTTP) keyRules() keyRules {
	h = h.withDefaults()
	format, _ := h.compileKeyFormat() // validateKey has reported the error
	return keyRules{min: h.MinKey, max: h.MaxKey, format: format, pattern: h.KeyFormat}
}

// compileKeyFormat anchors the expression to the whole key. It is compiled alone too: "a)|(b" is none.
func (h HTTP) compileKeyFormat() (*regexp.Regexp, error) {
	if h.KeyFormat == "" {
		return nil, nil //nolint:nilnil // no format
	}
	if _, err := regexp.Compile(h.KeyFormat); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + h.KeyFormat + `)\z`)
}

func (h HTTP) validateKey() []error {
	var errs []error
	for _, limit := range []struct {
		name  string
		value int
	}{{"MinKey", h.MinKey}, {"MaxKey", h.MaxKey}} {
		if limit.value < 0 || limit.value > maxKey {
			errs = append(errs, fmt.Errorf("WithHTTP: %s %d is not 1 to %d", limit.name, limit.value, maxKey))
		}
	}
	if full := h.withDefaults(); len(errs) == 0 && full.MinKey > full.MaxKey {
		errs = append(errs, fmt.Errorf("WithHTTP: MinKey %d is above MaxKey %d", full.MinKey, full.MaxKey))
	}
	if _, err := h.compileKeyFormat(); err != nil {
		errs = append(errs, fmt.Errorf("WithHTTP: KeyFormat %q: %w", h.KeyFormat, err))
	}
	return errs
}

// malformed says what is wrong with a key header. It does not hold the key, so the client may read it.
type malformed struct {
	// reason continues "the idempotency key"; remedy is a sentence.
	reason, remedy string
}

func (m malformed) Error() string { return m.reason }

// read finds the key in the header field. Its errors are malformed.
func (k keyRules) read(values []string) (string, error) {
	key, err := parseKey(values)
	if err == nil {
		err = k.check(key)
	}
	if err != nil {
		return "", malformed{reason: err.Error(), remedy: k.remedy()}
	}
	return key, nil
}

func (k keyRules) check(key string) error {
	switch {
	case len(key) > k.max:
		return fmt.Errorf("is longer than %d characters", k.max)
	case len(key) < k.min:
		return fmt.Errorf("is shorter than %d characters", k.min)
	case k.format != nil && !k.format.MatchString(key):
		return errKeyFormat
	default:
		return nil
	}
}

// remedy tells a client what it may send.
func (k keyRules) remedy() string {
	if k.pattern == KeyUUID {
		return "Send the header once, with a UUID in its text form."
	}
	length := strconv.Itoa(k.min)
	if k.min != k.max {
		length += " to " + strconv.Itoa(k.max)
	}
	remedy := "Send the header once, with a key of " + length + " printable ASCII characters, in double quotes if it holds a space, " +
		"comma, semicolon, double quote or backslash."
	if k.pattern != "" {
		remedy += " It must match the regular expression " + k.pattern + "."
	}
	return remedy
}

// What is wrong with a header field, continuing "the idempotency key".
var (
	errKeyFormat     = errors.New("does not have the required format")
	errKeyTwice      = errors.New("was sent more than once")
	errKeyEmpty      = errors.New("is empty")
	errKeyString     = errors.New("is no structured string with well-formed parameters (RFC 9651, section 3.3.3), or was sent more than once")
	errKeyCharacter  = errors.New("holds a space or a character that is not printable ASCII")
	errKeyComma      = errors.New("was sent more than once, or holds a comma outside quotes")
	errKeyQuote      = errors.New("holds a quote or a backslash, which needs a structured string (RFC 9651, section 3.3.3)")
	errKeyParameters = errors.New("has malformed parameters (RFC 9651, section 3.1.2), or was sent more than once")
)

// parseKey reads the header field of the key: an Item of RFC 9651 whose value is a String, or the bare text, which most
// clients send. Both give the same key. White space around the field (RFC 9110, section 5.5) and parameters behind the
// value do not count, but parameters have to be well-formed.
//
// A bare key is any printable ASCII but space, comma, semicolon, double quote and backslash: those mean something in a
// field, and whoever needs them sends a structured string. So a bare key need not be a Token of the RFC; UUIDs, numbers,
// base64 and URLs are taken as the text they are.
func parseKey(values []string) (string, error) {
	if len(values) != 1 {
		return "", errKeyTwice
	}
	field := strings.Trim(values[0], " \t")
	read := bareKey
	if strings.HasPrefix(field, `"`) {
		read = stringKey
	}
	key, err := read(field)
	if err == nil && key == "" {
		return "", errKeyEmpty
	}
	return key, err
}

func stringKey(field string) (string, error) {
	item, err := httpsfv.UnmarshalItem([]string{field})
	if err != nil {
		return "", errKeyString
	}
	key, _ := item.Value.(string) // what begins with a quote is nothing else
	return key, nil
}

func bareKey(field string) (string, error) {
	key, parameters, found := strings.Cut(field, ";")
	for _, c := range []byte(key) {
		switch {
		case c < '!' || c > '~':
			return "", errKeyCharacter
		case c == ',':
			return "", errKeyComma
		case c == '"' || c == '\\':
			return "", errKeyQuote
		}
	}
	if found {
		if _, err := httpsfv.UnmarshalItem([]string{"key;" + parameters}); err != nil {
			return "", errKeyParameters
		}
	}
	return key, nil
}
