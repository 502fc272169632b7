package jmespath

import (
	"strings"
)

// DefaultMaxUnpacked is the default of WithMaxUnpacked: 10 MiB. The largest event
// of AWS Lambda has 6 MB (AWS Lambda quotas, synchronous invocation), so that only
// large events that pack well need more.
const DefaultMaxUnpacked = 10 << 20

// Variadic is the arity of a custom function that takes any number of arguments.
const Variadic = -1

// An Option changes what Compile accepts or how the expression evaluates.
type Option func(*settings)

type settings struct {
	functions   map[string]function // custom ones only
	dialect     *Dialect
	maxUnpacked int
	problems    []string
}

// WithFunction makes a function available to the expression under a name of
// letters, digits and underscores that does not begin with a digit and is
// neither built in nor given twice. The number of arguments must equal arity,
// which Compile checks; Variadic allows any number.
//
// The function gets its arguments evaluated, never an expression reference, and
// must be safe for concurrent use. Values to return come from FromString, from
// Parse, or from the arguments; the zero Value is null. Its error becomes the Err
// of a *SearchError of kind ErrFunction and may be ErrInvalidType or
// ErrInvalidValue; its text stays out of that error's message, since it could
// quote the payload. A panic passes through.
func WithFunction(name string, arity int, call func(arguments []Value) (Value, error)) Option {
	return func(s *settings) {
		_, builtin := builtins[name]
		_, twice := s.functions[name]
		switch {
		case !isIdentifier(name):
			s.problems = append(s.problems, "function name "+quoted(name)+" is not an identifier")
		case builtin || twice:
			s.problems = append(s.problems, "function "+name+" exists already")
		case arity < Variadic || arity > MaxExpressionLength:
			s.problems = append(s.problems, "function "+name+" has an impossible arity")
		case call == nil:
			s.problems = append(s.problems, "function "+name+" is nil")
		default:
			s.functions[name] = customFunction(arity, call)
		}
	}
}

// WithMaxUnpacked limits what powertools_base64_gzip may unpack in one search,
// in bytes and over all calls together, because a small payload can unpack to a
// thousand times its size. The default is DefaultMaxUnpacked; more than that
// ends the search with ErrLimit. Zero forbids unpacking.
func WithMaxUnpacked(bytes int) Option {
	return func(s *settings) {
		if bytes < 0 {
			s.problems = append(s.problems, "maximum of unpacked bytes is negative")
		}
		s.maxUnpacked = bytes
	}
}

// newSettings applies the options and reports all their problems at once.
func newSettings(options []Option) (settings, error) {
	s := settings{functions: map[string]function{}, maxUnpacked: DefaultMaxUnpacked}
	for _, option := range options {
		if option == nil {
			s.problems = append(s.problems, "option is nil")
			continue
		}
		option(&s)
	}
	if len(s.problems) > 0 {
		return s, &CompileError{Kind: ErrInvalidOption, Detail: strings.Join(s.problems, "; ")}
	}
	return s, nil
}

// lookup finds a function by name; suggestions are not offered, a compile error
// shows the expression anyway.
func (s settings) lookup(name string) (function, bool) {
	if f, ok := builtins[name]; ok {
		return s.dialect.function(name, f), true
	}
	f, ok := s.functions[name]
	return f, ok
}

// isIdentifier reports whether s is an unquoted-string of the grammar.
func isIdentifier(s string) bool {
	return s != "" && isIdentifierStart(s[0]) && len(s) == identifierEnd(s, 0)
}
