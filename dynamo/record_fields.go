package dynamo

import (
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// field is an attribute of a record, and the field that holds what it says: a *string, *int, *bool,
// *time.Time, *seconds or *[]string.
type field struct {
	at *attribute
	of any
}

// seconds is an instant that is kept to the second. Others are kept to the millisecond.
type seconds time.Time

// fields are what a record says beside its key, its result and its steps, in the order in which an
// update writes it. The reason and the layout are not among them: they go with the result.
func (a *attributes) fields(r *store.Record) [21]field {
	return [...]field{
		{&a.status, (*string)(&r.Status)},
		{&a.owner, &r.Owner},
		{&a.validation, &r.Fingerprint},
		{&a.commit, &r.Seal},
		{&a.lease, &r.Lease},
		{&a.expiration, (*seconds)(&r.Expiry)},
		{&a.attempt, &r.Attempt},
		{&a.createdAt, &r.CreatedAt},
		{&a.completedAt, &r.CompletedAt},
		{&a.settledBy, &r.SettledBy},
		{&a.settledAt, &r.SettledAt},
		{&a.settledReason, &r.SettledReason},
		{&a.attention, &r.Attention},
		{&a.trace, &r.Trace},
		{&a.story, &r.Story},
		{&a.attentionAt, &r.AttentionAt},
		{&a.tries, &r.Tries},
		{&a.questions, &r.Questions},
		{&a.unmarked, &r.Unmarked},
		{&a.stepNames, &r.StepNames},
		{&a.derived, &r.Derived},
	}
}

// said is what a field says, as DynamoDB keeps it.
type said struct {
	is     bool // or the attribute is left out
	text   string
	number int64
	set    []string
}

func (f field) says() said {
	switch of := f.of.(type) {
	case *string:
		return said{is: *of != "", text: *of}
	case *int:
		return said{is: *of != 0, number: int64(*of)}
	case *bool:
		return said{is: *of, number: 1}
	case *time.Time:
		return said{is: !of.IsZero(), number: of.UnixMilli()}
	case *seconds:
		return said{is: true, number: time.Time(*of).Unix()}
	case *[]string:
		return said{is: len(*of) > 0, set: *of}
	}
	return said{}
}

func (s said) same(other said) bool {
	return s.is == other.is && (!s.is || s.text == other.text && s.number == other.number &&
		slices.Equal(s.set, other.set))
}

// value is that of the attribute, nil if it is left out.
func (s said) value() types.AttributeValue {
	switch {
	case !s.is:
		return nil
	case s.text != "":
		return textValue(s.text)
	case s.set != nil:
		return &types.AttributeValueMemberSS{Value: s.set}
	default:
		return numberValue(s.number)
	}
}

// read reads the attribute, except the expiry, which not every read brings.
func (f field) read(d *decoder) {
	switch of := f.of.(type) {
	case *string:
		*of = d.text(*f.at)
	case *int:
		*of = int(d.whole(*f.at, math.MaxInt32))
	case *bool:
		*of = d.whole(*f.at, 1) == 1
	case *time.Time:
		*of = d.millis(*f.at)
	case *[]string:
		*of = d.set(*f.at)
	}
}
