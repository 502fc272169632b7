package httpfield

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dunglas/httpsfv"
)

// MaxKey is the length of the longest key that a header may carry, in characters. It is the limit
// of the Stripe API.
const MaxKey = 255

// MalformedError says what is wrong with the header of a key. It does not hold the key, so a client
// may read it.
type MalformedError struct {
	// Reason continues a sentence that begins with "the idempotency key".
	Reason string
	// Remedy is a sentence that tells the client what to send instead.
	Remedy string
}

func (m MalformedError) Error() string { return m.Reason }

// ReadKey returns the key in the values of its header. check says what is wrong with the form of a
// key; nil accepts every key. The errors of ReadKey are of type [MalformedError].
func ReadKey(values []string, check func(key string) error) (string, error) {
	key, err := parseKey(values)
	if err == nil && len(key) > MaxKey {
		err = errKeyLong
	}
	if err == nil && check != nil {
		err = quoteless(check(key), key)
	}
	if err != nil {
		return "", MalformedError{Reason: err.Error(), Remedy: remedy}
	}
	return key, nil
}

// quoteless returns an error that does not quote the key.
func quoteless(err error, key string) error {
	if err != nil && strings.Contains(err.Error(), key) {
		return errKeyForm
	}
	return err
}

// remedy tells a client what it may send.
const remedy = "Send the header once, with a key of 1 to 255 printable ASCII characters, in double quotes if it " +
	"holds a space, " +
	"comma, semicolon, double quote or backslash."

// Each of these continues "the idempotency key".
var (
	errKeyForm   = errors.New("does not have the required form")
	errKeyLong   = fmt.Errorf("is longer than %d characters", MaxKey)
	errKeyTwice  = errors.New("was sent more than once")
	errKeyEmpty  = errors.New("is empty")
	errKeyString = errors.New(
		"is no structured string with well-formed parameters (RFC 9651, section 3.3.3), or was sent more than once")
	errKeyCharacter = errors.New("holds a space or a character that is not printable ASCII")
	errKeyComma     = errors.New("was sent more than once, or holds a comma outside quotes")
	errKeyQuote     = errors.New(
		"holds a quote or a backslash, which needs a structured string (RFC 9651, section 3.3.3)")
	errKeySemicolon = errors.New(
		"holds a semicolon outside quotes, which would begin a parameter (RFC 9651, section 3.1.2)")
)

// parseKey reads the values of the header. A client may send the key as an Item of RFC 9651 whose
// value is a String, or as bare text, which most clients do. Both give the same key.
//
// White space around the value does not count (RFC 9110, section 5.5). Parameters behind a String
// do not count either, but they have to be well-formed.
//
// A bare key holds any printable ASCII but space, comma, semicolon, double quote and backslash,
// which mean something in a field. A bare key with a semicolon is refused and not cut there: who
// sends order;1 and order;2 means two keys. A client that needs one of those sends a structured
// string. A bare key need not be a Token of the RFC, so UUIDs, numbers, base64 and URLs are taken
// as the text they are.
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
