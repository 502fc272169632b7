package gateway

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
