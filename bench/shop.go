package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
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

// shop is the handler of all cases. It answers every order with the same response at once, and
// counts.
type shop struct {
	executed atomic.Int64
	response response
}

func (s *shop) charge(context.Context, request) (response, error) {
	s.executed.Add(1)
	return s.response, nil
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

// check compares an answer with the response of the handler, but for the headers that tell a client
// about its key.
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

// orderDocument returns a JSON document of about size bytes, always the same one: an order with as
// many lines as fit, or from 100 KB on a list of orders of 3 KB. Members are in the order of a
// program that does not care.
func orderDocument(size int) []byte {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	if size < 100<<10 {
		return appendOrder(nil, random, size)
	}
	doc := []byte(`{"page":1,"orders":[`)
	for len(doc) < size {
		doc = append(appendOrder(doc, random, 3<<10), ',')
	}
	return append(doc[:len(doc)-1], `],"next":null,"count":`+strconv.Itoa(size/(3<<10))+`}`...)
}

func appendOrder(doc []byte, random *rand.Rand, size int) []byte {
	end := len(doc) + size
	doc = fmt.Appendf(doc, `{"orderId":"%016x","customer":{"name":"Zo\u00eb Müller","id":%d},"currency":"EUR","lines":[`,
		random.Uint64(), random.IntN(1_000_000))
	for {
		doc = fmt.Appendf(doc, `{"sku":"%c-%04d","quantity":%d,"price":%d.%02d}`,
			'A'+random.IntN(26), random.IntN(10_000), 1+random.IntN(9), random.IntN(500), random.IntN(100))
		if len(doc)+lineLength > end {
			break
		}
		doc = append(doc, ',')
		if random.IntN(4) == 0 {
			doc = append(doc, "\n  "...) // somebody's line breaks
		}
	}
	return fmt.Appendf(doc, `],"amount":%d.%02d,"paid":false}`, random.IntN(5000), random.IntN(100))
}

// lineLength is about that of a line and of what ends an order.
const lineLength = 80
