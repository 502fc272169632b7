package gateway

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
