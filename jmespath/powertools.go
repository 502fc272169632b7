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
	if err := s.spend(len(arguments[0].text)); err != nil {
		return Value{}, err
	}
	decoded, err := parseText(arguments[0].str())
	if err != nil {
		failure := fail(ErrInvalidValue, "the string is not acceptable JSON")
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
	decoded, err := s.base64(arguments[0].Value)
	if err != nil {
		return Value{}, err
	}
	return utf8Text(decoded)
}

// powertoolsBase64Gzip decodes base64 of packed UTF-8 text.
func powertoolsBase64Gzip(s *search, arguments []argument) (Value, error) {
	packed, err := s.base64(arguments[0].Value)
	if err != nil {
		return Value{}, err
	}
	unpacked, err := s.gunzip(packed)
	if err != nil {
		return Value{}, err
	}
	return utf8Text(unpacked)
}

// base64 decodes the content of a string in the standard alphabet, with padding.
func (s *search) base64(text Value) ([]byte, error) {
	if err := s.spend(len(text.text)); err != nil {
		return nil, err
	}
	decoded, err := base64.StdEncoding.DecodeString(text.str())
	if err != nil {
		return nil, fail(ErrInvalidValue, "the string is not base64")
	}
	return decoded, nil
}

// gunzip stops at the limit of WithMaxUnpacked, before more than that is in memory.
func (s *search) gunzip(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fail(ErrInvalidValue, "the decoded string is not gzip")
	}
	beyond := max(int64(s.unpacked), int64(s.unpacked)+1) // which could overflow
	unpacked, err := io.ReadAll(io.LimitReader(reader, beyond))
	if len(unpacked) > s.unpacked {
		return nil, fail(ErrLimit, "the string unpacks to more than allowed")
	}
	if err != nil {
		return nil, fail(ErrInvalidValue, "the decoded string is not gzip")
	}
	s.unpacked -= len(unpacked)
	s.earn(len(unpacked))
	return unpacked, nil
}

// utf8Text makes a string of decoded bytes.
func utf8Text(content []byte) (Value, error) {
	if !utf8.Valid(content) {
		return Value{}, fail(ErrInvalidValue, "the decoded string is not UTF-8")
	}
	return stringValue(string(content)), nil
}
