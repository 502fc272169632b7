package httpfield

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// MaxKey is the length of the longest key that a header may carry, in characters. It is the limit of the Stripe API.
const MaxKey = 255

// KeyUUID is a pattern for [CompileKeyFormat] that any UUID in its text form matches (RFC 9562, section 4), in upper or lower
// case.
const KeyUUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"

// KeyRules say what a key in a header has to look like. They are safe for concurrent use.
type KeyRules struct {
	// Min and Max bound the length of the key, in characters. Both are included.
	Min, Max int
	// Format has to match the key. It comes from [CompileKeyFormat]; nil accepts every key.
	Format *regexp.Regexp
	// Pattern is the text that Format was compiled from. Clients are told it.
	Pattern string
}

// MalformedError says what is wrong with the header of a key. It does not hold the key, so a client may read it.
type MalformedError struct {
	// Reason continues a sentence that begins with "the idempotency key".
	Reason string
	// Remedy is a sentence that tells the client what to send instead.
	Remedy string
}

func (m MalformedError) Error() string { return m.Reason }

// CompileKeyFormat compiles a regular expression that the whole key has to match, not only a part of it. It returns nil for
// an empty pattern.
func CompileKeyFormat(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil //nolint:nilnil // no format
	}
	// The pattern alone has to be valid too: "a)|(b" is valid only inside the parentheses below.
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}

// Read returns the key in the values of its header. Its errors are of type [MalformedError].
func (k KeyRules) Read(values []string) (string, error) {
	key, err := parseKey(values)
	if err == nil {
		err = k.check(key)
	}
	if err != nil {
		return "", MalformedError{Reason: err.Error(), Remedy: k.remedy()}
	}
	return key, nil
}

func (k KeyRules) check(key string) error {
	switch {
	case len(key) > k.Max:
		return fmt.Errorf("is longer than %d characters", k.Max)
	case len(key) < k.Min:
		return fmt.Errorf("is shorter than %d characters", k.Min)
	case k.Format != nil && !k.Format.MatchString(key):
		return errKeyFormat
	default:
		return nil
	}
}

// remedy tells a client what it may send.
func (k KeyRules) remedy() string {
	if k.Pattern == KeyUUID {
		return "Send the header once, with a UUID in its text form."
	}
	length := strconv.Itoa(k.Min)
	if k.Min != k.Max {
		length += " to " + strconv.Itoa(k.Max)
	}
	remedy := "Send the header once, with a key of " + length + " printable ASCII characters, in double quotes if it holds a space, " +
		"comma, semicolon, double quote or backslash."
	if k.Pattern != "" {
		remedy += " It must match the regular expression " + k.Pattern + "."
	}
	return remedy
}

// Each of these continues "the idempotency key".
var (
	errKeyFormat    = errors.New("does not have the required format")
	errKeyTwice     = errors.New("was sent more than once")
	errKeyEmpty     = errors.New("is empty")
	errKeyString    = errors.New("is no structured string with well-formed parameters (RFC 9651, section 3.3.3), or was sent more than once")
	errKeyCharacter = errors.New("holds a space or a character that is not printable ASCII")
	errKeyComma     = errors.New("was sent more than once, or holds a comma outside quotes")
	errKeyQuote     = errors.New("holds a quote or a backslash, which needs a structured string (RFC 9651, section 3.3.3)")
	errKeySemicolon = errors.New("holds a semicolon outside quotes, which would begin a parameter (RFC 9651, section 3.1.2)")
)

// parseKey reads the values of the header. A client may send the key as an Item of RFC 9651 whose value is a String, or as
// bare text, which most clients do. Both give the same key.
//
// White space around the value does not count (RFC 9110, section 5.5). Parameters behind a String do not count either, but
// they have to be well-formed.
//
// A bare key holds any printable ASCII but space, comma, semicolon, double quote and backslash, which mean something in a
// field. A bare key with a semicolon is refused and not cut there: who sends order;1 and order;2 means two keys. A client that needs one of those sends a structured string. A bare key need not be a Token of the RFC, so UUIDs,
// numbers, base64 and URLs are taken as the text they are.
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
	key, _ := item.Value.(string) // an item that begins with a quote is always a string
	return key, nil
}

func bareKey(field string) (string, error) {
	for _, c := range []byte(field) {
		switch {
		case c < '!' || c > '~':
			return "", errKeyCharacter
		case c == ',':
			return "", errKeyComma
		case c == ';':
			return "", errKeySemicolon
		case c == '"' || c == '\\':
			return "", errKeyQuote
		}
	}
	return field, nil
}
