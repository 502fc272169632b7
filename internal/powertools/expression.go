package powertools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/jmespath"
)

// Allow refuses an expression that selects something else in another language than in this module.
// These select the same everywhere:
//
//   - names, indexes, @, and multi-selects
//   - powertools_json and powertools_base64
//   - powertools_base64_gzip; in Java right inside powertools_json only
//
// The error names the first other part, and where it stands.
func (c *Codec) Allow(expression *jmespath.Expression) error {
	inside := ""
	for _, part := range expression.Parts() {
		if reason := c.refuses(part, inside); reason != "" {
			return fmt.Errorf("expression %q: %s at offset %d: %s", expression, part, part.Offset, reason)
		}
		inside = part.Text
	}
	return nil
}

const (
	readDifferently = "the languages of AWS Powertools read it differently: " +
		"use names, indexes, multi-selects and the powertools_ functions"
	withoutLines = "Java drops the line breaks of the text that it unpacks: put powertools_json around it"
)

// refuses returns why a part is refused, or an empty text. inside is the name in front of the part.
func (c *Codec) refuses(part jmespath.Part, inside string) string {
	switch part.Kind {
	case "identifier":
		if c.language == TypeScript && slices.Contains(javaScriptNames, part.Text) {
			return "every object has it in JavaScript"
		}
	case "member":
		if c.language == TypeScript && part.Text == protoName {
			return "it is no member in JavaScript"
		}
	case "function":
		switch {
		case !strings.HasPrefix(part.Text, "powertools_"):
			return readDifferently
		case part.Text == "powertools_base64_gzip" && inside != "powertools_json" && c.raw:
			return withoutLines
		}
	case "index", "multi-select list", "multi-select hash", "@":
	default:
		return readDifferently
	}
	return ""
}

// javaScriptNames are names that every object has in JavaScript, and the empty one, which always
// selects null there.
var javaScriptNames = []string{
	"", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", protoName, "constructor",
	"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}
