package powertools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/jmespath"
)

// A function is what becomes of a function of JMESPath in a language that does not agree with package jmespath on it:
// it is refused for a reason, or another body takes its place.
type function struct {
	refused string
	arity   int
	body    func(arguments []jmespath.Value) (jmespath.Value, error)
}

// Compile prepares an expression so that its functions give the results of the language, as far as they can be
// reproduced. Functions of the options are left alone. The error is that of jmespath.Compile, or names the function that is
// refused and why. An evaluation whose result cannot be reproduced fails with jmespath.ErrFunction and a RefusalError.
//
// In the errors of a compiled expression, a function that was replaced has the name of the language behind its own.
func (c *Codec) Compile(expression string, options ...jmespath.Option) (*jmespath.Expression, error) {
	compiled, err := jmespath.Compile(expression, options...)
	if err != nil {
		return nil, err
	}
	var rewritten strings.Builder
	replaced := map[string]bool{}
	done := 0
	for _, call := range calls(expression) {
		name := expression[call.start:call.end]
		f, differs := c.rules.functions[name]
		switch {
		case !differs:
			continue
		case f.refused != "":
			return nil, fmt.Errorf("powertools: expression %q: %s of %s: %s", expression, name, c.language, f.refused)
		}
		alias := name + "_" + string(c.language)
		if !replaced[name] {
			options = append(slices.Clip(options), jmespath.WithFunction(alias, f.arity, f.body))
			replaced[name] = true
		}
		rewritten.WriteString(expression[done:call.start] + alias)
		done = call.end
	}
	if done == 0 {
		return compiled, nil
	}
	return jmespath.Compile(rewritten.String()+expression[done:], options...)
}

type span struct{ start, end int }

// calls finds the names of the functions that a valid expression calls: identifiers outside of quotes with a parenthesis
// behind them (JMESPath grammar, function-expression).
func calls(expression string) []span {
	var found []span
	for i := 0; i < len(expression); {
		switch c := expression[i]; {
		case c == '\'' || c == '"' || c == '`':
			i = behindQuotes(expression, i)
		case isNameStart(c):
			name := span{i, i}
			for name.end < len(expression) && (isNameStart(expression[name.end]) || isDigit(expression[name.end])) {
				name.end++
			}
			i = name.end
			if strings.HasPrefix(strings.TrimLeft(expression[i:], " \t\r\n"), "(") {
				found = append(found, name)
			}
		default:
			i++
		}
	}
	return found
}

// behindQuotes returns the position behind a raw string, a quoted identifier or a literal; in all three a backslash keeps
// the character behind it from ending them.
func behindQuotes(expression string, i int) int {
	quote := expression[i]
	for i++; i < len(expression) && expression[i] != quote; i++ {
		if expression[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func isNameStart(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
