package dynamo

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// field is what one attribute says of a record: a text, a number or a set. One that says nothing is
// left out of the item.
type field struct {
	at     *attribute
	says   bool
	text   string
	number int64
	set    []string
}

// fields are what a record says beside its key, its result and its steps, in the order in which an
// update writes it. The reason and the layout are not among them: they go with the result.
func (a *attributes) fields(r *store.Record) [21]field {
	return [...]field{
		text(&a.status, string(r.Status)),
		text(&a.owner, r.Owner),
		text(&a.validation, r.Fingerprint),
		text(&a.commit, r.Seal),
		millis(&a.lease, r.Lease),
		{at: &a.expiration, says: true, number: r.Expiry.Unix()},
		number(&a.attempt, r.Attempt),
		millis(&a.createdAt, r.CreatedAt),
		millis(&a.completedAt, r.CompletedAt),
		text(&a.settledBy, r.SettledBy),
		millis(&a.settledAt, r.SettledAt),
		text(&a.settledReason, r.SettledReason),
		text(&a.attention, r.Attention),
		text(&a.trace, r.Trace),
		text(&a.story, r.Story),
		millis(&a.attentionAt, r.AttentionAt),
		number(&a.tries, r.Tries),
		number(&a.questions, r.Questions),
		{at: &a.unmarked, says: r.Unmarked, number: 1},
		{at: &a.stepNames, says: len(r.StepNames) > 0, set: r.StepNames},
		{at: &a.derived, says: len(r.Derived) > 0, set: r.Derived},
	}
}

func text(at *attribute, s string) field { return field{at: at, says: s != "", text: s} }

func number(at *attribute, n int) field { return field{at: at, says: n != 0, number: int64(n)} }

func millis(at *attribute, t time.Time) field {
	return field{at: at, says: !t.IsZero(), number: t.UnixMilli()}
}

// same reports whether two fields of one attribute say the same, as far as DynamoDB keeps it.
func (f *field) same(other *field) bool {
	return f.says == other.says && (!f.says ||
		f.text == other.text && f.number == other.number && slices.Equal(f.set, other.set))
}

// value is that of the attribute.
func (f *field) value() types.AttributeValue {
	switch {
	case f.text != "":
		return textValue(f.text)
	case f.set != nil:
		return setValue(f.set)
	default:
		return numberValue(f.number)
	}
}
