package powertools

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// Language names the implementation of AWS Powertools to agree with.
type Language string

// The languages. The zero value is none of them.
const (
	Python     Language = "python"
	TypeScript Language = "typescript"
	// Java is that of any JDK. It refuses the few doubles that JDK 18 and JDK 19 print differently,
	// such as 2e23.
	Java   Language = "java"
	Java17 Language = "java17" // of a JDK up to 18, so of the runtimes java11 and java17
	Java21 Language = "java21" // of a JDK from 19, so of the runtimes java21 and java25
)

// Codec computes what one language computes. Only New makes one. It is immutable and safe for
// concurrent use.
type Codec struct {
	language Language
	hash     func() hash.Hash

	// The rest is what the languages differ in.

	comma, colon string
	escapes      jsontext.Escapes
	whole        bool // refuse halves of surrogate pairs
	// arrange returns the members of an object, or of an attribute, in the order of the language,
	// and refuses names. It must not change its argument. Nil keeps the order of the event.
	arrange  func(members []member, attribute bool) ([]member, error)
	integers bool // write integers exactly
	// digits are those of a number that is not written exactly, and doubles how they are spelled.
	digits  func(f float64) (decimal, error)
	doubles notation
	// nothing is no key, nor is an array or object that has nothing else in it.
	nothing func(value) bool
	digest  func(sum []byte) string
	hashes  []string // names, in the order of functions; the first one is the default
	raw     bool     // keep strings without quotes
	values  bool     // keep results as attributes of their types
}

var functions = [...]func() hash.Hash{md5.New, sha1.New, sha256.New224, sha256.New, sha512.New384, sha512.New}

// Python looks the name up in hashlib, TypeScript in OpenSSL through crypto.createHash, Java in
// MessageDigest.
var (
	openSSLNames = []string{"md5", "sha1", "sha224", "sha256", "sha384", "sha512"}
	javaNames    = []string{"MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"}
)

// New returns the codec of a language. hash is the name of the hash function as that language
// spells it, for example sha256 in Python and TypeScript and SHA-256 in Java; empty is its default,
// MD5. The error names what is not supported, also where Java falls back to MD5.
func New(l Language, hash string) (*Codec, error) {
	var c *Codec // made here: a variable would be made in every process, sharing a table or not
	switch l {
	case Python:
		c = python()
	case TypeScript:
		c = typescript()
	case Java:
		c = java(anyDigits)
	case Java17:
		c = java(oldDigits)
	case Java21:
		c = java(newDigits)
	default:
		return nil, fmt.Errorf("powertools: language %q is not supported: use python, typescript, java, java17 or java21", l)
	}
	named := slices.IndexFunc(c.hashes, func(name string) bool {
		return hash == "" || name == hash || l != Python && strings.EqualFold(name, hash)
	})
	if named < 0 {
		return nil, fmt.Errorf("powertools: hash function %q of %s is not supported: use %s", hash, l,
			strings.Join(c.hashes, ", "))
	}
	c.language, c.hash = l, functions[named]
	return c, nil
}

// Language returns the language that New got.
func (c *Codec) Language() Language { return c.language }

// Hashed returns the bytes that the language gives to its hash function for a selection: JSON text
// with the numbers as the event has them, or nil, which is null. The error is ErrSyntax or a
// RefusalError.
func (c *Codec) Hashed(selected []byte) ([]byte, error) {
	v, _, err := parse(selected)
	if err != nil {
		return nil, err
	}
	return c.write(v, false)
}

// write writes a value, of which Java takes a text by its content: toString in
// BasePersistenceStore.generateHash.
func (c *Codec) write(v value, result bool) ([]byte, error) {
	w := writer{Codec: c, result: result, attribute: result && c.values}
	switch {
	case v.kind != text || !w.raw:
		w.value(v)
	case utf8.ValidString(v.text):
		w.dst = []byte(v.text)
	default:
		w.err = ErrSurrogate
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.dst, nil
}

// Digest returns what follows the prefix and # in an idempotency key, and the value of the
// validation attribute for the selection of a payload validation. The error is as for Hashed. A
// selection without content has a digest too: all such requests share it, so ask Missing first for
// a key.
func (c *Codec) Digest(selected []byte) (string, error) {
	text, err := c.Hashed(selected)
	if err != nil {
		return "", err
	}
	h := c.hash()
	h.Write(text)
	return c.digest(h.Sum(nil)), nil
}

// Missing reports whether the language takes the selection for no key, where it is told to throw in
// that case. What it does otherwise differs: Python and Java 2 run the handler unprotected,
// TypeScript does for null and undefined, and Java 1 goes on with the digest of nothing. A
// selection that is no JSON text is not missing: Digest refuses it.
func (c *Codec) Missing(selected []byte) bool {
	v, _, err := parse(selected)
	emptyText := v.kind == text && v.text == "" && !c.raw
	return err == nil && (emptyText || c.nothing(v) || v.holdsOnly(c.nothing))
}

// EncodeData returns a result, given as JSON text, as the language stores it: the content of a text
// attribute, or in TypeScript the JSON text of an attribute of the type that the result has (a map
// for an object, and so on), whose numbers are those of the N attributes. Only a number that has a
// different value as a double keeps its spelling, so that nothing is lost. The error is ErrSyntax,
// or a RefusalError if the language could read nothing that stands for the result.
//
// texts is true if all results of the handler are strings, which Java keeps without quotes: it
// looks at the type of the handler to read them back.
func (c *Codec) EncodeData(result []byte, texts bool) ([]byte, error) {
	v, twice, err := parse(result)
	switch {
	case err != nil:
		return nil, err
	case twice:
		return nil, ErrDuplicate
	case c.raw && (v.kind == text) != texts:
		return nil, ErrStringResult
	}
	return c.write(v, true)
}

// DecodeData returns the result of a completed record as JSON text, from what EncodeData returns,
// or from nil of a record without data attribute. The attribute is a text, or value is set. The
// error is ErrUnreadable if the language, on the same type of handler, would not have written it,
// or writes what is no JSON, such as NaN.
func (c *Codec) DecodeData(data []byte, value, texts bool) ([]byte, error) {
	switch {
	case data == nil && !c.raw: // a record without data attribute has the result null
		return []byte("null"), nil
	case data == nil || value != c.values:
		return nil, ErrUnreadable
	case c.raw && texts:
		return jsontext.Escapes{}.Append(nil, string(data)), nil
	}
	if _, _, err := parse(data); err != nil {
		return nil, ErrUnreadable
	}
	return data, nil
}

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
