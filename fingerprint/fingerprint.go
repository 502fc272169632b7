// Package fingerprint tells requests apart: it reduces JSON texts to a canonical form in which only
// the value counts, and lists of fields to a digest that can be stored and compared.
//
// [Canonical] gives two JSON texts the same form exactly if they stand for the same value: white
// space, the order of members, escapes and the spelling of numbers do not count, while every digit
// of a number does.
//
// A [Hash] digests fields, and [Hash.Text] writes the digest with the version of its algorithm,
// which [VersionOf] recognises. What a version computes never changes:
//
//	"1"   SHA-256 of the purpose and the fields, each preceded by its length in bytes as a big-endian 64-bit integer
//	"1h"  HMAC-SHA-256 of the same
//
// A plain digest hides what it was made of only as long as that cannot be guessed: of an amount, a
// telephone number or a date of birth it is as good as the original. Use [NewKeyed] where personal
// data must not be stored.
package fingerprint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// The versions of the algorithm, as they begin a text.
const (
	versionPlain = "1"
	versionKeyed = "1h"
)

// MinKeySize is the length in bytes of the shortest key that [NewKeyed] accepts.
const MinKeySize = 16

// Hash digests a purpose and a sequence of fields. Equal sequences with an equal purpose have equal
// digests; different ones, also those that are equal when written in a row, do not (short of a
// collision of SHA-256).
//
// A field is a sequence of bytes and nothing else: the same bytes given as [Hash.Bytes], as
// [Hash.String] and as canonical form by [Hash.JSON] are the same field, and JSON's null is the
// field "null". Where several kinds can occur in one place, add a field that says which one it is.
// An empty field differs from an absent one only in the number of fields.
//
// A Hash comes from [New] or [NewKeyed] and must not be copied; methods of the zero Hash panic. It
// keeps a copy of its fields until it is garbage. It is not safe for concurrent use.
type Hash struct {
	fields []byte // each with its length in front, the purpose first
	key    []byte // nil for a plain digest
	small  [480]byte
	parser parser
}

// New returns a Hash of version 1, the SHA-256 of its fields. The purpose separates digests of one
// kind from those of another: they differ although all fields are equal. Use a constant of the
// calling code.
func New(purpose string) *Hash {
	h := new(Hash)
	h.fields = h.small[:0]
	h.String(purpose)
	return h
}

// NewKeyed is [New] with a secret: it returns a Hash of version 1h, the HMAC-SHA-256 (RFC 2104) of
// its fields. Without the key nobody can guess the fields and compare. The key must be random and
// must not change afterwards; 32 bytes are advised. NewKeyed panics on one shorter than
// [MinKeySize], lest an unset variable go unnoticed.
func NewKeyed(key []byte, purpose string) *Hash {
	if len(key) < MinKeySize {
		panic(fmt.Sprintf("fingerprint: key of %d bytes, want at least %d", len(key), MinKeySize))
	}
	h := New(purpose)
	h.key = key
	return h
}

// Reset begins anew, as [New] or [NewKeyed] did. It keeps the key, and the room that the fields
// had: whoever computes several digests needs one Hash.
func (h *Hash) Reset(purpose string) {
	h.fields = h.fields[:0]
	h.String(purpose)
}

// Bytes adds one field, the bytes of b, which may be empty or nil: both are the empty field.
func (h *Hash) Bytes(b []byte) {
	h.String("")
	binary.BigEndian.PutUint64(h.fields[len(h.fields)-lengthSize:], uint64(len(b)))
	h.fields = append(h.fields, b...)
}

// String adds one field, the bytes of s, whether or not they are valid UTF-8.
func (h *Hash) String(s string) {
	if h.fields == nil { // that of New has its purpose at least
		panic(noPurpose)
	}
	h.fields = append(binary.BigEndian.AppendUint64(h.fields, uint64(len(s))), s...)
}

// JSON adds one field, a canonical form of a JSON text: that of [Canonical], but for numbers, which
// are as short as they can be. 1000 is 1e3 and 0.001 is 1e-3: so the field is never longer than
// doc. JSON returns a [*SyntaxError] if there is none; the Hash is then as it was before.
func (h *Hash) JSON(doc []byte) error { return h.canonical(doc, form{shortest: true}) }

// JSONFolding is [Hash.JSON], and refuses what [CanonicalFolding] refuses.
func (h *Hash) JSONFolding(doc []byte) error {
	return h.canonical(doc, form{shortest: true, folding: true})
}

func (h *Hash) canonical(doc []byte, as form) error {
	h.String("")
	start := len(h.fields)
	fields, err := h.parser.canonical(h.fields, doc, as)
	if err != nil {
		h.fields = h.fields[:start-lengthSize]
		return err
	}
	binary.BigEndian.PutUint64(fields[start-lengthSize:], uint64(len(fields)-start)) //nolint:gosec // not negative
	h.fields = fields
	return nil
}

// Value encodes v with [json.Marshal] and adds one field, the canonical form of the encoding. A nil
// v is the field "null". Invalid UTF-8 in strings is not told apart, because encoding/json replaces
// it by U+FFFD; a float64 counts as the shortest decimal that identifies it.
//
// The field is the same with every release of Go. So Value refuses what Go 1.26 and Go 1.27 encode
// differently:
//
//   - a map whose keys are strings of a type with MarshalText or AppendText, or whose keys are
//     neither strings, integers nor texts of MarshalText;
//   - a value of a type with AppendText or MarshalJSONTo and neither MarshalJSON nor MarshalText;
//   - a struct with the tag option embed or format, or with a name in a tag that Go 1.26 ignores.
//
// It returns an error that wraps the one of encoding/json for what cannot be encoded (a channel,
// NaN), or a [*SyntaxError], with an offset in the encoding, if that has no canonical form (a
// [json.RawMessage] with duplicate keys). Its text holds nothing of v. The Hash is then as it was.
func (h *Hash) Value(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("fingerprint: encode %T: %w", v, encodeError{err})
	}
	if err := steady(reflect.ValueOf(v)); err != nil {
		return fmt.Errorf("fingerprint: encode %T: Go releases differ: %w", v, err)
	}
	if err := h.JSON(doc); err != nil {
		return fmt.Errorf("%w, in the encoding of %T", err, v)
	}
	return nil
}

// Sum returns the digest of the fields added so far. It does not change the Hash: it may be called
// again, and more fields may follow. Each call digests all fields anew.
func (h *Hash) Sum() [sha256.Size]byte {
	if h.fields == nil {
		panic(noPurpose)
	}
	if h.key == nil {
		return sha256.Sum256(h.fields)
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write(h.fields)
	return [sha256.Size]byte(mac.Sum(nil))
}

// Text returns the version and the digest of the fields added so far, as printable ASCII without
// white space: the version, a colon and the 43 characters of the digest in unpadded base64url (RFC
// 4648 section 5). Like [Hash.Sum] it does not change the Hash.
func (h *Hash) Text() string {
	version := versionPlain
	if h.key != nil {
		version = versionKeyed
	}
	sum := h.Sum()
	text := append(make([]byte, 0, 64), version...)
	return string(digestEncoding.AppendEncode(append(text, ':'), sum[:]))
}

// VersionOf returns the version that text begins with. ok reports that [Hash.Text] of this package
// could have written the text, so that a digest of the same version can be computed and compared;
// otherwise version is empty. Version "1" is computed by [New], "1h" by [NewKeyed].
func VersionOf(text string) (version string, ok bool) {
	version, digest, _ := strings.Cut(text, ":")
	if version != versionPlain && version != versionKeyed {
		return "", false
	}
	// The length is compared because the decoder ignores line breaks.
	sum, err := digestEncoding.DecodeString(digest)
	if err != nil || len(sum) != sha256.Size || len(digest) != digestEncoding.EncodedLen(sha256.Size) {
		return "", false
	}
	return version, true
}

// digestEncoding is strict: each digest has one text.
var digestEncoding = base64.RawURLEncoding.Strict()

const (
	lengthSize = 8
	noPurpose  = "fingerprint: Hash without a purpose: use New or NewKeyed"
)
