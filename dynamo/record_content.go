package dynamo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/store"
)

// encodingIdentity names the encoding of data of type B that is the result itself.
const encodingIdentity = "identity"

var sealSize = len(store.Seal("", nil)) // beside the name of the owner

// content is how a result is kept: as data, with an encoding if that is of type B, or in parts,
// with an encoding if they are compressed. The zero value is no result.
type content struct {
	data            types.AttributeValue
	encoding, parts string
}

// place decides how the result of a record is kept, and writes its parts, if it has any, which stay
// for outlive after its expiry.
func (s *Store) place(ctx context.Context, op string, r store.Record, outlive time.Duration) (content, error) {
	switch {
	case r.Result == nil:
		parts, encoding := splitParts(r.Parts)
		return content{encoding: encoding, parts: parts}, nil
	case r.Layout != store.LayoutNative:
		return laidOut(op, r)
	case len(r.Result) <= s.plainLimit, len(r.Seal) < len(r.Owner)+sealSize: // it has none
		return inline(string(r.Result)), nil
	case len(r.Result) > maxResult:
		return content{}, tooLargeResult(op, len(r.Result))
	}
	return s.keep(ctx, op, &r, outlive, s.inlineLimit)
}

// keep keeps a result in one piece, if that has no more than most bytes, else in parts. It is
// compressed, unless that does not pay or is not wanted. One that is larger than a batch of parts
// is compressed in any case: each batch is written before the next one is made. All depends on the
// result alone: who writes it again writes the same parts.
func (s *Store) keep(
	ctx context.Context, op string, r *store.Record, outlive time.Duration, most int,
) (c content, err error) {
	w := partWriter{Store: s, op: op, key: r.Key, seal: r.Seal, expiration: r.Expiry.Add(outlive).Unix()}
	var pieces [][]byte
	if s.compression {
		var write func(batch [][]byte) error
		if len(r.Result) > writeBatch*partSize {
			write = func(batch [][]byte) error { return w.write(ctx, batch) }
		}
		if pieces, err = s.gzip.compress(r.Result, write); err != nil {
			return content{}, err
		}
	}
	switch {
	case pieces == nil && len(r.Result) <= most:
		return inline(string(r.Result)), nil
	case pieces == nil:
		pieces = slices.Collect(slices.Chunk(r.Result, partSize))
	case w.written.count == 0 && len(pieces) == 1 && len(pieces[0]) <= most:
		return content{data: binaryValue(pieces[0]), encoding: encodingGzip}, nil
	default:
		c.encoding = encodingGzip
	}
	err = w.write(ctx, pieces)
	c.parts = w.written.String()
	return c, err
}

// laidOut keeps a result as other readers of the table expect it: in the record, whatever its size.
func laidOut(op string, r store.Record) (c content, err error) {
	switch {
	case r.Layout == store.LayoutText && utf8.Valid(r.Result):
		c.data = textValue(string(r.Result))
	case r.Layout == store.LayoutText:
		err = errors.New("the result is not UTF-8")
	case r.Layout == store.LayoutValue:
		c.data, err = valueOf(r.Result)
	default:
		err = errors.New("this version does not know it")
	}
	if err != nil {
		err = rejected(op, fmt.Errorf("layout %q: %w", r.Layout, err))
	}
	return c, err
}

// inline keeps a result as text, which AWS Powertools reads, unless that would alter its bytes.
func inline(result string) content {
	if utf8.ValidString(result) {
		return content{data: textValue(result)}
	}
	return content{data: binaryValue([]byte(result)), encoding: encodingIdentity}
}

// content reads what a record says of its result.
//
// AWS Powertools completes a record with an unconditional update of its own attributes, so what
// else this module wrote may be left over. It counts only if the commit matches the data; otherwise
// the record is one of Powertools, without commit, reason and the time of its completion.
func (d *decoder) content(a *attributes, r *store.Record) {
	switch r.Layout {
	case store.LayoutNative, store.LayoutText, store.LayoutValue:
	default:
		d.fail(a.layout, "of type S names a layout that this version does not know")
	}
	switch v := d.it[a.data.name].(type) {
	case nil:
		if r.Seal != "" {
			d.parts(a, r)
		}
	case *types.AttributeValueMemberS:
		r.Result = []byte(v.Value)
		if r.Layout == store.LayoutValue {
			d.value(a, r, v)
		}
	case *types.AttributeValueMemberB:
		if d.text(a.encoding) != "" {
			d.binary(a, r, v.Value)
			return
		}
		d.value(a, r, v)
	default:
		d.value(a, r, v)
	}
	if r.Result != nil && !r.Sealed(r.Result) {
		r.Seal = ""
	}
	if r.Status == store.StatusCompleted && r.Owner != "" && r.Seal == "" {
		r.Reason, r.CompletedAt = "", time.Time{}
	}
}

func (d *decoder) value(a *attributes, r *store.Record, v types.AttributeValue) {
	text, err := textOf(v)
	if err != nil {
		d.fail(a.data, "of type "+typeName(v)+" has no form in JSON")
	}
	r.Layout, r.Result = store.LayoutValue, text
}

// binary reads data in an encoding. Only this module writes it, and always with its commit.
func (d *decoder) binary(a *attributes, r *store.Record, data []byte) {
	switch d.text(a.encoding) {
	case encodingIdentity:
		r.Result = data
	case encodingGzip:
		var err error
		if r.Result, err = d.gzip.expand(data); err != nil {
			d.fail(a.data, "of type B is no gzip of a result")
			return
		}
	default:
		d.fail(a.encoding, "of type S names an encoding that this version does not know")
		return
	}
	if !r.Sealed(r.Result) {
		d.fail(a.data, "of type B does not match the commit")
	}
}

// parts reads where the parts are. Whether they match the commit is seen when they are read.
func (d *decoder) parts(a *attributes, r *store.Record) {
	if r.Parts = d.text(a.parts); r.Parts == "" {
		return
	}
	if _, ok := parsePartList(r.Parts); !ok {
		d.fail(a.parts, "of type S is malformed")
	}
	switch d.text(a.encoding) {
	case "":
	case encodingGzip:
		r.Parts += gzipParts
	default:
		d.fail(a.encoding, "of type S names an encoding that this version does not know")
	}
}

// valueOf keeps a result of idempotent.LayoutValue as AWS Powertools for TypeScript does. DynamoDB
// rejects a number of more than 38 digits, an empty member name, and more than 32 levels.
func valueOf(text []byte) (types.AttributeValue, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil || !json.Valid(text) { // nothing may follow the value
		return nil, errors.New("the result is no JSON")
	}
	return encodeValue(v), nil
}

func encodeValue(v any) types.AttributeValue {
	switch v := v.(type) {
	case map[string]any:
		m := make(item, len(v))
		for name, member := range v {
			m[name] = encodeValue(member)
		}
		return &types.AttributeValueMemberM{Value: m}
	case []any:
		l := make([]types.AttributeValue, len(v))
		for i, element := range v {
			l[i] = encodeValue(element)
		}
		return &types.AttributeValueMemberL{Value: l}
	case string:
		return textValue(v)
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	default: // nil: there is nothing else in JSON
		return &types.AttributeValueMemberNULL{Value: true}
	}
}

// textOf returns the canonical JSON of a value, whoever wrote it. Sets become arrays, bytes base64.
func textOf(v types.AttributeValue) ([]byte, error) {
	plain, err := decodeValue(v)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	return fingerprint.Canonical(nil, text)
}

func decodeValue(v types.AttributeValue) (plain any, err error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		members := make(map[string]any, len(v.Value))
		for name, member := range v.Value {
			if members[name], err = decodeValue(member); err != nil {
				return nil, err
			}
		}
		return members, nil
	case *types.AttributeValueMemberL:
		elements := make([]any, len(v.Value))
		for i, element := range v.Value {
			if elements[i], err = decodeValue(element); err != nil {
				return nil, err
			}
		}
		return elements, nil
	case *types.AttributeValueMemberS:
		return v.Value, nil
	case *types.AttributeValueMemberN:
		return json.Number(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return v.Value, nil
	case *types.AttributeValueMemberNULL:
		return nil, nil //nolint:nilnil // null is a value
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.EncodeToString(v.Value), nil
	case *types.AttributeValueMemberSS:
		return v.Value, nil
	case *types.AttributeValueMemberNS:
		numbers := make([]json.Number, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = json.Number(n)
		}
		return numbers, nil
	case *types.AttributeValueMemberBS:
		return v.Value, nil // []byte is base64 in JSON
	default:
		return nil, fmt.Errorf("type %s", typeName(v))
	}
}
