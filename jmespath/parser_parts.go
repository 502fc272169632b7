package jmespath

// filter reads a condition and what applies to each element that meets it.
func (p *parser) filter(left node, t token) (node, error) {
	p.note(partFilter, "", t.offset)
	condition, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if err := p.expect("]"); err != nil {
		return nil, err
	}
	item, err := p.projected(powerFilter)
	return projection{kindArray, left, condition, item}, err
}

// flatten reads what applies to each element of the flattened list.
func (p *parser) flatten(left node, t token) (node, error) {
	p.note("[]", "", t.offset)
	item, err := p.projected(powerFlatten)
	return projection{of: kindArray, source: chain{left, flatten{}}, item: item}, err
}

// projected reads what a projection applies to each of its elements.
func (p *parser) projected(above int) (node, error) {
	switch next := p.peek(); {
	case powers[next.kind] < powerProjection:
		return current{}, nil
	case next.kind == ".":
		p.advance()
		return p.member(above)
	default: // "[" or "[?"
		return p.expression(above)
	}
}

// beginsBracketSpecifier tells an index, a slice or "*" from a multi-select.
func (p *parser) beginsBracketSpecifier() bool {
	switch p.peek().kind {
	case tokenNumber, ":":
		return true
	case "*":
		return p.peekSecond() == "]"
	}
	return false
}

// bracketSpecifier reads an index, a slice or "*" behind an opening bracket.
func (p *parser) bracketSpecifier(left node, t token) (node, error) {
	if p.accept("*") {
		p.note("[*]", "", t.offset)
		p.advance() // the bracket that beginsBracketSpecifier has seen
		item, err := p.projected(powerStar)
		return projection{of: kindArray, source: left, item: item}, err
	}
	if p.peek().kind == tokenNumber && p.peekSecond() != ":" {
		i := p.advance().number
		p.note(partIndex, "", t.offset)
		return chain{left, index{i}}, p.expect("]")
	}
	part, err := p.slice()
	if err != nil {
		return nil, err
	}
	p.note(partSlice, "", t.offset)
	item, err := p.projected(powerStar)
	return projection{of: kindArray, source: chain{left, part}, item: item}, err
}

// slice reads [start]:[stop][:[step]] and the closing bracket.
func (p *parser) slice() (node, error) {
	var parts [3]*int
	step := p.peek().offset
	for i := range parts {
		if p.peek().kind == tokenNumber {
			number := p.advance()
			step = number.offset
			parts[i] = &number.number
		}
		if i == len(parts)-1 || !p.accept(":") {
			break
		}
	}
	if err := p.expect("]"); err != nil {
		return nil, err
	}
	if parts[2] != nil && *parts[2] == 0 {
		return nil, compileError(errInvalidValue, step, "slice with step 0")
	}
	return slice{parts[0], parts[1], parts[2]}, nil
}

// several reads what stands between commas, and the token that ends it.
func (p *parser) several(end string, one func() error) error {
	for {
		if err := one(); err != nil {
			return err
		}
		if !p.accept(",") {
			return p.expect(end)
		}
	}
}

// multiSelectList reads a multi-select list behind its opening bracket.
func (p *parser) multiSelectList() (node, error) {
	p.note(partSelectList, "", p.tokens[p.at-1].offset)
	var items multiList
	err := p.several("]", func() error {
		item, err := p.expression(0)
		items = append(items, item)
		return err
	})
	return items, err
}

// multiSelectHash reads a multi-select hash behind its opening brace.
func (p *parser) multiSelectHash() (node, error) {
	p.note(partSelectHash, "", p.tokens[p.at-1].offset)
	var hash multiHash
	known := map[string]bool{}
	err := p.several("}", func() error {
		name := p.advance()
		if name.kind != tokenIdentifier && name.kind != tokenQuoted {
			return unexpected(name)
		}
		if known[name.text] {
			return syntaxError(name.offset, "member name repeated in a multi-select")
		}
		known[name.text] = true
		p.note(partMember, name.text, name.offset)
		if err := p.expect(":"); err != nil {
			return err
		}
		item, err := p.expression(0)
		hash.names = append(hash.names, stringValue(name.text).text)
		hash.items = append(hash.items, item)
		return err
	})
	return hash, err
}

// call reads the arguments of a function behind the opening parenthesis.
func (p *parser) call(name token) (node, error) {
	p.note(partFunction, name.text, name.offset)
	f, ok := builtins[name.text]
	if !ok {
		return nil, compileError(errUnknownFunction, name.offset, name.text)
	}
	c := call{name: name.text, offset: name.offset, function: f}
	if !p.accept(")") {
		err := p.several(")", func() error {
			argument, err := p.argument(&c)
			c.arguments = append(c.arguments, argument)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if wrong := f.arityError(len(c.arguments)); wrong != "" {
		return nil, compileError(errInvalidArity, name.offset, "function "+name.text+" "+wrong)
	}
	return c, nil
}

// argument reads the next argument of a function. Expression references exist only
// here, so that they never become values.
func (p *parser) argument(c *call) (node, error) {
	start := p.peek().offset
	isReference := p.accept("&")
	argument, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	wanted := c.function.parameter(len(c.arguments))
	if wanted != 0 && isReference != (wanted == typeExpression) {
		return nil, compileError(errInvalidType, start, "argument of "+c.name+" must be "+wanted.String())
	}
	return argument, nil
}
