package fingerprint

import "slices"

const (
	// MaxDepth is the number of arrays and objects that may enclose one another. Opening one more
	// is a [*SyntaxError].
	MaxDepth = 1000
	// maxSize is the length in bytes of the longest accepted document: far beyond what Lambda
	// transports.
	maxSize = 256 << 20
)

// Canonical appends the canonical form of the JSON text src to dst and returns the extended slice.
// Two texts have the same canonical form exactly if they stand for the same value.
//
// The form is that of RFC 8785, the JSON Canonicalization Scheme, except that numbers keep their
// exact decimal value (RFC 8785 section 3.2.2.3 rounds them to doubles): 1.0 and 1e0 are 1, but
// 9007199254740993 does not become 9007199254740992. In detail: no white space; object members
// sorted by the UTF-16 code units of their keys; strings with the shortest escapes and otherwise
// plain UTF-8, not normalised; numbers laid out as by ECMAScript's Number.prototype.toString.
//
// The grammar is that of RFC 8259 without its options. A document with duplicate keys (compared
// after unescaping), lone surrogates, invalid UTF-8, a byte order mark or trailing data, larger
// than 256 MiB, nested deeper than [MaxDepth], or with a number other than 0 that is not between
// 10^-(10^15) and 10^(10^15+1) is refused with a [*SyntaxError]; dst is then returned with its
// length and content unchanged.
//
// A canonical form is its own canonical form, and at most six times as long as src. Time is linear
// in the length of src, plus the sorting of keys. dst may be nil and must not overlap src.
// Canonical is safe for concurrent use.
func Canonical(dst, src []byte) ([]byte, error) {
	return new(parser).canonical(dst, src, form{})
}

// CanonicalFolding is [Canonical] for a reader who takes names of members for equal that differ
// only in case, as encoding/json does when it decodes into a struct: for such a reader the order of
// these members decides. An object with two names that are equal under simple Unicode case folding
// (as [bytes.EqualFold] has it) is a [*SyntaxError].
func CanonicalFolding(dst, src []byte) ([]byte, error) {
	return new(parser).canonical(dst, src, form{folding: true})
}

// form is a variant of the canonical form. The zero form is that of [Canonical].
type form struct {
	folding  bool // refuses names that are equal under folding
	shortest bool // lays numbers out so that no spelling is shorter
}

// canonical is [Canonical] in any of the forms. It begins anew with each document.
func (p *parser) canonical(dst, src []byte, as form) ([]byte, error) {
	if len(src) > maxSize {
		return dst, &SyntaxError{Offset: maxSize, Reason: "document larger than the limit"}
	}
	room := min(len(src), enough)
	out := slices.Grow(dst, len(src)+room)
	end := cap(out) - room
	*p = parser{src: src, form: as, room: out[end:end]}
	p.open, p.noted = p.members[:0], p.objects[:0]
	text, err := p.value(out[len(out):len(out):end])
	if p.token(); err == nil && p.pos < len(src) {
		err = p.unexpected("data after the end of the document")
	}
	if err != nil {
		return dst, err
	}
	return append(out, text...), nil // which is there already, unless it took more room than src
}

// enough is the size in bytes of the room that most documents are put in order in. It is allocated
// with the output, so that a short field can follow there without another allocation.
const enough = 128 << 10

// parser checks a JSON text and appends its tokens to a slice, each in canonical form. See order.go
// for how the members of an object get to where they belong.
type parser struct {
	src  []byte
	pos  int // of the next byte
	form form

	depth int      // arrays and objects that are open
	open  []member // of the objects that are, outermost first
	noted []object // that are to be put in order
	room  []byte   // to do so

	members [16]member // enough for most documents
	objects [1]object
}

func (p *parser) value(dst []byte) ([]byte, error) {
	switch p.token() {
	case '{', '[':
		return p.container(dst)
	case '"':
		return p.string(dst)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number(dst)
	case 't':
		return p.literal(dst, "true")
	case 'f':
		return p.literal(dst, "false")
	case 'n':
		return p.literal(dst, "null")
	default:
		return nil, p.unexpected("expected a value")
	}
}

func (p *parser) container(dst []byte) (_ []byte, err error) {
	if p.depth == MaxDepth {
		return nil, p.unexpected("nested deeper than the limit")
	}
	start, open, noted := len(dst), len(p.open), len(p.noted)
	dst = append(dst, p.src[p.pos])
	end := p.src[p.pos] + 2 // the brackets are two apart, as the braces are
	one, reason := (*parser).value, "expected a comma or a closing bracket"
	if end == '}' {
		one, reason = (*parser).member, "expected a comma or a closing brace"
	}
	p.depth++
	p.pos++
	for more := !p.accept(end); more; {
		if dst, err = one(p, dst); err != nil {
			return nil, err
		}
		next := p.token()
		if next != ',' && next != end {
			return nil, p.unexpected(reason)
		}
		p.pos++
		if more = next == ','; more {
			dst = append(dst, next)
		}
	}
	p.depth--
	dst = append(dst, end)
	return dst, p.order(dst, start, open, noted)
}

func (p *parser) member(dst []byte) ([]byte, error) {
	if p.token() != '"' {
		return nil, p.unexpected("expected a key in quotes")
	}
	m := member{start: uint32(len(dst)), source: uint32(p.pos)} //nolint:gosec // see [member]
	dst, err := p.string(dst)
	if err != nil {
		return nil, err
	}
	if !p.accept(':') {
		return nil, p.unexpected("expected a colon")
	}
	dst, err = p.value(append(dst, ':'))
	m.end = uint32(len(dst)) //nolint:gosec // see [member]
	p.open = append(p.open, m)
	return dst, err
}
