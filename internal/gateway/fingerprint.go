package gateway

import (
	"encoding/base64"
	"strconv"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Fingerprint digests method, path, query and body of r, and those headers that count, with h. It
// returns the text of the digest. Ids, times, and headers that differ between deliveries of one
// request have no part in it. headers are in lower case, and their order counts, so callers sort
// them. exact says that the handler tells names apart that differ only in case.
//
// Digests are stored. What is added here, and in which order, must never change.
func (r *Request) Fingerprint(h *fingerprint.Hash, headers []string, exact bool) string {
	h.String("http")
	h.String(r.Method)
	h.String(r.Path)
	r.query.digest(h)
	r.digestBody(h, exact)
	r.digestHeaders(h, headers)
	return h.Text()
}

// Endpoint adds to h what the fingerprint of every request covers, also where the handler selects
// the rest: method and path, and those headers that count.
func (r *Request) Endpoint(h *fingerprint.Hash, headers []string) {
	h.String("endpoint")
	h.String(r.Method)
	h.String(r.Path)
	r.digestHeaders(h, headers)
}

func (r *Request) digestHeaders(h *fingerprint.Hash, headers []string) {
	for _, name := range headers {
		h.String(name)
		values := r.event.headers.of(name)
		h.String(strconv.Itoa(len(values))) // tells a missing header from an empty one
		for _, value := range values {
			h.String(value)
		}
	}
}

func (r *Request) digestBody(h *fingerprint.Hash, exact bool) {
	body := r.event.decodedBody()
	if r.mayBeJSON() {
		DigestJSON(h, body, exact)
		return
	}
	digestBytes(h, body)
}

// DigestJSON adds to h a text by its value if it is JSON, and any other text by its bytes. A text
// that claims to be JSON but is not counts by its bytes; to refuse it is the business of the
// handler. So does JSON with names that differ only in case, unless the handler is exact: the order
// of these members decides what a decoder makes of it. A tag behind the text says which of the two
// it was. It cannot stand before the text, because only reading it tells.
func DigestJSON(h *fingerprint.Hash, text []byte, exact bool) {
	add := h.JSONFolding
	if exact {
		add = h.JSON
	}
	if add(text) != nil {
		digestBytes(h, text)
		return
	}
	h.String("json")
}

func digestBytes(h *fingerprint.Hash, text []byte) {
	h.Bytes(text)
	h.String("bytes")
}

// decodedBody keeps the body only as it decoded it: a large one is not there twice.
func (e *event) decodedBody() []byte {
	if e.isBase64 {
		if body, err := base64.StdEncoding.AppendDecode(nil, e.body); err == nil {
			e.body, e.isBase64 = body, false
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
