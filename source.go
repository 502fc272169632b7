package idempotent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// source is the event of a delivery. It is decoded when somebody first asks for it.
type source[In any] struct {
	payload []byte
	in      In
	decoded bool
	// http is what identify read of an HTTP request. Answers are made from it and not from the event, which the handler
	// may have changed meanwhile.
	http gateway.Request
}

// event decodes the payload, once. Like lambda.NewHandler it ignores what follows the first JSON value.
func (s *source[In]) event() (In, error) {
	if s.decoded {
		return s.in, nil
	}
	if err := json.Unmarshal(s.payload, &s.in); err != nil {
		// Unmarshal comes first because it does not copy the payload. But it refuses text behind the first value, and
		// its errors are not those of a Decoder, which lambda.NewHandler uses.
		if err := json.NewDecoder(bytes.NewReader(s.payload)).Decode(&s.in); err != nil {
			return s.in, err
		}
	}
	s.decoded = true
	return s.in, nil
}

// json returns the event as the caller sent it. For an event by value it returns the JSON that encodes it.
func (s *source[In]) json() ([]byte, error) {
	if s.payload == nil && s.decoded {
		return encodeJSON(s.in)
	}
	return s.payload, nil
}

var errStream = errors.New("idempotent: the result is a stream, which cannot be stored and replayed")

// encodeJSON encodes as lambda.NewHandler does: it does not escape HTML, and writes no newline at the end.
func encodeJSON(v any) ([]byte, error) {
	var text written
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	// lambda.NewHandler would send this value as a stream.
	if _, ok := v.(io.Reader); ok && (err != nil || bytes.HasPrefix(text, []byte("{}"))) {
		return nil, errStream
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// written collects what is written to it. A json.Encoder writes once, so this takes no more room than the text.
type written []byte

func (w *written) Write(text []byte) (int, error) {
	*w = append(*w, text...)
	return len(text), nil
}
