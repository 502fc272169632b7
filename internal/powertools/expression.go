package powertools

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/jmespath"
)

// Compile prepares an expression so that it selects what the language selects. The error is that of jmespath.Compile; it
// is a jmespath.ErrDialect that names the part of the expression and the reason, if that part cannot be reproduced. An
// evaluation that cannot be reproduced fails with jmespath.ErrDialect. Functions of the options are left alone.
func (c *Codec) Compile(expression string, options ...jmespath.Option) (*jmespath.Expression, error) {
	dialect := c.rules.dialect
	dialect.Name = string(c.language)
	return jmespath.Compile(expression, append(slices.Clip(options), jmespath.WithDialect(dialect))...)
}

// refusals are the parts of expressions that are refused in a language, each with the reason. A function has parentheses
// behind its name.
type refusals map[string]string

// allow refuses what stands in the table, and asks the checks about everything else.
func (r refusals) allow(checks ...func(jmespath.Part) string) func(jmespath.Part) error {
	return func(p jmespath.Part) error {
		name := p.Kind
		if p.Kind == jmespath.PartFunction {
			name = p.Text + "()"
		}
		reason := r[name]
		for _, check := range checks {
			if reason == "" {
				reason = check(p)
			}
		}
		if reason != "" {
			return errors.New(reason)
		}
		return nil
	}
}

// Literals.

// literalOf returns the JSON text of a literal, and whether it is one: the deprecated form is a text without quotes.
func literalOf(p jmespath.Part) (text string, isJSON bool) {
	text = strings.ReplaceAll(p.Text, "\\`", "`")
	_, err := jmespath.Parse([]byte(text))
	return text, err == nil
}

// jsonLiterals refuses literals that are no JSON.
func jsonLiterals(p jmespath.Part) string {
	if p.Kind != jmespath.PartLiteral {
		return ""
	}
	if _, isJSON := literalOf(p); !isJSON {
		return "it is not JSON: a text stands in single quotes"
	}
	return ""
}

// readableLiterals refuses literals that a language may not read.
func readableLiterals(p jmespath.Part) string {
	if p.Kind != jmespath.PartLiteral {
		return ""
	}
	if text, isJSON := literalOf(p); isJSON {
		if _, _, err := parse([]byte(text)); err != nil {
			return err.Error()
		}
	}
	return ""
}
