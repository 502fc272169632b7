package gateway

import (
	"bytes"
	"strings"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Splice adds an announcement to the JSON of a response. The answer is byte for byte what decoding text, [Family.Announce] and
// encoding the result would make of it. Splice needs one copy of the text for that. It does not read the body, because the
// headers stand before it. text itself stays as it is.
//
// text must be what encoding/json, without escaping HTML, makes of a response of any family. The caller vouches for that.
// Splice checks the text up to the headers and at its end. The end tells the families apart, which matters because handlers
// of two families may find the same records.
//
// Splice reports false, and [Family.Announce] has to do the work, if the announcement adds nothing, if the text is not as
// expected, if a header has to give way, or if headers have to move to the other map. r may be refused or never read.
//
// In one case the bytes differ. encoding/json writes invalid UTF-8 as \ufffd, but once that was decoded it writes the character
// itself. Here the spelling of the text stays.
func (f *Family) Splice(r *Request, text []byte, a Announcement) (answer []byte, ok bool) {
	room, n := added(a)
	if n == 0 {
		return nil, false
	}
	t := textReader{text: text, added: room[:n]}
	headers, multi, ok := f.layout.read(&t)
	if !ok {
		return nil, false
	}
	read, other := headers, multi
	if r.answerIn == multiMap {
		read, other = multi, headers
	}
	if r.answerIn != eitherMap && read.empty() && !other.empty() {
		return nil, false // response.adding moves the headers
	}
	return read.with(text, t.added, r.answerIn == multiMap), true
}

// layout says how encoding/json lays out the responses of a family. All of them begin with the status and the headers, because
// encoding/json keeps the order of the fields. The zero layout fits no text.
type layout struct {
	// described says that a description follows the status.
	described bool
	// multi says that multiValueHeaders follow the headers.
	multi bool
	// bodyless says that an empty body is left out.
	bodyless bool
	// ends are the two ends that a text may have: what follows the body, or the end of that. Families whose texts begin alike
	// have different ends.
	ends [2]string
}

// read finds the two maps of headers in a text of this layout.
func (l layout) read(r *textReader) (headers, multi headersAt, ok bool) {
	ok = r.skip(`{"statusCode":`) && r.skipStatus()
	if l.described {
		ok = ok && r.skip(`,"statusDescription":`) && r.skipString()
	}
	ok = ok && r.skip(`,"headers":`) && r.readHeaders(&headers, false)
	if l.multi {
		ok = ok && r.skip(`,"multiValueHeaders":`) && r.readHeaders(&multi, true)
	}
	return headers, multi, ok && l.ended(r.text[r.at:])
}

// ended reports whether rest can follow the headers in a text of this layout.
func (l layout) ended(rest []byte) bool {
	for _, end := range l.ends {
		if body, found := bytes.CutSuffix(rest, []byte(end)); found && end != "" {
			return bytes.HasPrefix(body, []byte(`,"body":"`)) || l.bodyless && len(body) == 0
		}
	}
	return false
}

// textReader reads a text from the beginning. Its methods report whether the next thing is what their name says, and move
// behind it.
type textReader struct {
	text []byte
	at   int
	// added are the headers to find places for.
	added []addedHeader
}

func (r *textReader) skip(literal string) bool {
	if len(r.text)-r.at < len(literal) || string(r.text[r.at:r.at+len(literal)]) != literal {
		return false
	}
	r.at += len(literal)
	return true
}

// skipStatus takes three digits. The status of every response that a gateway accepts has three.
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

// readHeaders takes an object or null. The names in the object have to be sorted, each once.
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

// readName takes a name of printable ASCII without escape sequences. Such a name has only one spelling in JSON, so its bytes
// can be compared. The name must not be one of the owned.
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
			return name, !ownsText(name)
		case c == '\\' || c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// ownsText is owns without an allocation. All of these names are ASCII.
func ownsText(name []byte) bool {
	for _, own := range owned {
		if len(own) == len(name) && strings.EqualFold(own, string(name)) {
			return true
		}
	}
	return false
}

// skipValue takes the value of a header. multi says whether it is an array of values, or null.
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

// headersAt is where a text has a map of headers.
type headersAt struct {
	// The map is text[start:end], and its members are text[first:last]. A map without members has first equal to last, and so
	// has null, which becomes a map when headers are added.
	start, end, first, last int
	// places are where the added headers belong. encoding/json sorts members by the bytes of their names.
	places [maxAdded]int
}

func (h headersAt) empty() bool { return h.first == h.last }

// with returns a copy of the text with more headers in this map. multi says whether it is the map with several values.
func (h headersAt) with(text []byte, added []addedHeader, multi bool) []byte {
	room := len(text) + len("{}")
	for _, a := range added {
		room += len(a.name) + len(httpfield.Date) + len(`"":[""],`)
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

// appendTo appends the header as a member of a JSON object. multi says whether its value is an array.
