package dynamo

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
)

// encodingIdentity names the encoding of data of type B that holds the bytes of the result as they are. An encoding that
// a later version adds is unreadable for this one.
const encodingIdentity = "identity"

// content is how a result is kept: as data, with an encoding if that is of type B, or in parts. The zero value is no result.
type content struct {
	data            types.AttributeValue
	encoding, parts string
}

// place decides how the result of a record about to be written is kept, and writes its parts if it has any.
func (s *Store) place(ctx context.Context, op string, r idempotent.Record) (content, error) {
	switch {
	case r.Result == nil:
		return content{parts: r.Parts}, nil
	case r.Layout != idempotent.LayoutNative:
		return laidOut(op, r)
	case len(r.Result) <= s.inlineLimit, !r.Committed(r.Result):
		return inline(r.Result), nil
	}
	parts, err := s.writeParts(ctx, op, r)
	return content{parts: parts}, err
}

// laidOut keeps a result in the form that other readers of the table expect: in the record, however large it is.
func laidOut(op string, r idempotent.Record) (content, error) {
	var (
		c   content
		err error
	)
	switch {
	case r.Layout == idempotent.LayoutText && utf8.Valid(r.Result):
		c.data = textValue(string(r.Result))
	case r.Layout == idempotent.LayoutText:
		err = errors.New("the result is not UTF-8")
	case r.Layout == idempotent.LayoutValue:
		c.data, err = valueOf(r.Result)
	default:
		err = errors.New("this version does not know it")
	}
	if err != nil {
		err = &idempotent.StoreError{
			Op: op, Kind: idempotent.FailureRejected, NotApplied: nothingWritten, Err: fmt.Errorf("layout %q: %w", r.Layout, err),
		}
	}
	return c, err
}

// inline keeps a result in the record: as text, which is what AWS Powertools reads, unless that would alter its bytes.
func inline(result []byte) content {
	if utf8.Valid(result) {
		return content{data: textValue(string(result))}
	}
	return content{data: &types.AttributeValueMemberB{Value: result}, encoding: encodingIdentity}
}

// content reads what a record says of its result.
//
// AWS Powertools completes a record with an unconditional update of its own attributes, so everything else that this module
// wrote into the item may be left over. It counts only if the commit matches the data; otherwise the record is read as one
// of Powertools, without commit and reason.
func (d *decoder) content(a attributes, r *idempotent.Record) {
	r.Layout = d.layout(a)
	v, ok := d.it[a.data.name]
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		r.Result = []byte(v.Value)
		if r.Layout == idempotent.LayoutValue {
			d.value(a, r, v)
		}
	case *types.AttributeValueMemberB:
		d.binary(a, r, v)
	default:
		if ok {
			d.value(a, r, v)
		} else if r.Commit != "" {
			d.parts(a, r)
		}
	}
	if r.Result != nil {
		if !r.Committed(r.Result) {
			r.Commit = ""
		}
	}
	if r.Status == idempotent.StatusCompleted && r.Owner != "" && r.Commit == "" {
		r.Reason = ""
	}
}

func (d *decoder) layout(a attributes) idempotent.Layout {
	l := idempotent.Layout(d.text(a.layout))
	switch l {
	case idempotent.LayoutNative, idempotent.LayoutText, idempotent.LayoutValue:
	default:
		d.fail(a.layout, "of type S names a layout that this version does not know")
	}
	return l
}

// value reads data that is a value of DynamoDB's own types.
func (d *decoder) value(a attributes, r *idempotent.Record, v types.AttributeValue) {
	text, err := textOf(v)
	if err != nil {
		d.fail(a.data, "of type "+typeName(v)+" has no form in JSON")
	}
	r.Layout, r.Result = idempotent.LayoutValue, text
}

// binary reads data of type B. With an encoding only this module writes it: without a matching commit it is not understood.
func (d *decoder) binary(a attributes, r *idempotent.Record, v *types.AttributeValueMemberB) {
	switch encoding := d.text(a.encoding); {
	case encoding == "":
		d.value(a, r, v)
	case encoding != encodingIdentity:
		d.fail(a.encoding, "of type S names an encoding that this version does not know")
	case !r.Committed(v.Value):
		d.fail(a.data, "of type B does not match the commit")
	default:
		r.Result = v.Value
	}
}

// parts reads where the parts are. Whether they match the commit is seen when they are read.
func (d *decoder) parts(a attributes, r *idempotent.Record) {
	parts := d.text(a.parts)
	if parts == "" {
		return
	}
	if d.text(a.encoding) != "" {
		d.fail(a.encoding, "of type S names an encoding that this version does not know")
	}
	if _, ok := parsePartList(parts); !ok {
		d.fail(a.parts, "of type S is malformed")
	}
	r.Parts = parts
}
