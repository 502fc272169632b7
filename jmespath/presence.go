package jmespath

import "github.com/go-idempotent/idempotent/internal/jsontext"

// A Presence tells whether a selection has everything that a key needs.
type Presence uint8

const (
	// Missing is a selection without content: null, an empty string, array or
	// object, and an array or object that holds nothing but those, such as the
	// [null, null] of "[a, b]" on a document that has neither.
	Missing Presence = iota

	// Partial is an array or object with content that has, at any depth, a
	// member without: [null, "x"], or {"id": 7, "tags": []}. Two different
	// requests can easily share such a key.
	Partial

	// Present is every other value. The number 0 and false are values.
	Present
)

// String returns the name of the constant in lower case.
func (p Presence) String() string { return [...]string{"missing", "partial", "present"}[p] }

// Presence tells whether the value can serve as a key: only Present should.
// It takes time in proportion to the length of the value's text.
func (v Value) Presence() Presence {
	presence, _ := presenceAt(v.json(), 0)
	return presence
}

// presenceAt looks at the value at i and returns the position behind it. Going
// over nested values once, instead of cutting each one out first, keeps deep
// documents linear.
func presenceAt(text string, i int) (Presence, int) {
	switch text[i] {
	case '[', '{':
	case '"':
		end := jsontext.End(text, i)
		if end-i == len(`""`) {
			return Missing, end
		}
		return Present, end
	case 'n':
		return Missing, i + len("null")
	default:
		return Present, jsontext.End(text, i)
	}
	some, all := false, true
	end := jsontext.Within(text, i, func(_ string, at int) int {
		member, behind := presenceAt(text, at)
		some = some || member != Missing
		all = all && member == Present
		return behind
	})
	switch {
	case !some:
		return Missing, end
	case all:
		return Present, end
	}
	return Partial, end
}
