package jmespath

import (
	"maps"
	"slices"
)

// A Dialect is how another implementation of JMESPath reads expressions: where the specification leaves something open,
// and where that implementation does not follow it. What is nil is as in this package, and so is everything in the zero
// value. The functions must be safe for concurrent use. Their errors end the evaluation with a *SearchError of the kind
// ErrDialect, whose message has their text: they must not quote values.
type Dialect struct {
	// Name is that of the implementation, for errors.
	Name string

	// Allow is asked about every part of an expression when it is compiled. Its error ends Compile with a *CompileError of
	// the kind ErrDialect, which names the part and the reason.
	Allow func(Part) error

	// Compare decides "left operator right". The operator is one of == != < <= > >=, and the result true, false or null.
	Compare func(operator string, left, right Value) (Value, error)

	// Order compares two numbers or two strings for sort, max and min and for their forms with "_by": it is negative,
	// zero or positive as the left one comes before, with or behind the right one.
	Order func(left, right Value) (int, error)

	// Member returns what an identifier selects in place of the member that it names, which is null if there is none.
	Member func(member Value) (Value, error)

	// Arrange returns an object with its members in the order in which "*", keys and values go through them.
	Arrange func(object Value) (Value, error)

	// KeepsNull is true if a filter, "[]" and "*" keep null where no step stands behind them.
	KeepsNull bool

	// Functions take the place of built-in functions without expression references. The number of arguments has been
	// checked, and not their types.
	Functions map[string]func(arguments []Value) (Value, error)

	// Results change what built-in functions return.
	Results map[string]func(result Value) (Value, error)
}

// A Part is what an expression is made of.
type Part struct {
	// Kind is an operator as it is spelled (== != < <= > >= && || ! | [] [*] *), or one of the constants.
	Kind string

	// Text is the name of an identifier, a member or a function, and the source of a literal without its delimiters.
	Text string

	// Offset is the position in the expression, in bytes.
	Offset int

	// Condition is true of a comparison that only decides whether something else is selected: in a filter, under "!", or in
	// front of "||". There false and null are the same.
	Condition bool
}

// The kinds of parts that are no operators. The last four are where implementations disagree about the grammar; the part
// in question has been reported as well.
const (
	PartIdentifier  = "identifier"
	PartMember      = "member" // of a multi-select hash
	PartLiteral     = "literal"
	PartRawString   = "raw string"
	PartFunction    = "function"
	PartFilter      = "filter"
	PartIndex       = "index"
	PartSlice       = "slice"
	PartSelectList  = "multi-select list"
	PartSelectHash  = "multi-select hash"
	PartIndexSlice  = "slice behind an index"               // a[0][1:]
	PartFilterAgain = "filter behind the steps of another"  // a[?b].c[?d]
	PartNotSteps    = "step behind a negation"              // !a.b
	PartLateSteps   = "step behind the end of a projection" // a[*].[b, c][0], a.*.b.c
)

// String names the part for an error.
func (p Part) String() string {
	switch p.Kind {
	case PartIdentifier, PartMember:
		return p.Kind + " " + quoted(p.Text)
	case PartFunction:
		return "function " + p.Text
	}
	return p.Kind
}

// WithDialect makes the expression select what another implementation of JMESPath would select. At most one may be given.
func WithDialect(d Dialect) Option {
	return func(s *settings) {
		if s.dialect != nil {
			s.problems = append(s.problems, "there is a dialect already")
		}
		for _, name := range slices.Sorted(maps.Keys(d.Functions)) {
			if f, ok := builtins[name]; !ok || f.takesExpression() {
				s.problems = append(s.problems, "function "+name+" of the dialect is not built in, or takes an expression")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.Results)) {
			if _, ok := builtins[name]; !ok {
				s.problems = append(s.problems, "function "+name+" of the dialect is not built in")
			}
		}
		s.dialect = &d
	}
}

// allow asks the dialect about all parts of an expression.
func (d *Dialect) allow(parts []Part) error {
	if d == nil || d.Allow == nil {
		return nil
	}
	for _, p := range parts {
		if err := d.Allow(p); err != nil {
			return &CompileError{Kind: ErrDialect, Offset: p.Offset, Detail: p.String() + " of " + d.Name + ": " + err.Error()}
		}
	}
	return nil
}

// function returns a built-in function as the dialect has it.
func (d *Dialect) function(name string, f function) function {
	if d == nil {
		return f
	}
	if call := d.Functions[name]; call != nil {
		f = f.replaced(call)
	}
	if change := d.Results[name]; change != nil {
		f = f.changed(change)
	}
	return f
}

// byDialect calls a function of the dialect. The subject is what it stands for, empty for the function that is being
// called, and bytes is what it reads.
func (s *search) byDialect(subject string, bytes int, call func() (Value, error)) (Value, error) {
	if err := s.spend(bytes); err != nil {
		return Value{}, err
	}
	result, err := call()
	if err != nil {
		return Value{}, s.refused(subject, err)
	}
	return result, s.spend(len(result.text))
}

// refused begins the error of something that the dialect has no result for.
func (s *search) refused(subject string, err error) error {
	if subject != "" {
		subject += " of "
	}
	failure := fail(ErrDialect, subject+s.dialect.Name+": "+err.Error())
	failure.Err = err
	return failure
}

// arranged returns an object with its members in the order of the dialect.
func (s *search) arranged(object Value) (Value, error) {
	if s.dialect == nil || s.dialect.Arrange == nil {
		return object, nil
	}
	return s.byDialect("the order of members", len(object.text), func() (Value, error) { return s.dialect.Arrange(object) })
}

// sequence compares ranked values, and remembers an error.
type sequence struct {
	*search

	err error
}

func (q *sequence) compare(a, b ranked) int {
	if q.dialect == nil || q.dialect.Order == nil {
		return a.compare(b)
	}
	if q.err == nil {
		q.err = q.spend(len(a.key.text) + len(b.key.text))
	}
	if q.err != nil {
		return 0
	}
	compared, err := q.dialect.Order(a.key, b.key)
	if err != nil {
		q.err = q.refused("the order of "+a.kind.String()+"s", err)
	}
	return compared
}

// takesExpression reports whether a parameter of the function is an expression reference.
func (f function) takesExpression() bool {
	return slices.Contains(f.parameters, typeExpression)
}
