package gateway

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a place in an event that counts: a part of the request, or an object with such places in
// it.
type node struct {
	name    string
	part    part
	members []*node
}

// rootOf makes the nodes of an event that has its parts in these members.
func rootOf(members []member) *node {
	root := &node{}
	for _, m := range members {
		n := root
		for name := range strings.SplitSeq(m.path, ".") {
			n = n.child(name)
		}
		n.part = m.part
	}
	return root
}

// child returns the member of this name, which it adds if there is none.
func (n *node) child(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m
		}
	}
	n.members = append(n.members, &node{name: name})
	return n.members[len(n.members)-1]
}

// scanner walks through the JSON of an event and keeps the parts of the request. Its methods take
// what their names say, and white space before it. What none of the nodes stands for is skipped
// unread.
type scanner struct {
	text []byte
	at   int
	// encoded is true of JSON that encoding/json made of a decoded event: each name is there once,
	// and spelled as the type of the event spells it, or, in a map, as data.
	encoded bool
	// unusual is true as soon as the decoder has rules of its own for what was met, or there is no
	// event.
	unusual bool

	event *event
	kept  arena
}

// scan reads the event. It reports false as soon as something is unusual. Then the event is of no
// use.
func (s *scanner) scan(f *Family) bool {
	s.event.headers = s.event.room.headers(f.names)
	s.value(f.root)
	s.event.authorized = s.event.authorized && !s.event.named()
	return !s.unusual
}

// value takes the value at a node, or any value for a nil node. A null leaves the part as it is.
func (s *scanner) value(n *node) {
	switch c := s.peek(); {
	case n == nil:
		s.skip()
	case c == 'n':
		s.unusual = string(s.skip()) != "null" || s.unusual
	case len(n.members) > 0:
		s.object(n)
	case n.part == partHeaders:
		s.headers(singleMap)
	case n.part == partMultiHeaders:
		s.headers(multiMap)
	case n.part == partQuery:
		s.decode(&s.event.query)
	case n.part == partMultiQuery:
		s.decode(&s.event.multiQuery)
	case n.part == partBase64:
		s.event.isBase64 = string(s.skip()) == "true"
	case c != '"':
		s.other(n.part)
	case n.part == partBody:
		s.event.body = s.bytes()
	default:
		s.event.text[n.part] = s.string()
	}
}

func (s *scanner) object(n *node) {
	s.event.authorized = s.event.authorized || n.part == partAuthorizer
	var seen uint64
	others := false
	for more := s.open('{', '}'); more; more = s.more('}') {
		child := n.member(s.name(), &seen, s)
		switch null := s.peek() == 'n'; {
		case n.part != partAuthorizerMap:
		case !null:
			s.event.authorized, others = true, others || child == nil
		case child == nil: // it may take back one of its name
			s.unusual = s.unusual || others && !s.encoded
		}
		s.value(child)
	}
}

// member returns the node of a name, nil if there is none. The decoder has rules of its own for a
// name that is there twice, and for one that differs from that of a field in case alone.
func (n *node) member(name []byte, seen *uint64, s *scanner) *node {
	for i, m := range n.members {
		switch {
		case string(name) == m.name:
			bit := uint64(1) << i
			s.unusual = s.unusual || *seen&bit != 0
			*seen |= bit
			return m
		case !s.encoded && len(name) == len(m.name) && strings.EqualFold(string(name), m.name):
			s.unusual = true
		}
	}
	return nil
}

// headers takes a map of headers. One that is there in several spellings was sent several times. If
// multiValueHeaders has values of a header, these are all of them, and its value in headers is one
// of them.
func (s *scanner) headers(from headerMap) {
	h := &s.event.headers
	for more := s.open('{', '}'); more; more = s.more('}') {
		s.event.hasMulti = s.event.hasMulti || from == multiMap
		i := h.index(s.name(), s.encoded)
		if i < 0 {
			s.skip()
			continue
		}
		s.unusual = s.unusual || !s.encoded && h.from[i] == from
		switch {
		case from == multiMap && s.peek() == 'n', h.from[i] == multiMap && from == singleMap:
			s.skip()
		case from == multiMap:
			for next := s.open('[', ']'); next; next = s.more(']') {
				h.add(i, s.string(), from)
			}
		default:
			h.add(i, s.string(), from)
		}
	}
}

// index returns the number of a header, negative if the handler does not look at it. decoded says
// that the name need not be ASCII.
func (h *headers) index(name []byte, decoded bool) int {
	for i, known := range h.names {
		if (decoded || len(known) == len(name)) && strings.EqualFold(known, string(name)) {
			return i
		}
	}
	return -1
}

// add adds a value from a map. Values from multiValueHeaders replace one from headers.
func (h *headers) add(i int, value string, from headerMap) {
	if from != h.from[i] {
		h.from[i], h.values[i] = from, h.values[i][:0]
	}
	h.values[i] = append(h.values[i], value)
}

// other takes what is no text where a text is expected. A Lambda authorizer may call its principal
// an integer. From 2^53 on, decoding may have changed digits: two principals would become one.
func (s *scanner) other(as part) {
	const exact = 1 << 53
	n, err := strconv.ParseInt(string(s.skip()), 10, 64)
	switch integer := err == nil && -exact < n && n < exact; {
	case integer && as == partPrincipal:
		s.event.text[partPrincipalNumber] = strconv.FormatInt(n, 10)
	case !s.encoded:
		s.unusual = true
	}
}

// decode takes a map of the query.
func (s *scanner) decode(to any) {
	s.unusual = json.Unmarshal(s.skip(), to) != nil || s.unusual
}

// name takes the name of a member and the colon. The decoder may take a name with escape sequences
// or other characters than ASCII for that of a field.
func (s *scanner) name() []byte {
	name, plain := s.quoted()
	if !plain {
		s.unusual = s.unusual || !s.encoded
		name = s.decoded(name)
	}
	s.unusual = !s.take(':') || s.unusual
	return name
}

// string takes a string and returns a copy of what it stands for.
func (s *scanner) string() string {
	text, plain := s.quoted()
	if !plain {
		return string(s.decoded(text))
	}
	return s.kept.add(text)
}

// bytes is string for one that may be large.
func (s *scanner) bytes() []byte {
	text, plain := s.quoted()
	if !plain {
		return s.decoded(text)
	}
	return bytes.Clone(text)
}

// decoded returns what the text between two quotes stands for, just behind which the position is.
func (s *scanner) decoded(text []byte) []byte {
	whole := s.text[s.at-len(text)-2 : s.at]
	dst := make([]byte, 0, len(text))
	for valid := utf8.Valid(text); valid; {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return append(dst, text...)
		}
		short := strings.IndexByte(`"\/bfnrt`, text[at+1])
		if short < 0 {
			break
		}
		dst = append(append(dst, text[:at]...), "\"\\/\b\f\n\r\t"[short])
		text = text[at+2:]
	}
	var decoded string
	s.unusual = json.Unmarshal(whole, &decoded) != nil || s.unusual
	return []byte(decoded)
}

// quoted takes a string and returns what is between its quotes. plain says that it stands for
// itself: without escape sequences, and ASCII. JSON has no control characters in a string.
func (s *scanner) quoted() (text []byte, plain bool) {
	if !s.take('"') {
		s.unusual = true
		return nil, true
	}
	start := s.at
	plain = true
	for i := start; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[start:i], plain
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			s.unusual = true
			return nil, true
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.unusual = true
	return nil, true
}

// skip takes a value of any kind and returns its JSON. It looks only for where the value ends.
func (s *scanner) skip() []byte {
	c := s.peek()
	start := s.at
	switch c {
	case '"':
		s.quoted()
	case '{', '[':
		s.nested()
	default:
		for s.at < len(s.text) && strings.IndexByte(",]} \t\n\r", s.text[s.at]) < 0 {
			s.at++
		}
		s.unusual = s.unusual || s.at == start
	}
	return s.text[start:s.at]
}

// nested takes an object or an array.
func (s *scanner) nested() {
	for depth := 0; s.at < len(s.text) && !s.unusual; {
		switch s.text[s.at] {
		case '"':
			s.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
	s.unusual = true
}

// open enters an object or an array, and reports whether anything is in it.
func (s *scanner) open(begin, end byte) bool {
	if !s.take(begin) {
		s.unusual = true
		return false
	}
	return !s.take(end)
}

// more goes on to the next member or element, and reports whether there is one.
func (s *scanner) more(end byte) bool {
	switch {
	case s.unusual:
		return false
	case s.take(','):
		return true
	}
	s.unusual = !s.take(end)
	return false
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// peek returns the next byte that is no white space, 0 at the end, with which nothing begins.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// arena keeps the texts of one event in few allocations. It copies them, because the payload
// belongs to the caller.
type arena struct{ room strings.Builder }

// arenaSize is how many bytes an arena allocates at a time. They hold all texts of most requests.
const arenaSize = 512

func (a *arena) add(text []byte) string {
	if a.room.Cap()-a.room.Len() < len(text) {
		a.room = strings.Builder{}
		a.room.Grow(max(len(text), arenaSize))
	}
	start := a.room.Len()
	a.room.Write(text)
	return a.room.String()[start:]
}
