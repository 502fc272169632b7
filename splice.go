package idempotent

import "time"

// spliced is answerForm on the wire: text, the JSON of a response, with the headers that we add, byte for byte as if it
// had been decoded, brought into answerForm and encoded. That takes one copy and reads nothing of the body, because
// everything that has to be known stands before it.
//
// text must be what encodeJSON made of a response of these families, be it when it was stored: the commit of a record
// vouches for that. Of what stands behind the headers only the end is looked at, which tells the families apart. Two of
// them find the same records.
//
// It gives up on whatever is not as expected, on a header that has to be taken out, and on headers that have to be
// brought into the other form.
//
// One thing has two spellings in JSON, and keeps that of the first answer here: of what is no UTF-8, encoding/json makes
// \ufffd, and the character itself once that has been decoded.
func (s *httpShape[In, Out]) spliced(src *source[In], text []byte, expires time.Time, replayed bool) ([]byte, bool) {
	added := make([]addedHeader, 0, maxAdded)
	if replayed {
		added = append(added, addedHeader{name: replayedHeader})
	}
	if !expires.IsZero() && s.http.ExpiresHeader != noHeader {
		added = append(added, addedHeader{name: s.http.ExpiresHeader, expires: expires})
	}
	if len(added) == 0 {
		return nil, false
	}
	if last := len(added) - 1; added[last].name < added[0].name {
		added[0], added[last] = added[last], added[0]
	}
	r := textReader{text: text, added: added, own: s.http.ownHeaders()}
	headers, multi, ok := formOf[Out]().read(&r)
	if !ok {
		return nil, false
	}
	read, other := headers, multi
	if src.http.form == readsMulti {
		read, other = multi, headers
	}
	if src.http.form != 0 && read.empty() && !other.empty() {
		return nil, false // to be brought into the other form, see httpResponse.adding
	}
	return read.with(text, added, src.http.form == readsMulti), true
}

// maxAdded is how many headers we add: the mark of a replay and the expiry.
const maxAdded = 2

// addedHeader is a header of our own: the expiry, or without one the mark of a replay. Nothing in it has to be escaped.
type addedHeader struct {
	name    string
	expires time.Time
}

func (a addedHeader) appendTo(dst []byte, multi bool) []byte {
	dst = append(append(append(dst, '"'), a.name...), `":`...)
	if multi {
		dst = append(dst, '[')
	}
	dst = append(dst, '"')
	if a.expires.IsZero() {
		dst = append(dst, headerTrue...)
	} else {
		dst = a.expires.UTC().AppendFormat(dst, httpDate)
	}
	dst = append(dst, '"')
	if multi {
		dst = append(dst, ']')
	}
	return dst
}

// headersAt is a map of headers in a text: where it is from start to end, and its members from first to last. Without
// any, these are the same; what we have to add to null is added to an empty map.
type headersAt struct {
	start, end, first, last int
	// places are those of the headers that we add. encoding/json sorts by name, as bytes.
	places [maxAdded]int
}

func (h headersAt) empty() bool { return h.first == h.last }

// with is text with more headers.
func (h headersAt) with(text []byte, added []addedHeader, multi bool) []byte {
	room := len(text) + len("{}")
	for _, a := range added {
		room += len(a.name) + len(httpDate) + len(`"":[""],`)
	}
	dst := append(make([]byte, 0, room), text[:h.start]...)
	dst = append(dst, '{')
	from := h.first
	for i, a := range added {
		dst = append(dst, text[from:h.places[i]]...)
		from = h.places[i]
		if from == h.last && dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = a.appendTo(dst, multi)
		if from < h.last {
			dst = append(dst, ',')
		}
	}
	dst = append(append(dst, text[from:h.last]...), '}')
	return append(dst, text[h.end:]...)
}
