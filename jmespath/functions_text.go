package jmespath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// holds is starts_with and ends_with.
func holds(has func(text, part string) bool) body {
	return func(_ *search, arguments []argument) Value {
		return booleanValue(has(arguments[0].str(), arguments[1].str()))
	}
}

func join(s *search, arguments []argument) Value {
	separator := arguments[0].str()
	var parts []string
	for _, element := range arguments[1].members() {
		part := element.str()
		s.grow(len(separator) + len(part))
		parts = append(parts, part)
	}
	return s.string(strings.Join(parts, separator))
}

// toString writes anything but a string as compact JSON, with numbers as they are spelled and
// members in their order.
func toString(s *search, arguments []argument) Value {
	v := arguments[0].Value
	if v.kind() == typeString {
		return v
	}
	s.unambiguous(v, true)
	return s.string(compact(v.json()))
}

func typeOf(_ *search, arguments []argument) Value { return stringValue(arguments[0].kind().String()) }

// length counts characters, elements or members.
func length(s *search, arguments []argument) Value {
	v := arguments[0].Value
	if v.kind() == typeString {
		return Value{strconv.Itoa(utf8.RuneCountInString(v.str()))}
	}
	s.unambiguous(v, false)
	return Value{strconv.Itoa(v.length())}
}

// The functions of AWS Powertools, as documented at
// https://docs.powertools.aws.dev/lambda/python/latest/utilities/jmespath_functions/

func powertoolsJSON(s *search, arguments []argument) Value {
	text := arguments[0].str()
	s.grow(len(text))
	decoded, err := parseText(text)
	if wrong, ok := errors.AsType[*fingerprint.SyntaxError](err); ok {
		detail := fmt.Sprintf("the string is not acceptable JSON: %s at its offset %d", wrong.Reason, wrong.Offset)
		failure := s.failure(errInvalidValue, detail)
		failure.Err = err
		panic(failure)
	}
	return decoded
}

func powertoolsBase64(s *search, arguments []argument) Value {
	return s.utf8Text(s.decodeBase64(arguments[0].Value))
}

func powertoolsBase64Gzip(s *search, arguments []argument) Value {
	return s.utf8Text(s.gunzip(s.decodeBase64(arguments[0].Value)))
}

// decodeBase64 decodes the content of a string in the standard alphabet, with padding.
func (s *search) decodeBase64(text Value) []byte {
	decoded, err := base64.StdEncoding.DecodeString(text.str())
	if err != nil {
		panic(s.failure(errInvalidValue, "the string is not base64"))
	}
	return decoded
}

// gunzip stops at the bound, before more than that is in memory.
func (s *search) gunzip(packed []byte) []byte {
	var unpacked []byte
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		unpacked, err = io.ReadAll(io.LimitReader(reader, int64(s.growth)+1))
	}
	if len(unpacked) > s.growth {
		panic(s.failure(errLimit, "the string unpacks to more than allowed"))
	}
	if err != nil {
		panic(s.failure(errInvalidValue, "the decoded string is not gzip"))
	}
	return unpacked
}

func (s *search) utf8Text(content []byte) Value {
	if !utf8.Valid(content) {
		panic(s.failure(errInvalidValue, "the decoded string is not UTF-8"))
	}
	return s.string(string(content))
}
