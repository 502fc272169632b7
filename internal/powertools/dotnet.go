package powertools

import (
	"errors"

	"github.com/go-idempotent/idempotent/jmespath"
)

// dotnetStyle is System.Text.Json with its default encoder: Basic Latin without what HTML or a shell could take for
// more than text, and numbers as they are written.
var dotnetStyle = style{
	comma: ",", colon: ":",
	arrange: asSent,
	number:  asWritten,
	text:    withoutSurrogates(&escapes{hex: upperHex, ascii: true, html: "\"&'+<>`"}),
}

// dotnetSelected is dotnetStyle for a selection.
var dotnetSelected = style{
	comma: ",", colon: ":",
	arrange: asSent,
	number:  asWritten,
	text: func(dst []byte, content string) ([]byte, error) {
		if _, ambiguous := embedded(content); ambiguous {
			return nil, ErrEmbedded
		}
		return dotnetStyle.text(dst, content)
	},
}

// hashDotNet is JsonElement.ToString of BasePersistenceStore.GenerateHash: nothing for null, the content of a text, True
// or False, and else the JSON text.
func hashDotNet(s *style, v value) ([]byte, error) {
	switch v.kind {
	case null:
		return []byte{}, nil
	case boolean:
		if v.text == trueWord {
			return []byte("True"), nil
		}
		return []byte("False"), nil
	case text:
		if hasSurrogate(v.text) {
			return nil, ErrSurrogate
		}
		if inner, ambiguous := embedded(v.text); ambiguous && (inner.kind != number || inner.text != v.text) {
			return nil, ErrEmbedded
		}
		return []byte(v.text), nil
	case number, array, object:
	}
	return s.write(nil, v)
}

// embedded returns the value of a text that is itself JSON. The expressions of .NET decode it where a member of that name
// was selected, and nowhere else; that is not visible in the selection.
func embedded(content string) (inner value, isJSON bool) {
	inner, _, err := parse([]byte(content))
	return inner, !errors.Is(err, ErrSyntax)
}

// dotnetMissing is IsMissingIdempotencyKey: null and the empty text.
func dotnetMissing(v value) bool { return v.kind == null || v.kind == text && v.text == "" }

// dotnetMember is JsonElementValue.TryGetProperty, which decodes a text that is JSON. Other than that, it leaves numbers,
// booleans and texts in a text to hashDotNet: no step leads into them.
func dotnetMember(selected jmespath.Value) (jmespath.Value, error) {
	content, isText := selected.Text()
	if !isText {
		return selected, nil
	}
	inner, isJSON := embedded(content)
	switch {
	case !isJSON || inner.kind != null && !inner.isContainer():
		return selected, nil
	case inner.levels() > dotnetDepth:
		return jmespath.Value{}, ErrDepth
	}
	return jmespath.Parse([]byte(content))
}

// dotnetDepth is the number of levels that JsonDocument reads.
const dotnetDepth = 64
