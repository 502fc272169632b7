package idempotent

import (
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// maxKey is the longest key that a header may carry, in characters. It is Stripe's limit.
const maxKey = 255

// malformed says what is wrong with a key header. It continues "the idempotency key" and does not hold the key, so the
// client may read it.
type malformed string

func (m malformed) Error() string { return string(m) }

// parseKey reads the header field of the key: an Item of RFC 9651 whose value is a String, or the bare text, which most
// clients send. Both give the same key. White space around the field (RFC 9110, section 5.5) and parameters behind the
// value do not count, but parameters have to be well-formed.
//
// A bare key is any printable ASCII but space, comma, semicolon, double quote and backslash: those mean something in a
// field, and whoever needs them sends a structured string. So a bare key need not be a Token of the RFC; UUIDs, numbers,
// base64 and URLs are taken as the text they are.
//
// Its errors are malformed.
func parseKey(values []string) (string, error) {
	if len(values) != 1 {
		return "", malformed("was sent more than once")
	}
	field := strings.Trim(values[0], " \t")
	read := bareKey
	if strings.HasPrefix(field, `"`) {
		read = stringKey
	}
	key, err := read(field)
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", malformed("is empty")
	case len(key) > maxKey:
		return "", malformed("is longer than " + strconv.Itoa(maxKey) + " characters")
	default:
		return key, nil
	}
}

func stringKey(field string) (string, error) {
	item, err := httpsfv.UnmarshalItem([]string{field})
	if err != nil {
		return "", malformed("is no structured string with well-formed parameters (RFC 9651, section 3.3.3), or was sent more than once")
	}
	key, _ := item.Value.(string) // what begins with a quote is nothing else
	return key, nil
}

func bareKey(field string) (string, error) {
	key, parameters, found := strings.Cut(field, ";")
	for _, c := range []byte(key) {
		switch {
		case c < '!' || c > '~':
			return "", malformed("holds a space or a character that is not printable ASCII")
		case c == ',':
			return "", malformed("was sent more than once, or holds a comma outside quotes")
		case c == '"' || c == '\\':
			return "", malformed("holds a quote or a backslash, which needs a structured string (RFC 9651, section 3.3.3)")
		}
	}
	if found {
		if _, err := httpsfv.UnmarshalItem([]string{"key;" + parameters}); err != nil {
			return "", malformed("has malformed parameters (RFC 9651, section 3.1.2), or was sent more than once")
		}
	}
	return key, nil
}
