package dynamofake

import (
	"regexp"
	"slices"
	"strings"
)

// expression reads a condition or an update from left to right.
type expression struct {
	write
	held   Item
	tokens []string
}

var tokens = regexp.MustCompile(`[#:]?\w+|<=|>=|<>|[=<>(),]|\S`)

// holds evaluates a condition on the held item, which is nil if there is none. No condition holds.
func (w write) holds(condition string, held Item) bool {
	if condition == "" {
		return true
	}
	e := &expression{write: w, held: held, tokens: tokens.FindAllString(condition, -1)}
	holds := e.disjunction()
	if len(e.tokens) > 0 {
		invalidf("Invalid expression: %q does not end there", e.tokens)
	}
	return holds
}

func (e *expression) disjunction() bool {
	holds := e.conjunction()
	for e.accept("OR") {
		holds = e.conjunction() || holds
	}
	return holds
}

func (e *expression) conjunction() bool {
	holds := e.predicate()
	for e.accept("AND") {
		holds = e.predicate() && holds
	}
	return holds
}

func (e *expression) predicate() bool {
	switch {
	case e.accept("("):
		holds := e.disjunction()
		e.expect(")")
		return holds
	case e.accept("attribute_not_exists"):
		return !e.exists()
	case e.accept("attribute_exists"):
		return e.exists()
	}
	left := e.held[e.name()] // of no type, if there is none
	operator := e.next()
	holds, known := operators[operator]
	right := e.value()
	if !known {
		invalidf("Invalid expression: the operator %q is none of those known here", operator)
	}
	order, alike := left.compare(right)
	if !alike {
		return operator == "<>" // what is not there, or of another type, is another value
	}
	return slices.Contains(holds, order)
}

// operators are those for which a comparison may have these results.
var operators = map[string][]int{
	"=": {0}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}, "<>": {-1, 1},
}

func (e *expression) exists() bool {
	e.expect("(")
	_, exists := e.held[e.name()]
	e.expect(")")
	return exists
}

// update changes the item as the update expression says.
func (w write) update(it Item) {
	e := &expression{write: w, held: it, tokens: tokens.FindAllString(w.UpdateExpression, -1)}
	for len(e.tokens) > 0 {
		switch clause := e.next(); clause {
		case "SET":
			e.each(func(name string) {
				e.expect("=")
				it[name] = e.set()
			})
		case "ADD":
			e.each(func(name string) { it[name] = it[name].sum(e.value()) })
		case "REMOVE":
			e.each(func(name string) { delete(it, name) })
		default:
			invalidf("Invalid expression: %q is none of the clauses known here", clause)
		}
	}
}

// set is the value of a SET: one, or that of an attribute if it is there.
func (e *expression) set() Value {
	if !e.accept("if_not_exists") {
		return e.value()
	}
	e.expect("(")
	held, there := e.held[e.name()]
	e.expect(",")
	other := e.value()
	e.expect(")")
	if there {
		return held
	}
	return other
}

func (e *expression) each(one func(name string)) {
	one(e.name())
	for e.accept(",") {
		one(e.name())
	}
}

func (e *expression) name() string {
	token := e.next()
	if name, ok := e.ExpressionAttributeNames[token]; ok {
		return name
	}
	if strings.HasPrefix(token, "#") || strings.HasPrefix(token, ":") {
		invalidf("Invalid expression: %q is no name", token)
	}
	return token
}

func (e *expression) value() Value {
	token := e.next()
	v, ok := e.ExpressionAttributeValues[token]
	if !ok {
		invalidf("Invalid expression: %q is no value", token)
	}
	return v
}

func (e *expression) accept(token string) bool {
	if len(e.tokens) > 0 && strings.EqualFold(e.tokens[0], token) {
		e.tokens = e.tokens[1:]
		return true
	}
	return false
}

func (e *expression) expect(token string) {
	if !e.accept(token) {
		invalidf("Invalid expression: %q is not where it should be", token)
	}
}

func (e *expression) next() string {
	if len(e.tokens) == 0 {
		invalidf("Invalid expression: it ends early")
	}
	token := e.tokens[0]
	e.tokens = e.tokens[1:]
	return token
}
