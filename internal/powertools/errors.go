package powertools

import "errors"

// RefusalError is why a selection or a result has no counterpart in the language. It is comparable:
// use errors.Is with the constants of this package, or errors.As to tell refusals from malformed
// input.
type RefusalError string

// The refusals. Reproducing any of these would let different requests share a key, or yield a key
// that depends on more than the request.
const (
	ErrProto     RefusalError = "TypeScript drops a member named __proto__, so different payloads would share a key"
	ErrSurrogate RefusalError = "a surrogate without its other half becomes a replacement character, so " +
		"different payloads would share a key"
	ErrOverflow RefusalError = "a number beyond the range of a double is hashed as infinity or null, so " +
		"different payloads would share a key"
	ErrNumberLength RefusalError = "a number of more than 1000 characters is read by some versions only"
	ErrJDK          RefusalError = "a number that JDK 18 and JDK 19 print differently needs the Java version: use " +
		"java17 or java21"
	ErrDuplicate RefusalError = "a member name occurs twice in one object"
	ErrDepth     RefusalError = "nested deeper than the limit"

	ErrStringResult RefusalError = "Java keeps a text as it is, so only a handler whose result is a string can read it back"
	ErrNumberRange  RefusalError = "TypeScript keeps numbers from 1e-130, and integers up to 9007199254740991"
	ErrEmptyName    RefusalError = "DynamoDB holds no empty member name"
)

// Error returns the reason. It contains nothing of the payload.
func (r RefusalError) Error() string { return "powertools: " + string(r) }

var (
	// ErrSyntax is returned when a selection or a result is not one JSON text in UTF-8.
	ErrSyntax = errors.New("powertools: not a JSON text")
	// ErrUnreadable is returned by DecodeData when the data attribute is not what the language
	// writes.
	ErrUnreadable = errors.New("powertools: the data attribute is not what the language writes")
)
