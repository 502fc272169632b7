package jmespath

import "fmt"

// An Error says why Compile refused an expression, or why an expression could not be evaluated on a
// payload. It contains nothing of the payload.
type Error struct {
	Expression string // as given to Compile

	// Kind is one of these, the first five as in the JMESPath specification, section Errors:
	//
	//   - syntax: the expression does not follow the grammar
	//   - unknown-function
	//   - invalid-arity: it calls a function with too few or too many arguments
	//   - invalid-type: a function gets an argument of a type that it does not accept
	//   - invalid-value: a slice with step 0, text that powertools_json or powertools_base64 cannot
	//     decode
	//   - limit: the expression is too long or too deep, its evaluation makes more than its bound,
	//     or an exact sum takes too many digits
	//   - names that differ only in case: they make it unclear what a program reads, see
	//     Expression.Folding
	Kind string

	Function string // the function that failed; empty if it was none, and when compiling
	Offset   int    // where the expression is wrong, or of the function that failed, in bytes
	Detail   string // what is wrong, without a position and without values
	Nothing  bool   // an argument of the function is null or an empty string
	Err      error  // a *fingerprint.SyntaxError, or nil

	compiling bool
}

const (
	errSyntax          = "syntax"
	errUnknownFunction = "unknown-function"
	errInvalidArity    = "invalid-arity"
	errInvalidType     = "invalid-type"
	errInvalidValue    = "invalid-value"
	errLimit           = "limit"
	errFoldedName      = "names that differ only in case"
)

// Error quotes the expression, up to a sensible length, and names the function, where it stands,
// and the reason.
func (e *Error) Error() string {
	doing, where := "search", ""
	switch {
	case e.compiling:
		doing, where = "compile", fmt.Sprintf(" at offset %d", e.Offset)
	case e.Function != "":
		where = fmt.Sprintf(" in %s at offset %d", e.Function, e.Offset)
	}
	return fmt.Sprintf("jmespath: %s %s: %s%s: %s", doing, quoted(e.Expression), e.Kind, where, e.Detail)
}

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

// compileError begins an error of Compile, which fills in the expression.
func compileError(kind string, offset int, detail string) *Error {
	return &Error{Kind: kind, Offset: offset, Detail: detail, compiling: true}
}

// caught is deferred, and makes an error of the *Error that ended what compiles or searches.
func caught(expression string, err *error) {
	switch failure := recover().(type) {
	case nil:
	case *Error:
		failure.Expression = expression
		*err = failure
	default:
		panic(failure)
	}
}

// quoted keeps an error message readable even if someone compiled a megabyte.
func quoted(expression string) string {
	const longest = 200
	if len(expression) > longest {
		return fmt.Sprintf("%q...", expression[:longest])
	}
	return fmt.Sprintf("%q", expression)
}
