package jmespath

// powers are the binding powers of the operators between two operands: an operator takes over an
// operand to its left if its power is above that of the operator on the other side. A token without
// one ends an expression.
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

// A parser builds the tree of an expression by operator precedence (Pratt).
type parser struct {
	tokens []token
	at     int
	depth  int
	parts  []Part
}

func parse(expression string) (node, []Part, error) {
	tokens, err := tokenize(expression)
	if err != nil {
		return nil, nil, err
	}
	p := parser{tokens: tokens}
	root, err := p.expression(0)
	if err == nil {
		err = p.expect(tokenEnd)
	}
	return root, p.parts, err
}

// note keeps a part for Expression.Parts.
func (p *parser) note(kind, text string, offset int) {
	p.parts = append(p.parts, Part{Kind: kind, Text: text, Offset: offset})
}

// peek returns the next token. There always is one: nothing moves behind the end.
func (p *parser) peek() token { return p.tokens[p.at] }

// peekSecond returns the kind of the token behind the next one.
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
	p.at++
	return true
}

func (p *parser) expect(kind string) error {
	if next := p.peek(); next.kind != kind {
		return unexpected(next)
	}
	p.advance()
	return nil
}

func unexpected(t token) error {
	if t.kind == tokenEnd {
		return syntaxError(t.offset, "expression is incomplete")
	}
	if t.kind == tokenRawString {
		t.kind = tokenLiteral
	}
	return syntaxError(t.offset, "unexpected "+t.kind)
}

// expression reads operands as long as the operators between them bind stronger
// than the given power.
func (p *parser) expression(above int) (node, error) {
	if p.depth == maxLevels {
		return nil, compileError(errLimit, p.peek().offset, "expression is nested too deep")
	}
	p.depth++
	defer func() { p.depth-- }()
	left, err := p.prefix()
	for err == nil && powers[p.peek().kind] > above {
		left, err = p.infix(left)
	}
	return left, err
}

// prefix reads what an expression can begin with.
func (p *parser) prefix() (node, error) {
	t := p.advance()
	switch t.kind {
	case tokenIdentifier, tokenQuoted:
		switch {
		case !p.accept("("):
			p.note(partIdentifier, t.text, t.offset)
			return field{t.text}, nil
		case t.kind == tokenQuoted:
			return nil, syntaxError(t.offset, "function name in quotes")
		}
		return p.call(t)
	case tokenLiteral, tokenRawString:
		p.note(t.kind, "", t.offset)
		return literal{t.value}, nil
	case "@":
		p.note("@", "", t.offset)
		return current{}, nil
	case "!":
		p.note("!", "", t.offset)
		operand, err := p.expression(powerNot)
		return not{operand}, err
	case "(":
		inner, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	case "{":
		return p.multiSelectHash()
	case "[":
		if p.beginsBracketSpecifier() {
			return p.bracketSpecifier(current{}, t)
		}
		return p.multiSelectList()
	case "*":
		p.note("*", "", t.offset)
		item, err := p.projected(powerStar)
		return projection{of: kindObject, source: current{}, item: item}, err
	case "[?":
		return p.filter(current{}, t)
	case "[]":
		return p.flatten(current{}, t)
	}
	return nil, unexpected(t)
}

// infix reads an operator behind left and its right operand.
func (p *parser) infix(left node) (node, error) {
	t := p.advance()
	switch t.kind {
	case ".":
		if p.peek().kind == "*" {
			// With the power of the dot this one ends after one step, so that
			// "a.*.b.c" means "(a.*.b).c", unlike "*.b.c" and "a[*].b.c".
			p.note("*", "", p.advance().offset)
			item, err := p.projected(powerDot)
			return projection{of: kindObject, source: left, item: item}, err
		}
		right, err := p.member(powerDot)
		return chain{left, right}, err
	case "[?":
		return p.filter(left, t)
	case "[]":
		return p.flatten(left, t)
	case "[":
		if !p.beginsBracketSpecifier() {
			return nil, unexpected(p.peek())
		}
		return p.bracketSpecifier(left, t)
	}
	p.note(t.kind, "", t.offset)
	right, err := p.expression(powers[t.kind])
	switch t.kind {
	case "|":
		return chain{left, right}, err
	case "||", "&&":
		return logic{t.kind == "&&", left, right}, err
	}
	return comparison{t.kind, left, right}, err
}

// member reads what may follow a dot. A multi-select ends a projection that it
// belongs to, as in the official implementations: what follows it applies to the
// whole result.
func (p *parser) member(above int) (node, error) {
	switch next := p.peek(); next.kind {
	case tokenIdentifier, tokenQuoted, "*":
		return p.expression(above)
	case "[":
		p.advance()
		return p.multiSelectList()
	case "{":
		p.advance()
		return p.multiSelectHash()
	default:
		return nil, unexpected(next)
	}
}
