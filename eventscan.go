package idempotent

// scan reads an event as the plan says. It reports false as soon as something is out of the ordinary; then e is of no use.
// Like the decoder it does not look at what follows the event.
func (p *eventPlan) scan(payload []byte, e *httpEvent) bool {
	if p == nil {
		return false
	}
	s := eventScanner{tokens: tokens{text: payload}, event: e}
	e.headers = e.room.headers(p.names)
	s.space()
	return s.object(p.root)
}

// eventScanner is on its way through an event. Its methods take the value at the position and report false to give up.
type eventScanner struct {
	tokens

	event *httpEvent
	kept  arena
	// single and multi are the headers that were in each map, by their numbers.
	single, multi uint64
}

func (s *eventScanner) value(n *node) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	switch n.kind {
	case kindText:
		return s.textValue(n.part)
	case kindFlag:
		return s.flag(n.part)
	case kindInteger:
		return s.integer()
	case kindTexts:
		return s.array(textNode)
	case kindObject:
		return s.object(n)
	case kindHeaders:
		return s.headers()
	case kindMultiHeaders:
		return s.multiHeaders()
	case kindQuery:
		return s.query()
	case kindMultiQuery:
		return s.multiQuery()
	case kindAny:
	}
	return s.any(n)
}

func (s *eventScanner) object(n *node) bool {
	var seen uint64
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.name()
		if !named {
			return false
		}
		child, known := n.member(name, &seen)
		if !known || !s.value(child) {
			return false
		}
		more, ok = s.more('}')
	}
	return ok
}

// member is the node of a name. It reports false for a name that may be the one of a member in another spelling, and for
// one that was there before: there the decoder has rules of its own.
func (n *node) member(name token, seen *uint64) (*node, bool) {
	if len(n.members) > 0 && name.escaped || n.folds && !name.ascii {
		return nil, false
	}
	for i := range n.members {
		m := &n.members[i]
		switch {
		case len(m.name) != len(name.raw):
		case string(name.raw) == m.name:
			bit := uint64(1) << i
			before := *seen & bit
			*seen |= bit
			return m.node, before == 0
		case n.folds && name.is(m.lower):
			return nil, false
		}
	}
	return n.rest, true
}

func (s *eventScanner) array(element *node) bool {
	more, ok := s.open('[', ']')
	for more && ok {
		if !s.value(element) {
			return false
		}
		more, ok = s.more(']')
	}
	return ok
}

// any takes what decodes into an any.
func (s *eventScanner) any(n *node) bool {
	switch s.peek() {
	case '{':
		return s.object(n)
	case '[':
		return s.array(anyNode)
	case '"':
		return s.textValue(n.part)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	default:
		return s.numberValue(n.part)
	}
}

func (s *eventScanner) textValue(as part) bool {
	t, ok := s.string()
	switch {
	case !ok || as == 0:
		return ok
	case as == partBody:
		s.event.body, ok = t.appendTo(make([]byte, 0, len(t.raw)))
	default:
		s.event.text[as], ok = s.kept.add(t)
	}
	return ok
}

func (s *eventScanner) flag(as part) bool {
	value := s.peek() == 't'
	if as == partBase64 {
		s.event.isBase64 = value
	}
	if value {
		return s.word("true")
	}
	return s.word("false")
}

// maxExact is the most digits that both an int64 and a float64 hold whatever they are.
const maxExact = 15

// integer takes what decodes into an int64.
func (s *eventScanner) integer() bool {
	n, ok := s.number()
	return ok && !n.fraction && !n.exponent && len(n.raw) <= maxExact
}

// maxFloat is the most characters of a number without exponent that is certain to be within the range of a float64.
const maxFloat = 300

// numberValue takes what decodes into a float64.
func (s *eventScanner) numberValue(as part) bool {
	n, ok := s.number()
	switch {
	case !ok || n.exponent || len(n.raw) > maxFloat:
		return false
	case as != partPrincipal:
		return true
	case n.fraction || len(n.raw) > maxExact || string(n.raw) == "-0":
		return false
	}
	s.event.text[partPrincipalNumber], ok = s.kept.add(token{raw: n.raw, ascii: true})
	return ok
}

// header is the number of the header with this name, negative if nobody looks at it. It gives up where lower case is not
// that of ASCII.
func (s *eventScanner) header(name token) (i int, ok bool) {
	if name.escaped || !name.ascii {
		return 0, false
	}
	for i, known := range s.event.headers.names {
		if name.is(known) {
			return i, true
		}
	}
	return -1, true
}

// headers takes single values of headers. A name in two spellings is left to the decoder.
func (s *eventScanner) headers() bool {
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.name()
		i, plain := s.header(name)
		if !named || !plain || !s.singleHeader(i) {
			return false
		}
		more, ok = s.more('}')
	}
	return ok
}

func (s *eventScanner) singleHeader(i int) bool {
	if i < 0 {
		return s.value(textNode)
	}
	t, ok := s.string()
	if !ok || s.single&(1<<i) != 0 {
		return false
	}
	s.single |= 1 << i
	if s.multi&(1<<i) != 0 && len(s.event.headers.values[i]) > 0 {
		return true // the other map has all values
	}
	return s.addHeader(i, t)
}

func (s *eventScanner) addHeader(i int, t token) bool {
	value, ok := s.kept.add(t)
	s.event.headers.values[i] = append(s.event.headers.values[i], value)
	return ok
}

// multiHeaders takes all values of headers, in place of the single ones.
func (s *eventScanner) multiHeaders() bool {
	s.event.hasMulti = true
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.name()
		i, plain := s.header(name)
		if !named || !plain || !s.multiHeader(i) {
			return false
		}
		more, ok = s.more('}')
	}
	return ok
}

func (s *eventScanner) multiHeader(i int) bool {
	if i < 0 {
		return s.value(textsNode)
	}
	if s.multi&(1<<i) != 0 {
		return false
	}
	s.multi |= 1 << i
	more, ok := s.open('[', ']')
	if more {
		s.event.headers.values[i] = s.event.headers.values[i][:0]
	}
	for more && ok {
		t, isText := s.string()
		if !isText || !s.addHeader(i, t) {
			return false
		}
		more, ok = s.more(']')
	}
	return ok
}

// query takes what decodes into a map: of a name that is there twice, the last value.
func (s *eventScanner) query() bool {
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.keptName()
		value, isText := s.keptText()
		if !named || !isText {
			return false
		}
		if s.event.query == nil {
			s.event.query = make(map[string]string)
		}
		s.event.query[name] = value
		more, ok = s.more('}')
	}
	return ok
}

func (s *eventScanner) multiQuery() bool {
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.keptName()
		values, areTexts := s.keptTexts()
		if !named || !areTexts {
			return false
		}
		if s.event.multiQuery == nil {
			s.event.multiQuery = make(map[string][]string)
		}
		s.event.multiQuery[name] = values
		more, ok = s.more('}')
	}
	return ok
}

func (s *eventScanner) keptName() (string, bool) {
	t, ok := s.name()
	if !ok {
		return "", false
	}
	return s.kept.add(t)
}

func (s *eventScanner) keptText() (string, bool) {
	t, ok := s.string()
	if !ok {
		return "", false
	}
	return s.kept.add(t)
}

func (s *eventScanner) keptTexts() (values []string, ok bool) {
	more, ok := s.open('[', ']')
	for more && ok {
		value, isText := s.keptText()
		if !isText {
			return nil, false
		}
		values = append(values, value)
		more, ok = s.more(']')
	}
	return values, ok
}
