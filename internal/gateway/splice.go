package gateway

import (
	"bytes"
	"slices"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// large is the size from which [Family.Splice] changes a text where it stands. Below, a copy costs
// next to nothing.
const large = 64 << 10

// Room returns the capacity that a text of this size needs for [Family.Splice] to do without a
// copy.
func Room(size int) int {
	if size < large {
		return size
	}
	return size + maxAnnounced
}

// Splice adds an announcement to the JSON of a response, which says what [Family.Announce] would
// make of it. Decoding and encoding a response would take longer than the rest of a replay. Splice
// does not read the text: the headers stand at its beginning. A large text is the caller's no
// longer: where there is room, it becomes the answer. A smaller one stays as it is.
//
// text must be what encoding/json, without escaping HTML, makes of a response of any family,
// without a header that an announcement replaces. The caller vouches for that.
//
// Splice reports false, and leaves text and the work to [Family.Announce], if the announcement adds
// nothing, if the response is one of another family, and for a load balancer, which reads the
// headers in either of two maps.
func (f *Family) Splice(text []byte, a Announcement) (answer []byte, ok bool) {
	const begin, status, headers = `{"statusCode":`, `200`, `,"headers":`
	const size = len(begin) + len(status) + len(headers)
	ended := func(end string) bool { return bytes.HasSuffix(text, []byte(end)) }
	if !a.Replayed && a.Expires.IsZero() || len(text) < size || !slices.ContainsFunc(f.ends, ended) ||
		!bytes.HasPrefix(text, []byte(begin)) ||
		!bytes.HasSuffix(text[:size], []byte(headers)) {
		return nil, false
	}
	added := a.appendTo(append(make([]byte, 0, maxAnnounced), '{'))
	var end int // of what the announcement replaces
	switch rest := text[size:]; {
	case bytes.HasPrefix(rest, []byte("null,")):
		added, end = append(added, '}'), size+len("null")
	case bytes.HasPrefix(rest, []byte("{}")):
		end = size + len("{")
	case rest[0] == '{':
		added, end = append(added, ','), size+len("{")
	default:
		return nil, false
	}
	if len(text) < large {
		text = append(make([]byte, 0, len(text)+len(added)), text...)
	}
	return slices.Replace(text, size, end, added...), true
}

// maxAnnounced is about the most that an announcement adds to a text.
const maxAnnounced = len(`{`) + 2*len(`"":"",`) + len(httpfield.Replayed) + len(replayMark) +
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
