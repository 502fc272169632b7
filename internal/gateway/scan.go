package gateway

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
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
// what is at a position, and return the position behind it: -1 as soon as the decoder has rules of
// its own for something, or there is no event. What none of the nodes stands for is skipped unread.
type scanner struct {
	text []byte
	// encoded is true of JSON that encoding/json made of a decoded event: each name is there once,
	// and spelled as the type of the event spells it, or, in a map, as data.
	encoded bool

	event *event
	// room keeps the texts of one event in few allocations. They are copies, because the payload
	// belongs to the caller.
	room strings.Builder
}

// value takes the value of a node, or any value for a nil node. A null leaves the part as it is.
func (s *scanner) value(n *node, at int) (end int) {
	end = -1
	switch {
	case n == nil || at == len(s.text):
		return jsontext.End(s.text, at)
	case s.text[at] == 'n':
		if bytes.HasPrefix(s.text[at:], []byte("null")) {
			end = at + len("null")
		}
		return end
	case len(n.members) > 0:
		return s.object(n, at)
	case n.part == partHeaders:
		return s.headers(singleMap, at)
	case n.part == partMultiHeaders:
		return s.headers(multiMap, at)
	case n.part == partBody && s.text[at] == '"':
		var own bool
		if s.event.body, own, end = quoted(s.text, at); !own {
			s.event.body = bytes.Clone(s.event.body)
		}
		return end
	case n.part < textParts && s.text[at] == '"':
		s.event.text[n.part], end = s.string(at)
		return end
	}
	if end = jsontext.End(s.text, at); end >= 0 && !s.other(n.part, s.text[at:end]) {
		return -1
	}
	return end
}

// other takes what is no text. A Lambda authorizer may call its principal an integer. From 2^53 on,
// decoding may have changed digits: two principals would become one.
func (s *scanner) other(as part, sent []byte) (usual bool) {
	switch as { //nolint:exhaustive // the others are texts
	case partQuery:
		return json.Unmarshal(sent, &s.event.query) == nil
	case partMultiQuery:
		return json.Unmarshal(sent, &s.event.multiQuery) == nil
	case partBase64:
		s.event.isBase64 = string(sent) == "true"
		return true
	case partPrincipal:
		const exact = 1 << 53
		if n, err := strconv.ParseInt(string(sent), 10, 64); err == nil && -exact < n && n < exact {
			s.event.text[partPrincipalNumber] = strconv.FormatInt(n, 10)
			return true
		}
	}
	return s.encoded
}

func (s *scanner) object(n *node, at int) (end int) {
	if s.text[at] != '{' {
		return -1
	}
	s.event.authorized = s.event.authorized || n.part == partAuthorizer
	var seen uint64
	others := false
	return jsontext.Within(s.text, at, func(name []byte, at int) int {
		child, usual := s.member(n, name, &seen)
		switch null := at < len(s.text) && s.text[at] == 'n'; {
		case n.part != partAuthorizerMap:
		case !null:
			s.event.authorized, others = true, others || child == nil
		case child == nil: // it may take back one of its name
			usual = usual && (!others || s.encoded)
		}
		if !usual {
			return -1
		}
		return s.value(child, at)
	})
}

// member returns the node of a name, nil if there is none. The decoder has rules of its own for a
// name that is there twice, and for one that differs from that of a field in case alone.
func (s *scanner) member(n *node, quoted []byte, seen *uint64) (of *node, usual bool) {
	name, usual := s.name(quoted)
	for i, m := range n.members {
		switch {
		case string(name) == m.name:
			bit := uint64(1) << i
			usual = usual && *seen&bit == 0
			*seen |= bit
			return m, usual
		case !s.encoded && len(name) == len(m.name) && strings.EqualFold(string(name), m.name):
			return nil, false
		}
	}
	return nil, usual
}

// headers takes a map of headers. One that is there in several spellings was sent several times. If
// multiValueHeaders has values of a header, these are all of them, and its value in headers is one
// of them.
func (s *scanner) headers(from headerMap, at int) (end int) {
	if s.text[at] != '{' {
		return -1
	}
	return jsontext.Within(s.text, at, func(name []byte, at int) int {
		s.event.hasMulti = s.event.hasMulti || from == multiMap
		name, usual := s.name(name)
		h := s.event.header(name, s.encoded)
		switch {
		case !usual, h != nil && !s.encoded && h.from == from:
			return -1
		case h == nil, h.from == multiMap && from == singleMap,
			from == multiMap && at < len(s.text) && s.text[at] == 'n':
			return jsontext.End(s.text, at)
		case from == multiMap && (at == len(s.text) || s.text[at] != '['):
			return -1
		}
		add := func(_ []byte, at int) int {
			value, end := s.string(at)
			if from != h.from { // values from multiValueHeaders replace one from headers
				h.from, h.values = from, h.one[:0]
			}
			h.values = append(h.values, value)
			return end
		}
		if from == singleMap {
			return add(nil, at)
		}
		return jsontext.Within(s.text, at, add)
	})
}

// name returns a name without its quotes. The decoder may take one with escape sequences or other
// characters than ASCII for that of a field.
func (s *scanner) name(sent []byte) (name []byte, usual bool) {
	name, own, end := quoted(sent, 0)
	return name, end >= 0 && (!own || s.encoded)
}

// string takes a string and returns a copy of what it stands for.
func (s *scanner) string(at int) (text string, end int) {
	const atATime = 512 // they hold all texts of most requests
	content, _, end := quoted(s.text, at)
	if s.room.Cap()-s.room.Len() < len(content) {
		s.room = strings.Builder{}
		s.room.Grow(max(len(content), atATime))
	}
	start := s.room.Len()
	s.room.Write(content)
	return s.room.String()[start:], end
}

// quoted reads the string at a position, and returns what it stands for and the position behind it,
// -1 if there is none. own is false of a part of text: ASCII without escape sequences. JSON has no
// control characters in a string.
func quoted(text []byte, at int) (content []byte, own bool, end int) {
	for i := at + 1; i < len(text) && text[at] == '"'; i++ {
		switch c := text[i]; {
		case c == '"' && own:
			if content, own = decoded(text[at : i+1]); !own {
				return nil, false, -1
			}
			return content, true, i + 1
		case c == '"':
			return text[at+1 : i], false, i + 1
		case c == '\\':
			own = true
			i++
		case c < ' ':
			return nil, false, -1
		case c >= utf8.RuneSelf:
			own = true
		}
	}
	return nil, false, -1
}

// decoded returns what a string stands for, which is given with its quotes.
func decoded(whole []byte) (content []byte, ok bool) {
	text := whole[1 : len(whole)-1]
	content = make([]byte, 0, len(text))
	for valid := utf8.Valid(text); valid; {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return append(content, text...), true
		}
		short := strings.IndexByte(`"\/bfnrt`, text[at+1])
		if short < 0 {
			break
		}
		content = append(append(content, text[:at]...), "\"\\/\b\f\n\r\t"[short])
		text = text[at+2:]
	}
	var other string
	err := json.Unmarshal(whole, &other)
	return []byte(other), err == nil
}
