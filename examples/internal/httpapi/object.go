package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Object is the JSON object in a body, by the exact names of its fields: encoding/json would also take "AMOUNT" for a field "amount" of
// a struct. The errors of its methods are for the client to read.
type Object map[string]json.RawMessage

// ReadObject reads the object in the body of an event. A field of another name is an error, and so is whatever is no object.
func ReadObject(event Request, names ...string) (Object, error) {
	text, err := decoded(event)
	if err != nil {
		return nil, err
	}
	var o Object
	if err := json.Unmarshal(text, &o); err != nil || o == nil {
		return nil, errors.New("the body must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("the field %.40q is unknown", name)
		}
	}
	return o, nil
}

// decoded returns the body. The gateway encodes it in base64 unless its media type is known to be text.
func decoded(event Request) ([]byte, error) {
	text := []byte(event.Body)
	if event.IsBase64Encoded {
		var err error
		if text, err = base64.StdEncoding.DecodeString(event.Body); err != nil {
			return nil, errors.New("the body is not valid base64")
		}
	}
	if !utf8.Valid(text) {
		return nil, errors.New("the body is not valid UTF-8")
	}
	return text, nil
}

// Text is a string that is not empty.
func (o Object) Text(name string) (string, error) {
	if s := Text(o[name]); s != "" {
		return s, nil
	}
	return "", fmt.Errorf("%s must be a non-empty string", name)
}

// Amount is money in the smallest unit of its currency.
func (o Object) Amount(name string) (int64, error) {
	n, err := o.Count(name)
	if err != nil {
		return 0, fmt.Errorf("%w, in the smallest unit of the currency", err)
	}
	return n, nil
}

// Count is a whole number from 1 to 2^63-1.
func (o Object) Count(name string) (int64, error) {
	n, err := strconv.ParseInt(string(o[name]), 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s must be a positive integer", name)
	}
	return n, nil
}

var currency = regexp.MustCompile(`^[a-z]{3}$`)

// Currency is the code of a currency.
func (o Object) Currency(name string) (string, error) {
	if s := Text(o[name]); currency.MatchString(s) {
		return s, nil
	}
	return "", fmt.Errorf("%s must be an ISO 4217 code of three lower-case letters", name)
}

// Text is the string in a JSON value, empty for anything else.
func Text(value json.RawMessage) string {
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return ""
	}
	return s
}
