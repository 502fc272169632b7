package main

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// fakeExpression reads a condition or an update from left to right. The first error stays.
type fakeExpression struct {
	fakeInput
	held   fakeItem
	tokens []string
	err    error
}

var fakeToken = regexp.MustCompile(`[#:]?\w+|<=|>=|<>|[=<>(),]|\S`)

// holds evaluates the condition on the held item, which is nil if there is none.
func (in fakeInput) holds(held fakeItem) (bool, error) {
	e := &fakeExpression{fakeInput: in, held: held, tokens: fakeToken.FindAllString(in.ConditionExpression, -1)}
	holds := e.disjunction()
	if len(e.tokens) > 0 {
		e.failf("%q does not end there", e.tokens)
	}
	return holds, e.err
}

func (e *fakeExpression) disjunction() bool {
	holds := e.conjunction()
	for e.accept("OR") {
		holds = e.conjunction() || holds
	}
	return holds
}

func (e *fakeExpression) conjunction() bool {
	holds := e.predicate()
	for e.accept("AND") {
		holds = e.predicate() && holds
	}
	return holds
}

func (e *fakeExpression) predicate() bool {
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
	holds, known := fakeOperators[e.next()]
	right := e.value()
	if !known {
		e.failf("the operator is none of those known here")
		return false
	}
	order, alike := left.compare(right)
	return alike && holds(order)
}

var fakeOperators = map[string]func(order int) bool{
	"=":  func(order int) bool { return order == 0 },
	"<":  func(order int) bool { return order < 0 },
	"<=": func(order int) bool { return order <= 0 },
	">":  func(order int) bool { return order > 0 },
	">=": func(order int) bool { return order >= 0 },
	"<>": func(order int) bool { return order != 0 },
}

func (e *fakeExpression) exists() bool {
	e.expect("(")
	_, exists := e.held[e.name()]
	e.expect(")")
	return exists
}

// update changes the item as the update expression says.
func (in fakeInput) update(it fakeItem) error {
	e := &fakeExpression{fakeInput: in, tokens: fakeToken.FindAllString(in.UpdateExpression, -1)}
	for len(e.tokens) > 0 && e.err == nil {
		switch clause := e.next(); clause {
		case "SET":
			e.each(func() {
				name := e.name()
				e.expect("=")
				it[name] = e.value()
			})
		case "ADD":
			e.each(func() {
				name := e.name()
				it[name] = e.sum(it[name], e.value())
			})
		case "REMOVE":
			e.each(func() { delete(it, e.name()) })
		default:
			e.failf("%q is none of the clauses known here", clause)
		}
	}
	return e.err
}

// sum adds a number to one that may be absent.
func (e *fakeExpression) sum(held, added fakeValue) fakeValue {
	zero := "0"
	if held == (fakeValue{}) {
		held.N = &zero
	}
	var a, b big.Int
	if held.N == nil || added.N == nil {
		e.failf("only integers are added here")
		return fakeValue{}
	}
	_, first := a.SetString(*held.N, 10)
	_, second := b.SetString(*added.N, 10)
	if !first || !second {
		e.failf("only integers are added here")
	}
	sum := a.Add(&a, &b).String()
	return fakeValue{N: &sum}
}

func (e *fakeExpression) each(one func()) {
	one()
	for e.accept(",") {
		one()
	}
}

func (e *fakeExpression) name() string {
	token := e.next()
	name, ok := e.ExpressionAttributeNames[token]
	if !ok {
		e.failf("%q is no name", token)
	}
	return name
}

func (e *fakeExpression) value() fakeValue {
	token := e.next()
	v, ok := e.ExpressionAttributeValues[token]
	if !ok {
		e.failf("%q is no value", token)
	}
	return v
}

func (e *fakeExpression) accept(token string) bool {
	if len(e.tokens) > 0 && strings.EqualFold(e.tokens[0], token) {
		e.tokens = e.tokens[1:]
		return true
	}
	return false
}

func (e *fakeExpression) expect(token string) {
	if !e.accept(token) {
		e.failf("%q is not where it should be", token)
	}
}

func (e *fakeExpression) next() string {
	if len(e.tokens) == 0 {
		e.failf("it ends early")
		return ""
	}
	token := e.tokens[0]
	e.tokens = e.tokens[1:]
	return token
}

func (e *fakeExpression) failf(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("Invalid expression: "+format, args...)
	}
}

// compare orders two values of one type.
func (v fakeValue) compare(other fakeValue) (order int, ok bool) {
	switch {
	case v.S != nil && other.S != nil:
		return cmp.Compare(*v.S, *other.S), true
	case v.N != nil && other.N != nil:
		a, aOK := new(big.Rat).SetString(*v.N)
		b, bOK := new(big.Rat).SetString(*other.N)
		if aOK && bOK {
			return a.Cmp(b), true
		}
	}
	return 0, false
}
