package jmespath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// The functions of AWS Powertools, as documented at
// https://docs.powertools.aws.dev/lambda/python/latest/utilities/jmespath_functions/

// powertoolsJSON decodes JSON in a string.
func powertoolsJSON(s *search, arguments []argument) (Value, error) {
	text := arguments[0].str()
	if err := s.grow(len(text)); err != nil {
		return Value{}, err
	}
	decoded, err := parseText(text)
	if err != nil {
		failure := fail(errInvalidValue, "the string is not acceptable JSON")
		if reason, ok := errors.AsType[*JSONError](err); ok {
			failure.Detail += fmt.Sprintf(": %s at its offset %d", reason.Detail, reason.Offset)
		}
		failure.Err = err
		return Value{}, failure
	}
	return decoded, nil
}

// powertoolsBase64 decodes base64 of UTF-8 text.
func powertoolsBase64(s *search, arguments []argument) (Value, error) {
	decoded, err := decodeBase64(arguments[0].Value)
	if err != nil {
		return Value{}, err
	}
	return s.utf8Text(decoded)
}

// powertoolsBase64Gzip decodes base64 of packed UTF-8 text.
func powertoolsBase64Gzip(s *search, arguments []argument) (Value, error) {
	packed, err := decodeBase64(arguments[0].Value)
	if err != nil {
		return Value{}, err
	}
	unpacked, err := s.gunzip(packed)
	if err != nil {
		return Value{}, err
	}
	return s.utf8Text(unpacked)
}

// base64 decodes the content of a string in the standard alphabet, with padding.
func decodeBase64(text Value) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(text.str())
	if err != nil {
		return nil, fail(errInvalidValue, "the string is not base64")
	}
	return decoded, nil
}

// gunzip stops at the bound, before more than that is in memory.
func (s *search) gunzip(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fail(errInvalidValue, "the decoded string is not gzip")
	}
	unpacked, err := io.ReadAll(io.LimitReader(reader, int64(s.growth)+1))
	if len(unpacked) > s.growth {
		return nil, fail(errLimit, "the string unpacks to more than allowed")
	}
	if err != nil {
		return nil, fail(errInvalidValue, "the decoded string is not gzip")
	}
	return unpacked, nil
}

// utf8Text makes a string of decoded bytes.
func (s *search) utf8Text(content []byte) (Value, error) {
	if !utf8.Valid(content) {
		return Value{}, fail(errInvalidValue, "the decoded string is not UTF-8")
	}
	return s.string(string(content))
}
