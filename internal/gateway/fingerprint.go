package gateway

import (
	"encoding/base64"
	"strconv"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Fingerprint digests method, path, query and body of r, and those headers that count, with h. It returns the text of the
// digest. Ids, times, and headers that differ between deliveries of one request have no part in it. headers are in lower
// case, and their order counts, so callers sort them.
//
// Digests are stored. What is added here, and in which order, must never change.
func (r *Request) Fingerprint(h *fingerprint.Hash, headers []string) string {
	h.String("http")
	h.String(r.Method)
	h.String(r.Path)
	r.query.digest(h)
	r.digestBody(h)
	for _, name := range headers {
		h.String(name)
		values := r.event.headers.of(name)
		h.String(strconv.Itoa(len(values))) // tells a missing header from an empty one
		for _, value := range values {
			h.String(value)
		}
	}
	return h.Text()
}

// digestBody adds a JSON body by its value, and any other body by its bytes. A body that claims to be JSON but is not counts
// by its bytes; to refuse it is the business of the handler. A tag behind the body says which of the two it was. It cannot
// stand before the body, because only reading the body tells.
func (r *Request) digestBody(h *fingerprint.Hash) {
	body := r.event.decodedBody()
	if r.mayBeJSON() && h.JSON(body) == nil {
		h.String("json")
		return
	}
	h.Bytes(body)
	h.String("bytes")
}

func (e *event) decodedBody() []byte {
	if e.isBase64 {
		if body, err := base64.StdEncoding.AppendDecode(nil, e.body); err == nil {
			return body
		}
	}
	return e.body
}

// mayBeJSON reports whether no Content-Type header says that the body is something else.
func (r *Request) mayBeJSON() bool {
	for _, media := range r.event.headers.of(httpfield.ContentType) {
		if !httpfield.IsJSON(media) {
			return false
		}
	}
	return true
}
