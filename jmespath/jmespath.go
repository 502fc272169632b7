// Package jmespath selects idempotency keys and fingerprints out of a JSON event: JMESPath on exact
// numbers, with the functions of AWS Powertools.
//
// # What it promises
//
// Evaluation works on the JSON text of the event. Numbers are decimals from the first byte to the
// last and never become floating point: 9007199254740993 selects as itself and differs from
// 9007199254740992, while 1, 1.0 and 1e0 are equal. What is selected keeps its spelling; a
// canonical form is left to the caller.
//
// A payload is refused as a whole, with a *fingerprint.SyntaxError, unless package fingerprint has
// a canonical form of it: it is one JSON text in the sense of I-JSON (RFC 7493), with valid UTF-8,
// no member name twice in one object, no lone surrogates, and nothing after the value. Two programs
// would otherwise read two different keys out of one request.
//
// No error message contains a part of the payload.
//
// # The language
//
// Grammar, semantics and the 26 built-in functions are those of the JMESPath specification
// (https://jmespath.org/specification.html). Where it leaves something open:
//
//   - The values of an object come in the order of the document, in "*" as in keys and values. Wrap
//     them in sort to be independent of that order.
//   - Precedence is that of the official implementations. "!a.b" means "(!a).b", which is always
//     null; write "!(a.b)". A multi-select ends the projection in front of it: "list[*].[a, b][0]"
//     is the first pair, not the first member of each pair. So does one step behind ".*": "a.*.b.c"
//     means "(a.*.b).c".
//   - Arithmetic and comparisons are exact, except for an average that is no finite decimal: it is
//     rounded to 34 significant digits, or to as many as the sum has if those are more. A sum that
//     takes more than 8,192 digits, like that of 1e999999999 and 1, is refused.
//   - to_string writes compact JSON and keeps the spelling of numbers and the order of members.
//   - A literal in backticks that is not JSON, like `active`, is the string "active", the
//     deprecated form that is common in the AWS documentation. What begins like an array, an
//     object, a number or a quoted string must be JSON.
//   - A multi-select that names a member twice is a syntax error, because one of the two would
//     silently be missing from the key.
//
// The functions of AWS Powertools are always available
// (https://docs.powertools.aws.dev/lambda/python/latest/utilities/jmespath_functions/):
// powertools_json decodes a JSON string under the rules for payloads above, powertools_base64
// decodes standard base64 of UTF-8 text, and powertools_base64_gzip unpacks such text as well.
//
// # Limits
//
// An expression has at most 16 KiB and 256 levels. What one evaluation makes out of the payload, in
// copies, lists and unpacked texts, is bounded by 16 MiB and four times the payload; beyond that it
// ends with an [Error] of the kind limit.
package jmespath

import "slices"

const (
	// maxLength is the length of an expression in bytes.
	maxLength = 16 << 10
	// maxLevels is how deep parentheses, brackets, braces, function calls and "!" may nest in an
	// expression, and how many projections may continue one another.
	maxLevels = 256
)

// An Expression is a compiled JMESPath expression. It is immutable and safe for concurrent use.
// Only Compile makes one; the zero value selects null.
type Expression struct {
	source  string
	root    node
	parts   []Part
	folding bool
}

// Compile prepares an expression for repeated use. The error is an *Error of the kind syntax,
// unknown-function, invalid-arity, invalid-type (only about expression references), invalid-value
// (a slice with step 0) or limit.
func Compile(expression string) (x *Expression, err error) {
	defer caught(expression, &err)
	p := parser{tokens: tokenize(expression)}
	root := p.expression(0)
	p.expect(tokenEnd)
	return &Expression{source: expression, root: root, parts: p.parts}, nil
}

// String returns the source of the expression.
func (x *Expression) String() string { return x.source }

// Folding returns the expression for a program that decodes names as encoding/json does: names that
// are equal under Unicode's simple folding ("ſ" is an s) are one field of a struct, and the last
// such member counts. The expression still selects by exact names. These end with an [Error]:
//
//   - an object that it looks into, of which two names are equal under folding; to_string looks
//     into everything in its argument
//   - an object with another spelling of the name that it looks for
func (x *Expression) Folding() *Expression {
	folding := *x
	folding.folding = true
	return &folding
}

// Search evaluates the expression on a JSON document. A selection without a match is null, not an
// error; see Value.Presence. Search copies the payload, and the value returned keeps the copy
// alive.
//
// The error is a *fingerprint.SyntaxError if the payload is not acceptable JSON, and otherwise an
// *Error of the kind invalid-type, invalid-value, limit or names that differ only in case.
func (x *Expression) Search(payload []byte) (Value, error) {
	document, err := parseText(payload)
	if err != nil || x.root == nil {
		return Value{}, err
	}
	s := newSearch(document)
	s.folding = x.folding
	return x.eval(s, document)
}

func (x *Expression) eval(s *search, document Value) (selected Value, err error) {
	defer caught(x.source, &err)
	return x.root(s, document), nil
}

// A Part is what an expression is made of.
type Part struct {
	// Kind is an operator as it is spelled (== != < <= > >= && || ! | [] [*] * @), or one of
	// identifier, member (the name in a multi-select hash), literal, raw string, function, filter,
	// index, slice, multi-select list, multi-select hash.
	Kind string

	// Text is the name of an identifier, a member or a function.
	Text string

	// Offset is the position in the expression, in bytes.
	Offset int
}

const (
	partIdentifier = "identifier"
	partMember     = "member"
	partFunction   = "function"
)

// String names the part for an error.
func (p Part) String() string {
	switch p.Kind {
	case partIdentifier, partMember:
		return p.Kind + " " + quoted(p.Text)
	case partFunction:
		return p.Kind + " " + p.Text
	}
	return p.Kind
}

// Parts returns what the expression is made of, in the order of its text, for those who take only a
// part of the language.
func (x *Expression) Parts() []Part { return slices.Clone(x.parts) }
