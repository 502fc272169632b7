package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/events"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

const (
	contentType = "Content-Type"
	mediaType   = "application/json"
)

// shop is the handler of all cases. It answers every order with the same response at once, and counts.
type shop struct {
	executed atomic.Int64
	response response
	// fresh gives each response a body of its own, as a handler that has something to say makes one.
	fresh bool
}

func (s *shop) charge(context.Context, request) (response, error) {
	s.executed.Add(1)
	out := s.response
	if s.fresh {
		out.Body = strings.Clone(out.Body)
	}
	return out, nil
}

// result is what a shop answers. Its size is that of the response as JSON.
type result struct {
	name     string
	size     int
	response response
}

// orders is a response with a list of orders as JSON.
func orders(name string, size int) result {
	return sized(name, size, func(size int) response {
		r := created(mediaType)
		r.Body = string(orderDocument(size))
		return r
	})
}

// noise is a response that cannot be compressed below three quarters: random bytes in base64.
func noise(name string, size int) result {
	return sized(name, size, func(size int) response {
		content := make([]byte, base64.StdEncoding.DecodedLen(size))
		_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
		r := created("application/pdf")
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(content), true
		return r
	})
}

func created(media string) response {
	return response{
		StatusCode: 201,
		Headers:    map[string]string{contentType: media, "Location": "/charges/ch_3PqX7c2eZvKYlo2C"},
	}
}

// sized makes a response whose JSON has about that many bytes, whatever escaping adds to the body.
func sized(name string, size int, of func(size int) response) result {
	body := size
	for range 3 {
		body = max(body+size-len(asJSON(of(body))), 1)
	}
	r := of(body)
	return result{name: name, size: len(asJSON(r)), response: r}
}

// asJSON encodes as lambda.NewHandler does.
func asJSON(r response) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		panic(err) // it is made of strings
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// check compares an answer with the response of the handler, but for the headers that tell a client about its key.
func (s *shop) check(answer []byte) error {
	var got response
	if err := json.Unmarshal(answer, &got); err != nil {
		return fmt.Errorf("the answer is no response: %w", err)
	}
	same := got.StatusCode == s.response.StatusCode && got.Body == s.response.Body &&
		got.IsBase64Encoded == s.response.IsBase64Encoded
	for name, value := range s.response.Headers {
		same = same && got.Headers[name] == value
	}
	if !same {
		return fmt.Errorf("the answer is not what the handler returned: %.200s", answer)
	}
	return nil
}
