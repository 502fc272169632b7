package idempotent

import (
	"bytes"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// responseForm is how encodeJSON writes the responses of a family: a status, headers, and from the body on what is not
// read. encoding/json keeps the order of the fields.
type responseForm struct {
	// described says that a description follows the status, multi that multi-value headers follow the headers, and
	// bodyless that a body that is empty is left out.
	described, multi, bodyless bool
	// ends are what follows the body, or the end of it. No two families have one in common that begin alike.
	ends [2]string
}

// formOf is the form of a response, by value or by pointer.
func formOf[Out any]() responseForm {
	switch any((*Out)(nil)).(type) {
	case *events.APIGatewayV2HTTPResponse, **events.APIGatewayV2HTTPResponse:
		return responseForm{multi: true, ends: [2]string{`,"cookies":null}`, `]}`}}
	case *events.APIGatewayProxyResponse, **events.APIGatewayProxyResponse:
		return responseForm{multi: true, ends: [2]string{`"}`, `,"isBase64Encoded":true}`}}
	case *events.LambdaFunctionURLResponse, **events.LambdaFunctionURLResponse:
		return responseForm{ends: [2]string{`,"cookies":null}`, `]}`}}
	case *events.ALBTargetGroupResponse, **events.ALBTargetGroupResponse:
		return responseForm{
			described: true, multi: true, bodyless: true,
			ends: [2]string{`,"isBase64Encoded":false}`, `,"isBase64Encoded":true}`},
		}
	default:
		return responseForm{} // no text has this one
	}
}

// read finds the headers in a text of this form.
func (f responseForm) read(r *textReader) (headers, multi headersAt, ok bool) {
	ok = r.skip(`{"statusCode":`) && r.skipStatus()
	if f.described {
		ok = ok && r.skip(`,"statusDescription":`) && r.skipString()
	}
	ok = ok && r.skip(`,"headers":`) && r.readHeaders(&headers, false)
	if f.multi {
		ok = ok && r.skip(`,"multiValueHeaders":`) && r.readHeaders(&multi, true)
	}
	return headers, multi, ok && f.ended(r.text[r.at:])
}

// ended reports whether rest is what follows the headers.
func (f responseForm) ended(rest []byte) bool {
	for _, end := range f.ends {
		if body, found := bytes.CutSuffix(rest, []byte(end)); found && end != "" {
			return bytes.HasPrefix(body, []byte(`,"body":"`)) || f.bodyless && len(body) == 0
		}
	}
	return false
}

// textReader reads a text from the beginning. Its methods report whether what they are named after comes next.
type textReader struct {
	text []byte
	at   int
	// added are the headers to find places for. A text with a header of our own names cannot be read.
	added []addedHeader
	own   [3]string
}

func (r *textReader) skip(literal string) bool {
	if len(r.text)-r.at < len(literal) || string(r.text[r.at:r.at+len(literal)]) != literal {
		return false
	}
	r.at += len(literal)
	return true
}

// skipStatus takes three digits, which is what the status of a response has.
func (r *textReader) skipStatus() bool {
	const digits = 3
	for i := range digits {
		if r.at == len(r.text) || r.text[r.at] < '0' || r.text[r.at] > '9' || i == 0 && r.text[r.at] == '0' {
			return false
		}
		r.at++
	}
	return true
}

func (r *textReader) skipString() bool {
	if !r.skip(`"`) {
		return false
	}
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '"':
			r.at++
			return true
		case '\\':
			r.at += 2
		default:
			r.at++
		}
	}
	return false
}

// readHeaders takes an object, or null, with the names in order, each once.
func (r *textReader) readHeaders(h *headersAt, multi bool) bool {
	h.start = r.at
	if r.skip("null") {
		h.end, h.first, h.last = r.at, r.at, r.at
		h.places = [maxAdded]int{r.at, r.at}
		return true
	}
	if !r.skip("{") {
		return false
	}
	h.first = r.at
	var before []byte
	placed := 0
	for !r.skip("}") {
		if r.at > h.first && !r.skip(",") {
			return false
		}
		at := r.at
		name, ok := r.readName()
		if !ok || at > h.first && bytes.Compare(before, name) >= 0 || !r.skip(":") || !r.skipValue(multi) {
			return false
		}
		for placed < len(r.added) && r.added[placed].name < string(name) {
			h.places[placed] = at
			placed++
		}
		before = name
	}
	h.end, h.last = r.at, r.at-1
	for ; placed < len(r.added); placed++ {
		h.places[placed] = h.last
	}
	return true
}

// readName takes a name that is printable ASCII without escapes, and none of our own. Such a name has one spelling, and
// its order is that of its bytes.
func (r *textReader) readName() ([]byte, bool) {
	if !r.skip(`"`) {
		return nil, false
	}
	start := r.at
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			name := r.text[start:r.at]
			r.at++
			return name, !r.owns(name)
		case c == '\\' || c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// owns is HTTP.owns. All of these names are ASCII.
func (r *textReader) owns(name []byte) bool {
	for _, own := range r.own {
		if len(own) == len(name) && strings.EqualFold(own, string(name)) {
			return true
		}
	}
	return false
}

// skipValue takes the value of a header, or its values.
func (r *textReader) skipValue(multi bool) bool {
	if !multi {
		return r.skipString()
	}
	if r.skip("null") {
		return true
	}
	if !r.skip("[") {
		return false
	}
	for first := r.at; !r.skip("]"); {
		if r.at > first && !r.skip(",") || !r.skipString() {
			return false
		}
	}
	return true
}
