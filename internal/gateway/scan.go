package gateway

// scan reads an event as the plan says. It reports false as soon as something is unusual; then e is of no use. Like the
// decoder of Lambda, it ignores what follows the event.
func (p *plan) scan(payload []byte, e *event) bool {
	if p == nil {
		return false
	}
	s := scanner{tokens: tokens{text: payload}, event: e}
	e.headers = e.room.headers(p.names)
	s.space()
	ok := s.object(p.root)
	e.authorized = e.authorized && !e.named()
	return ok
}

// scanner walks through the JSON of an event. Each of its methods takes the value at the position, and reports false to give
// up.
type scanner struct {
	tokens

	event *event
	kept  arena
	// single and multi say which headers were in each of the two maps. Bit i stands for the header number i.
	single, multi uint64
}

func (s *scanner) value(n *node) bool {
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

func (s *scanner) object(n *node) bool {
	s.event.authorized = s.event.authorized || n.part == partAuthorizer && n.folds
	var seen uint64
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.name()
		if !named {
			return false
		}
		if n.part == partAuthorizer {
			if s.peek() != 'n' {
				s.event.authorized = true // a map of nulls is none
			} else if s.event.authorized && !n.folds {
				return false // it may replace what was there under the same name
			}
		}
		child, known := n.member(name, &seen)
		if !known || !s.value(child) {
			return false
		}
		more, ok = s.more('}')
	}
	return ok
}

// member returns the node for the member with this name, and notes in seen that it was there. It reports false where the
// decoder has rules of its own: for a name that may be that of a member in another spelling, and for a member that was
// there before.
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

func (s *scanner) array(element *node) bool {
	more, ok := s.open('[', ']')
	for more && ok {
		if !s.value(element) {
			return false
		}
		more, ok = s.more(']')
	}
	return ok
}

// any takes a value that decodes into an any.
func (s *scanner) any(n *node) bool {
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

func (s *scanner) textValue(as part) bool {
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

func (s *scanner) flag(as part) bool {
	value := s.peek() == 't'
	if as == partBase64 {
		s.event.isBase64 = value
	}
	if value {
		return s.word("true")
	}
	return s.word("false")
}

// maxExact is how many digits an integer may have so that both an int64 and a float64 hold it exactly.
const maxExact = 15

// integer takes a number that decodes into an int64.
func (s *scanner) integer() bool {
	n, ok := s.number()
	return ok && !n.fraction && !n.exponent && len(n.raw) <= maxExact
}

// maxFloat is how many characters a number without exponent may have so that it is within the range of a float64.
const maxFloat = 300

// numberValue takes a number that decodes into a float64. A principal has to be an integer in its one spelling.
func (s *scanner) numberValue(as part) bool {
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

// headerNumber finds the header with this name among those that the handler looks at. The number is negative if it is none
// of them. headerNumber reports false for a name that may have another lower case than that of ASCII.
func (s *scanner) headerNumber(name token) (i int, ok bool) {
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

// headers takes the map in which each header has one value. It gives up on a header in two spellings.
func (s *scanner) headers() bool {
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.name()
		i, plain := s.headerNumber(name)
		if !named || !plain || !s.singleHeader(i) {
			return false
		}
		more, ok = s.more('}')
	}
	return ok
}

func (s *scanner) singleHeader(i int) bool {
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

func (s *scanner) addHeader(i int, t token) bool {
	value, ok := s.kept.add(t)
	s.event.headers.values[i] = append(s.event.headers.values[i], value)
	return ok
}

// multiHeaders takes the map in which each header has all of its values. They replace a value from the other map.
func (s *scanner) multiHeaders() bool {
	s.event.hasMulti = true
	more, ok := s.open('{', '}')
	for more && ok {
		name, named := s.name()
		i, plain := s.headerNumber(name)
		if !named || !plain || !s.multiHeader(i) {
			return false
		}
		more, ok = s.more('}')
	}
	return ok
}

func (s *scanner) multiHeader(i int) bool {
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

// query takes the map in which each query parameter has one value. Like the decoder, it keeps the last value of a name that
// is there twice.
func (s *scanner) query() bool {
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

// multiQuery takes the map in which each query parameter has all of its values.
func (s *scanner) multiQuery() bool {
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

func (s *scanner) keptName() (string, bool) {
	t, ok := s.name()
	if !ok {
		return "", false
	}
	return s.kept.add(t)
}

func (s *scanner) keptText() (string, bool) {
	t, ok := s.string()
	if !ok {
		return "", false
	}
	return s.kept.add(t)
}

func (s *scanner) keptTexts() (values []string, ok bool) {
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
