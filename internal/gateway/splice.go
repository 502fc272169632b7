package gateway

import (
	"bytes"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Splice adds an announcement to the JSON of a response, which says what [Family.Announce] would
// make of it. Decoding and encoding a response would take longer than the rest of a replay. Splice
// copies the text once, and does not read it: the headers stand at its beginning. text itself stays
// as it is.
//
// text must be what encoding/json, without escaping HTML, makes of a response of any family,
// without a header that an announcement replaces. The caller vouches for that.
//
// Splice reports false, and leaves the work to [Family.Announce], if the announcement adds nothing,
// if the response is one of another family, and for a load balancer, which reads the headers in
// either of two maps.
func (f *Family) Splice(text []byte, a Announcement) (answer []byte, ok bool) {
	const begin, status, headers = `{"statusCode":`, `200`, `,"headers":`
	const size = len(begin) + len(status) + len(headers)
	if !a.Replayed && a.Expires.IsZero() || len(text) < size || !f.ended(text) ||
		!bytes.HasPrefix(text, []byte(begin)) ||
		!bytes.HasSuffix(text[:size], []byte(headers)) {
		return nil, false
	}
	rest := text[size:]
	answer = append(make([]byte, 0, len(text)+len(`{},`)+maxAnnounced), text[:size]...)
	answer = a.appendTo(append(answer, '{'))
	switch {
	case bytes.HasPrefix(rest, []byte("null,")):
		return append(append(answer, '}'), rest[len("null"):]...), true
	case bytes.HasPrefix(rest, []byte("{}")):
		return append(answer, rest[1:]...), true
	case rest[0] == '{':
		return append(append(answer, ','), rest[1:]...), true
	default:
		return nil, false
	}
}

// ended reports whether text ends as a response of this family. Texts of families that begin alike
// end differently.
func (f *Family) ended(text []byte) bool {
	for _, end := range f.ends {
		if end != "" && bytes.HasSuffix(text, []byte(end)) {
			return true
		}
	}
	return false
}

// maxAnnounced is about the most that an announcement adds to a text.
const maxAnnounced = 2*len(`"":"",`) + len(httpfield.Replayed) + len(replayMark) +
	len(httpfield.ExpiresHeader) + len(httpfield.Date)

// appendTo appends the headers of an announcement that has some as members of a JSON object.
// Nothing in them has to be escaped.
func (a Announcement) appendTo(dst []byte) []byte {
	if !a.Expires.IsZero() {
		dst = append(dst, `"`+httpfield.ExpiresHeader+`":"`...)
		dst = append(a.Expires.UTC().AppendFormat(dst, httpfield.Date), '"')
		if a.Replayed {
			dst = append(dst, ',')
		}
	}
	if a.Replayed {
		dst = append(dst, `"`+httpfield.Replayed+`":"`+replayMark+`"`...)
	}
	return dst
}
