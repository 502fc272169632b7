package powertools

import "github.com/go-idempotent/idempotent/internal/jsontext"

// javaStyle is JsonNode.toString of Jackson. The digits of doubles are those of the JDK.
func javaStyle(j jdk) *style {
	return &style{
		comma: ",", colon: ":",
		escapes: jsontext.Escapes{Upper: true},
		whole:   true,
		integer: true,
		double:  j.appendDouble,
	}
}

// javaMissing is isMissingIdemPotencyKey: null, and an array or object that has nothing but null.
// Java 1.15.0 checks the same, but goes on and hashes unless it is told to throw; it does not look
// into arrays.
func javaMissing(v value) bool { return isNull(v) || v.holdsOnly(isNull) }
