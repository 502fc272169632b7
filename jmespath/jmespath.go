// Package jmespath selects idempotency keys and fingerprints out of a JSON
// event: JMESPath on exact numbers, with the functions of AWS Powertools.
//
// # What it promises
//
// An expression is compiled once and evaluated often; an [Expression] and a
// [Value] are immutable and safe for concurrent use. Evaluation works on the
// JSON text of the event. Numbers are decimals from the first byte to the last
// and never become floating point: 9007199254740993 selects as itself and
// differs from 9007199254740992, while 1, 1.0 and 1e0 are equal. What is
// selected keeps its spelling; a canonical form is left to the caller.
//
// A payload is refused as a whole, with a [JSONError], unless it is one JSON
// text in the sense of I-JSON (RFC 7493): valid UTF-8, no member name twice in
// one object, no lone surrogates, nothing after the value. Two programs would
// otherwise read two different keys out of one request. It may nest up to
// [MaxDepth] levels, and a number's exponent may have up to 18 digits.
//
// No error message contains a part of the payload.
//
// # The language
//
// Grammar, semantics and the 26 built-in functions are those of the JMESPath
// specification (https://jmespath.org/specification.html). Where it leaves
// something open:
//
//   - The values of an object come in the order of the document, in "*" as in
//     keys and values. Wrap them in sort to be independent of that order.
//   - Precedence is that of the official implementations. "!a.b" means "(!a).b",
//     which is always null; write "!(a.b)". A multi-select ends the projection in
//     front of it: "list[*].[a, b][0]" is the first pair, not the first member of
//     each pair. So does one step behind ".*": "a.*.b.c" means "(a.*.b).c".
//   - abs, ceil, floor, max, min, sort, sum, to_number and all comparisons are
//     exact. avg is exact whenever the average is a finite decimal; otherwise
//     it is rounded to 34 significant digits, or to as many as the sum has if
//     those are more. A sum that takes more than 65,536 digits, like that of
//     1e999999999 and 1, is refused with ErrLimit.
//   - to_string writes compact JSON and keeps the spelling of numbers and the
//     order of members.
//   - A literal in backticks that is not JSON, like `active`, is the string
//     "active", the deprecated form that is common in the AWS documentation.
//     What begins like an array, an object, a number or a quoted string must be
//     JSON.
//   - A multi-select that names a member twice is a syntax error, because one
//     of the two would silently be missing from the key.
//
// The functions of AWS Powertools
// (https://docs.powertools.aws.dev/lambda/python/latest/utilities/jmespath_functions/)
// are always available: powertools_json decodes a JSON string under the rules
// for payloads above, powertools_base64 decodes standard base64 of UTF-8 text,
// and powertools_base64_gzip unpacks such text as well, up to the limit of
// [WithMaxUnpacked]. [WithFunction] adds further functions. [WithDialect] makes an
// expression select what another implementation would select.
//
// # Limits
//
// Expressions are bounded by [MaxExpressionLength] and [MaxExpressionDepth]. The
// work of one evaluation, in bytes read and written, is bounded by a multiple
// of the payload's size that no sensible expression reaches; beyond it the
// evaluation ends with [ErrLimit].
package jmespath

import "errors"

// Limits of expressions and documents.
const (
	// MaxExpressionLength is the length of an expression in bytes beyond which
	// Compile refuses it.
	MaxExpressionLength = 16 << 10

	// MaxExpressionDepth is how deep parentheses, brackets, braces, function
	// calls and "!" may nest in an expression, and how many projections may
	// continue one another.
	MaxExpressionDepth = 256

	// MaxDepth is how deep arrays and objects may nest in a payload, in a
	// literal, and in the argument of powertools_json.
	MaxDepth = 1000
)

// An Expression is a compiled JMESPath expression. It is immutable and safe for
// concurrent use, as far as the functions given to WithFunction are. Only
// Compile makes one; the zero value selects null.
type Expression struct {
	source      string
	root        node
	maxUnpacked int
	folding     bool
	dialect     *Dialect
}

// Compile prepares an expression for repeated use. The error is a *CompileError
// of the kind ErrSyntax, ErrUnknownFunction, ErrInvalidArity, ErrInvalidType
// (only about expression references), ErrInvalidValue (a slice with step 0),
// ErrLimit, ErrInvalidOption or ErrDialect.
func Compile(expression string, options ...Option) (*Expression, error) {
	settings, err := newSettings(options)
	if err == nil {
		var root node
		if root, err = parse(expression, settings); err == nil {
			return &Expression{source: expression, root: root, maxUnpacked: settings.maxUnpacked, dialect: settings.dialect}, nil
		}
	}
	if failure, ok := errors.AsType[*CompileError](err); ok {
		failure.Expression = expression
	}
	return nil, err
}

// String returns the source of the expression.
func (x *Expression) String() string { return x.source }

// Folding returns the expression for a program that decodes names as encoding/json
// does: names that differ only in case are one field of a struct (Unicode's simple
// folding, so "ſ" is an s), and the last such member counts. The expression
// still selects by exact names. It refuses an object that it looks into if two of
// its names are equal under folding; to_string and the functions of WithFunction look
// into everything in their arguments. And it refuses an object without the name that
// it looks for but with another spelling of it, unless that spelling is found behind
// "||", as in "code || Code". Both are ErrFoldedName.
func (x *Expression) Folding() *Expression {
	folding := *x
	folding.folding = true
	return &folding
}

// Search evaluates the expression on a JSON document, given as text. A selection
// without a match is null, not an error; see Value.Presence. Search copies the
// payload, so the caller may reuse it; the value returned keeps the copy alive.
//
// The error is a *JSONError if the payload is not acceptable JSON, and otherwise
// as for Evaluate.
func (x *Expression) Search(payload []byte) (Value, error) {
	document, err := Parse(payload)
	if err != nil {
		return Value{}, err
	}
	return x.Evaluate(document)
}

// Evaluate evaluates the expression on a value. Parse once and Evaluate often
// where several expressions look at one document.
//
// The error is a *SearchError of the kind ErrInvalidType, ErrInvalidValue,
// ErrLimit, ErrFunction, ErrFoldedName or ErrDialect.
func (x *Expression) Evaluate(document Value) (Value, error) {
	if x.root == nil {
		return Value{}, nil
	}
	s := newSearch(document, x.maxUnpacked)
	s.folding = x.folding
	s.dialect = x.dialect
	selected, err := s.eval(x.root, document)
	if err == nil && len(s.missed) > 0 {
		err = fail(ErrFoldedName, "a name is there only in another spelling")
	}
	if err != nil {
		if failure, ok := errors.AsType[*SearchError](err); ok {
			failure.Expression = x.source
		}
		return Value{}, err
	}
	return selected, nil
}
