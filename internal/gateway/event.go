package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// event holds the parts of an event that make its request, as the gateway sent them.
type event struct {
	text       [textParts]string
	query      map[string]string   // from a gateway that takes the query apart;
	multiQuery map[string][]string // others send partRawQuery
	names      []string            // those of the family
	headers    []header            // of each name
	hasMulti   bool                // the gateway sent a header in multiValueHeaders
	body       []byte
	isBase64   bool
	authorized bool      // an authorizer let the caller in, with or without a name for it
	room       [7]header // memory for the headers of a usual handler
}

type header struct {
	values []string  // in the order in which they were sent
	from   part      // partHeaders or partMultiHeaders
	one    [1]string // memory for a single value
}

// part says what a member of an event is to its request. Each family has it elsewhere.
type part int32

const (
	partMethod part = iota + 1
	partPath
	partRoute
	partAPI
	partStage
	partRequestID
	partRawQuery
	partDomain
	partDomainPrefix
	// The gateway establishes the caller by one of these, see [event.caller].
	partIssuer
	partSubject
	partPrincipal
	partPrincipalNumber // a principal that is an integer instead of a string
	partIdentity
	partAccount
	partUser
	partUserARN
	partAPIKey
	textParts // every part above is a text

	partAuthorizer    // that there is one, and not what it is
	partAuthorizerMap // that something in it is not null
	partBody
	partBase64
	partHeaders
	partMultiHeaders
	partQuery
	partMultiQuery
)

// member is the place where the events of a family have a part.
type member struct {
	path string // the fields from the event inwards, and the names in a map, with dots between them
	part part
}

// membersOfAll are in the same place in all families.
var membersOfAll = []member{
	{"Headers", partHeaders},
	{"Body", partBody},
	{"IsBase64Encoded", partBase64},
}

// node is a place in an event that counts: a part of the request, or an object with such places.
type node struct {
	name    string // in JSON
	field   int32  // the number of the field, unless it stands in a map
	part    part
	members []*node
}

// rootOf makes a tree of the places in the events of a type. By the tags of the type, a scanner
// finds a part in JSON where the decoder would.
func rootOf(event reflect.Type, members []member) *node {
	root := &node{}
	for _, m := range members {
		n, in := root, event
		for name := range strings.SplitSeq(m.path, ".") {
			child := node{name: name}
			if in = ElemOf(in); in.Kind() == reflect.Struct {
				field, _ := in.FieldByName(name)
				child.name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
				child.field, in = int32(field.Index[0]), field.Type //nolint:gosec // a struct has few fields
			}
			at := slices.IndexFunc(n.members, func(m *node) bool { return m.name == child.name })
			if at < 0 {
				at = len(n.members)
				n.members = append(n.members, new(child))
			}
			n = n.members[at]
		}
		n.part = m.part
	}
	return root
}

// Scan reads a request from the JSON of its event, as a gateway or a client sent it, and copies
// what it keeps. It does not look at what follows the event, or is no part of the request: the
// decoder may still refuse the event.
//
// Scan reports false if the decoder has rules of its own for something in the event, and if it is
// no event: then decode it, and [Family.Read] the result. Until then the request is refused.
func (f *Family) Scan(payload []byte, r *Request) bool {
	return f.read(r, func(e *event) bool {
		s := scanner{text: payload, event: e}
		return s.value(f.root, jsontext.Space(payload, 0)) >= 0
	})
}

// read makes a request of the parts that take finds in its event. It reports false if take does.
func (f *Family) read(r *Request, take func(e *event) bool) bool {
	*r = Request{Refusal: errUnread}
	e := &r.event
	e.names, e.headers = f.names, append(e.room[:0], make([]header, len(f.names))...)
	if !take(e) {
		return false
	}
	r.Refusal = nil
	r.Method = strings.ToUpper(e.text[partMethod])
	r.Path, r.API, r.Stage, r.RequestID = e.text[partPath], e.text[partAPI], e.text[partStage], e.text[partRequestID]
	r.Route = e.text[partRoute]
	r.Caller = e.caller()
	if raw := e.text[partRawQuery]; raw != "" {
		r.query = parseQuery(raw)
	} else if len(e.query)+len(e.multiQuery) > 0 {
		r.query.fields = fieldsOf(e.query, e.multiQuery, func(string) bool { return true })
	}
	f.request(r)
	if r.Route == "$default" || strings.Contains(r.Route, "+}") {
		r.Route = ""
	}
	if r.Refusal == nil && r.Method == "" {
		r.Refusal = errors.New("the event has no HTTP method; is it one of another payload format, " +
			"or none of a gateway?")
	}
	return true
}

// header is the place of a header, nil if it does not count. name may be in any spelling.
func (e *event) header(name string) *header {
	for i, known := range e.names {
		if strings.EqualFold(known, name) {
			return &e.headers[i]
		}
	}
	return nil
}

// add adds a value. Values from multiValueHeaders replace those from headers.
func (h *header) add(from part, value string) {
	if from != h.from {
		h.from, h.values = from, h.one[:0]
	}
	h.values = append(h.values, value)
}

// scanner keeps the parts of a request. Its methods take what is at a position, and return the
// position behind it, or -1 where Scan reports false. What no node stands for is skipped unread.
type scanner struct {
	text []byte
	// encoded is true of JSON that encoding/json made of a decoded map, see [Family.Read]. The
	// decoder is done with it: a name is data, and what is not expected does not count.
	encoded bool
	event   *event
	// room keeps copies of texts in few allocations. The payload belongs to the caller.
	room strings.Builder
}

// value takes the value of a node, or any value for a nil node.
func (s *scanner) value(n *node, at int) (end int) {
	if n != nil && at < len(s.text) && s.text[at] != 'n' {
		switch {
		case len(n.members) > 0:
			return s.object(n, at)
		case n.part == partHeaders || n.part == partMultiHeaders:
			return s.headers(n.part, at)
		}
	}
	end = jsontext.End(s.text, at)
	if n != nil && end >= 0 && !s.part(n.part, s.text[at:end]) {
		return -1
	}
	return end
}

// part takes a part. A null leaves it as it is. The principal of a Lambda authorizer may be an
// integer. From 2^53 on, decoding may have changed digits: two principals would become one.
func (s *scanner) part(as part, sent []byte) (usual bool) {
	var own bool
	switch {
	case string(sent) == "null":
		return true
	case as == partQuery:
		return json.Unmarshal(sent, &s.event.query) == nil
	case as == partMultiQuery:
		return json.Unmarshal(sent, &s.event.multiQuery) == nil
	case as == partBase64:
		s.event.isBase64 = string(sent) == "true"
		return true
	case as == partBody && sent[0] == '"':
		if s.event.body, own, usual = unquoted(sent); !own {
			s.event.body = bytes.Clone(s.event.body)
		}
		return usual
	case as < textParts && sent[0] == '"':
		s.event.text[as], usual = s.string(sent)
		return usual
	case as == partPrincipal:
		const exact = 1 << 53
		if n, err := strconv.ParseInt(string(sent), 10, 64); err == nil && -exact < n && n < exact {
			s.event.text[partPrincipalNumber] = strconv.FormatInt(n, 10)
			return true
		}
	}
	return s.encoded
}

// object takes an object with members that count. The decoder has rules of its own for a name that
// is there twice, and for one that differs from that of a field in case alone.
func (s *scanner) object(n *node, at int) (end int) {
	s.event.authorized = s.event.authorized || n.part == partAuthorizer
	var seen uint64
	others := false
	return s.within(at, func(sent []byte, at int) int {
		var child *node
		// One copy for all members: a conversion in each comparison takes longer than comparing.
		name := string(sent)
		for i, m := range n.members {
			switch bit := uint64(1) << i; {
			case name == m.name && seen&bit == 0:
				child, seen = m, seen|bit
			case !s.encoded && strings.EqualFold(name, m.name):
				return -1
			}
		}
		switch null := at < len(s.text) && s.text[at] == 'n'; {
		case n.part != partAuthorizerMap:
		case !null:
			s.event.authorized, others = true, others || child == nil
		case child == nil && others && !s.encoded: // it may take back one of its name
			return -1
		}
		return s.value(child, at)
	})
}

// headers takes a map of headers. One that is there in several spellings was sent several times. If
// multiValueHeaders has values of a header, its value in headers is one of them.
func (s *scanner) headers(from part, at int) (end int) {
	return s.within(at, func(sent []byte, at int) int {
		s.event.hasMulti = s.event.hasMulti || from == partMultiHeaders
		h := s.event.header(string(sent))
		if h == nil {
			return jsontext.End(s.text, at)
		}
		add := func(_ []byte, at int) int {
			end := jsontext.End(s.text, at)
			if end < 0 || s.text[at] != '"' {
				return -1
			}
			value, ok := s.string(s.text[at:end])
			if !ok {
				return -1
			}
			h.add(from, value)
			return end
		}
		switch value := s.text[at:]; {
		case len(value) == 0, h.from == from:
			return -1
		case from == partHeaders && h.from == partMultiHeaders, from == partMultiHeaders && value[0] == 'n':
			return jsontext.End(s.text, at)
		case from == partHeaders:
			return add(nil, at)
		case value[0] == '[':
			return jsontext.Within(s.text, at, add)
		}
		return -1
	})
}

// within walks over the members of an object. A name with escape sequences may be that of a field.
func (s *scanner) within(at int, each func(name []byte, at int) int) (end int) {
	if s.text[at] != '{' {
		return -1
	}
	return jsontext.Within(s.text, at, func(sent []byte, at int) int {
		name, own, ok := unquoted(sent)
		if !ok || own && !s.encoded {
			return -1
		}
		return each(name, at)
	})
}

// string returns a copy of what a string stands for.
func (s *scanner) string(sent []byte) (text string, ok bool) {
	const atATime = 512 // bytes, which hold all texts of most requests
	content, _, ok := unquoted(sent)
	if s.room.Cap()-s.room.Len() < len(content) {
		s.room = strings.Builder{}
		s.room.Grow(max(len(content), atATime))
	}
	start := s.room.Len()
	s.room.Write(content)
	return s.room.String()[start:], ok
}

// unquoted returns what a string stands for, which is given with its quotes. own is false if that
// is a part of it: text without escape sequences.
func unquoted(sent []byte) (content []byte, own, ok bool) {
	text := sent[1 : len(sent)-1]
	valid := utf8.Valid(text)
	if valid && bytes.IndexByte(text, '\\') < 0 {
		return text, false, true
	}
	for content = make([]byte, 0, len(text)); valid; {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return append(content, text...), true, true
		}
		short := strings.IndexByte(`"\/bfnrt`, text[at+1])
		if short < 0 {
			break
		}
		content = append(append(content, text[:at]...), "\"\\/\b\f\n\r\t"[short])
		text = text[at+2:]
	}
	var other string
	err := json.Unmarshal(sent, &other)
	return []byte(other), true, err == nil
}
