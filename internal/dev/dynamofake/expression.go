package dynamofake

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
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
	holds := e.condition()
	if len(e.tokens) > 0 {
		invalidf("Invalid expression: %q does not end there", e.tokens)
	}
	return holds
}

// condition reads alternatives, each of which is a row of predicates that hold together.
func (e *expression) condition() (holds bool) {
	for {
		all := e.predicate()
		for e.accept("AND") {
			all = e.predicate() && all
		}
		holds = holds || all
		if !e.accept("OR") {
			return holds
		}
	}
}

func (e *expression) predicate() bool {
	switch {
	case e.accept("("):
		holds := e.condition()
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

// operators have the results of a comparison for which they hold.
var operators = map[string][]int{
	"=": {0}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}, "<>": {-1, 1},
}

func (e *expression) exists() bool {
	e.expect("(")
	_, exists := e.held[e.name()]
	e.expect(")")
	return exists
}

func (w write) update(it Item) {
	e := &expression{write: w, held: it, tokens: tokens.FindAllString(w.UpdateExpression, -1)}
	for len(e.tokens) > 0 {
		switch clause := e.next(); clause {
		case "SET":
			e.each(func(name string) { it[name] = e.set() })
		case "ADD":
			e.each(func(name string) {
				it[name] = Value{"N": strconv.FormatInt(it[name].number()+e.value().number(), 10)}
			})
		case "REMOVE":
			e.each(func(name string) { delete(it, name) })
		default:
			invalidf("Invalid expression: %q is none of the clauses known here", clause)
		}
	}
}

// set is the value of a SET: one, or that of an attribute if it is there.
func (e *expression) set() Value {
	e.expect("=")
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
	if strings.HasPrefix(token, "#") && e.ExpressionAttributeNames[token] == "" {
		invalidf("Invalid expression: %q is no name", token)
	}
	return cmp.Or(e.ExpressionAttributeNames[token], token)
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

// Item is an item by the names of its attributes.
type Item map[string]Value

// Value is a value of one of DynamoDB's types, as JSON has it: {"S": "text"}.
type Value map[string]any

// typed is the type of a value, and its text if it is a text, a number or bytes, which are in
// base64. What is not there has no type.
func (v Value) typed() (kind, text string) {
	for kind, inner := range v {
		text, _ = inner.(string)
		return kind, text
	}
	return "", ""
}

// compare orders two texts, or two numbers.
func (v Value) compare(other Value) (order int, ok bool) {
	kind, text := v.typed()
	otherKind, otherText := other.typed()
	switch {
	case kind != otherKind:
		return 0, false
	case kind == "N":
		return cmp.Compare(v.number(), other.number()), true
	}
	return cmp.Compare(text, otherText), kind == "S"
}

// number is a whole number, 0 if the value is not there.
func (v Value) number() int64 {
	kind, text := v.typed()
	n, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 64)
	if v != nil && kind != "N" || err != nil {
		invalidf("%v is none of the numbers known here", v)
	}
	return n
}
