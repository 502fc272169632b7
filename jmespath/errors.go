package jmespath

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of errors, for errors.Is. The first five carry the names of the JMESPath
// specification, section Errors.
var (
	// ErrSyntax is returned when an expression does not follow the grammar.
	ErrSyntax = errors.New("syntax")

	// ErrUnknownFunction is returned when an expression calls a function that does not exist.
	ErrUnknownFunction = errors.New("unknown-function")

	// ErrInvalidArity is returned when a function is called with too few or too
	// many arguments.
	ErrInvalidArity = errors.New("invalid-arity")

	// ErrInvalidType is returned when a function gets an argument of a type that
	// it does not accept.
	ErrInvalidType = errors.New("invalid-type")

	// ErrInvalidValue is returned when the type of an argument is right and its
	// value is not: a slice with step 0, text that powertools_json or
	// powertools_base64 cannot decode.
	ErrInvalidValue = errors.New("invalid-value")

	// ErrLimit is returned when an expression is too long or too deep, when its evaluation makes
	// more than its bound, and when an exact sum takes too many digits.
	ErrLimit = errors.New("limit")

	// ErrFoldedName is returned by an expression of Expression.Folding when names
	// that differ only in case make it unclear what a program reads.
	ErrFoldedName = errors.New("names that differ only in case")

	// ErrInvalidJSON is returned when a payload, or a text given to powertools_json, is not
	// acceptable JSON.
	ErrInvalidJSON = errors.New("invalid JSON")
)

// A CompileError says why Compile refused an expression.
type CompileError struct {
	Expression string // as given to Compile
	Offset     int    // in bytes, from 0 to the length of the expression
	Kind       error  // one of the sentinels of this package
	Detail     string // what is wrong, without a position
}

// Error quotes the expression, up to a sensible length.
func (e *CompileError) Error() string {
	return fmt.Sprintf("jmespath: compile %s: %v at offset %d: %s", quoted(e.Expression), e.Kind, e.Offset, e.Detail)
}

// Unwrap returns the kind.
func (e *CompileError) Unwrap() error { return e.Kind }

// A SearchError says why an expression could not be evaluated on a payload. It contains nothing of
// the payload.
type SearchError struct {
	Expression string // as given to Compile
	Function   string // the function that failed; empty if it was none
	Offset     int    // of that function in the expression, in bytes
	Kind       error  // one of the sentinels of this package
	Detail     string // what is wrong, without values
	Nothing    bool   // an argument of that function is null or an empty string
	Err        error  // a *JSONError, or nil
}

// Error names the function, where it stands, and the reason.
func (e *SearchError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "jmespath: search %s: %v", quoted(e.Expression), e.Kind)
	if e.Function != "" {
		fmt.Fprintf(&text, " in %s at offset %d", e.Function, e.Offset)
	}
	if e.Detail != "" {
		text.WriteString(": " + e.Detail)
	}
	return text.String()
}

// Unwrap returns the kind and, if there is one, the cause.
func (e *SearchError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// A JSONError says why a JSON text was refused. It contains nothing of the text.
type JSONError struct {
	Offset int    // in bytes, from 0 to the length of the text
	Detail string // what is wrong, without a position
}

// Error names the offset and the reason.
func (e *JSONError) Error() string {
	return fmt.Sprintf("jmespath: invalid JSON at offset %d: %s", e.Offset, e.Detail)
}

// Unwrap returns ErrInvalidJSON.
func (e *JSONError) Unwrap() error { return ErrInvalidJSON }

// fail begins a SearchError; the call that fails and Search fill in the rest.
func fail(kind error, detail string) *SearchError {
	return &SearchError{Kind: kind, Detail: detail}
}

// quoted keeps an error message readable even if someone compiled a megabyte.
func quoted(expression string) string {
	const longest = 200
	if len(expression) > longest {
		return fmt.Sprintf("%q...", expression[:longest])
	}
	return fmt.Sprintf("%q", expression)
}
