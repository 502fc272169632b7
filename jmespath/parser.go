package jmespath

import "slices"

// powers are the binding powers of operators: an operator takes over an operand to its left if its
// power is above that of the operator on the other side. A token without one ends an expression.
var powers = map[string]int{
	"|": 1, "||": 2, "&&": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5,
	"[]": powerFlatten, "[?": powerFilter, ".": powerDot, "[": 55,
}

const (
	powerFlatten    = 9
	powerProjection = 10 // below it, an operator ends a projection
	powerStar       = 20
	powerFilter     = 21
	powerDot        = 40
	powerNot        = 45
)

// A parser builds the nodes of an expression by operator precedence (Pratt). What is wrong with it
// panics with an *Error, see caught.
type parser struct {
	tokens []token
	at     int
	depth  int
	parts  []Part
}

// note keeps a part for Expression.Parts.
func (p *parser) note(kind, text string, offset int) {
	p.parts = append(p.parts, Part{Kind: kind, Text: text, Offset: offset})
}

// peek returns the next token. There always is one: nothing moves behind the end.
func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) peekSecond() string {
	return p.tokens[min(p.at+1, len(p.tokens)-1)].kind
}

func (p *parser) advance() token {
	next := p.peek()
	if next.kind != tokenEnd {
		p.at++
	}
	return next
}

// accept moves behind the next token if it is of that kind.
func (p *parser) accept(kind string) bool {
	if p.peek().kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(kind string) {
	if !p.accept(kind) {
		panic(unexpected(p.peek()))
	}
}

func unexpected(t token) *Error {
	switch t.kind {
	case tokenEnd:
		return syntaxError(t.offset, "expression is incomplete")
	case tokenRawString:
		t.kind = tokenLiteral
	}
	return syntaxError(t.offset, "unexpected "+t.kind)
}

// expression reads operands as long as the operators between them bind stronger than the given
// power.
func (p *parser) expression(above int) node {
	if p.depth == maxLevels {
		panic(compileError(errLimit, p.peek().offset, "expression is nested too deep"))
	}
	p.depth++
	left := p.prefix()
	for powers[p.peek().kind] > above {
		left = p.infix(left)
	}
	p.depth--
	return left
}

// prefix reads what an expression can begin with.
func (p *parser) prefix() node {
	t := p.advance()
	switch t.kind {
	case tokenIdentifier, tokenQuoted:
		switch {
		case !p.accept("("):
			p.note(partIdentifier, t.text, t.offset)
			return func(s *search, on Value) Value { return s.field(on, t.text) }
		case t.kind == tokenQuoted:
			panic(syntaxError(t.offset, "function name in quotes"))
		}
		return p.call(t)
	case tokenLiteral, tokenRawString:
		p.note(t.kind, "", t.offset)
		return func(*search, Value) Value { return t.value }
	case "@":
		p.note("@", "", t.offset)
		return current
	case "!":
		p.note("!", "", t.offset)
		operand := p.expression(powerNot)
		return func(s *search, on Value) Value { return booleanValue(!operand(s, on).truthy()) }
	case "(":
		inner := p.expression(0)
		p.expect(")")
		return inner
	case "{":
		return p.multiSelectHash(t)
	case "*":
		p.note("*", "", t.offset)
		return projection(typeObject, current, nil, p.projected(powerStar))
	case "[":
		if !p.beginsBracketSpecifier() {
			return p.multiSelectList(t)
		}
	case "[?", "[]":
	default:
		panic(unexpected(t))
	}
	return p.bracket(current, t)
}

// infix reads an operator behind left and its right operand.
func (p *parser) infix(left node) node {
	t := p.advance()
	switch t.kind {
	case ".":
		if p.peek().kind == "*" {
			// With the power of the dot this one ends after one step: "a.*.b.c" means "(a.*.b).c",
			// unlike "*.b.c" and "a[*].b.c".
			p.note("*", "", p.advance().offset)
			return projection(typeObject, left, nil, p.projected(powerDot))
		}
		return chain(left, p.member(powerDot))
	case "[":
		if !p.beginsBracketSpecifier() {
			panic(unexpected(p.peek()))
		}
		return p.bracket(left, t)
	case "[?", "[]":
		return p.bracket(left, t)
	}
	p.note(t.kind, "", t.offset)
	right := p.expression(powers[t.kind])
	switch t.kind {
	case "|":
		return chain(left, right)
	case "||", "&&":
		return logic(t.kind == "&&", left, right)
	}
	return comparison(t.kind, left, right)
}

// member reads what may follow a dot. A multi-select ends a projection that it belongs to, as in
// the official implementations: what follows it applies to the whole result.
func (p *parser) member(above int) node {
	switch next := p.peek(); next.kind {
	case tokenIdentifier, tokenQuoted, "*":
		return p.expression(above)
	case "[":
		return p.multiSelectList(p.advance())
	case "{":
		return p.multiSelectHash(p.advance())
	default:
		panic(unexpected(next))
	}
}

// projected reads what a projection applies to each of its elements.
func (p *parser) projected(above int) node {
	switch {
	case powers[p.peek().kind] < powerProjection:
		return current
	case p.accept("."):
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

// bracket reads what begins with t: a filter, a flattened list, an index, a slice or "*", and what
// a projection applies to each element.
func (p *parser) bracket(left node, t token) node {
	switch {
	case t.kind == "[?":
		p.note("filter", "", t.offset)
		condition := p.expression(0)
		p.expect("]")
		return projection(typeArray, left, condition, p.projected(powerFilter))
	case t.kind == "[]":
		p.note("[]", "", t.offset)
		return projection(typeArray, chain(left, flatten), nil, p.projected(powerFlatten))
	case p.accept("*"):
		p.note("[*]", "", t.offset)
		p.expect("]")
	case p.peek().kind == tokenNumber && p.peekSecond() != ":":
		i := p.advance().number
		p.note("index", "", t.offset)
		p.expect("]")
		return chain(left, func(_ *search, on Value) Value { return on.index(i) })
	default:
		left = chain(left, p.slice())
		p.note("slice", "", t.offset)
	}
	return projection(typeArray, left, nil, p.projected(powerStar))
}

// slice reads [start]:[stop][:[step]] and the closing bracket.
func (p *parser) slice() node {
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
	p.expect("]")
	if parts[2] != nil && *parts[2] == 0 {
		panic(compileError(errInvalidValue, step, "slice with step 0"))
	}
	return slice(parts[0], parts[1], parts[2])
}

// several reads what stands between commas, and the token that ends it.
func (p *parser) several(end string, one func()) {
	one()
	for p.accept(",") {
		one()
	}
	p.expect(end)
}

func (p *parser) multiSelectList(t token) node {
	p.note("multi-select list", "", t.offset)
	var items []node
	p.several("]", func() { items = append(items, p.expression(0)) })
	return multiSelect("[]", make([]string, len(items)), items)
}

func (p *parser) multiSelectHash(t token) node {
	p.note("multi-select hash", "", t.offset)
	var names []string
	var items []node
	p.several("}", func() {
		name := p.advance()
		if name.kind != tokenIdentifier && name.kind != tokenQuoted {
			panic(unexpected(name))
		}
		spelled := stringValue(name.text).text
		if slices.Contains(names, spelled) {
			panic(syntaxError(name.offset, "member name repeated in a multi-select"))
		}
		p.note(partMember, name.text, name.offset)
		p.expect(":")
		names = append(names, spelled)
		items = append(items, p.expression(0))
	})
	return multiSelect("{}", names, items)
}

// call reads the arguments of a function behind the opening parenthesis.
func (p *parser) call(name token) node {
	p.note(partFunction, name.text, name.offset)
	f, ok := builtins[name.text]
	if !ok {
		panic(compileError(errUnknownFunction, name.offset, name.text))
	}
	c := &call{name: name.text, offset: name.offset, function: f}
	if !p.accept(")") {
		p.several(")", func() { c.arguments = append(c.arguments, p.argument(c)) })
	}
	if wrong := f.arityError(len(c.arguments)); wrong != "" {
		panic(compileError(errInvalidArity, name.offset, "function "+name.text+" "+wrong))
	}
	return c.eval
}

// argument reads the next argument. Expression references exist only here: none becomes a value.
func (p *parser) argument(c *call) node {
	start := p.peek().offset
	isReference := p.accept("&")
	argument := p.expression(0)
	wanted := c.parameter(len(c.arguments))
	if wanted != 0 && isReference != (wanted == typeExpression) {
		panic(compileError(errInvalidType, start, "argument of "+c.name+" must be "+wanted.String()))
	}
	return argument
}
