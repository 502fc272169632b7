package dynamo

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

const stepPrefix = "step:" // of the names of attributes of steps

type item = map[string]types.AttributeValue

// attribute has a name in the table, and what expressions call it and its value: they never hold
// names themselves, because many are reserved words of DynamoDB.
type attribute struct{ name, ref, value string }

func (a attribute) role() string { return a.ref[len("#"):] }

// attributes is the shape of an item. The first six are those of AWS Powertools.
type attributes struct {
	id         attribute // S: the record key, or the partition where there is a sort key
	status     attribute // S
	expiration attribute // N: epoch seconds, the table's time to live attribute
	lease      attribute // N: epoch milliseconds
	data       attribute // S: the JSON text of the result; B: its bytes in the encoding that is named
	validation attribute // S: the fingerprint

	commit      attribute // S: owner and digest of the result
	parts       attribute // S: where the result is if there is no data
	encoding    attribute // S: of data that is B, or of the parts
	layout      attribute // S: store.Layout of the result
	attention   attribute // S: the partition key of the index
	attentionAt attribute // N: epoch milliseconds, the sort key of the index
	trace       attribute // S: the trace context of the execution
	story       attribute // S: the last transitions
	steps       attribute // N: how often steps were written

	owner, reason, settledBy, settledReason attribute // S
	createdAt, completedAt, settledAt       attribute // N: epoch milliseconds
	attempt, tries, questions, unmarked     attribute // N
	derived, stepNames                      attribute // SS

	sort      attribute // S: the record key, if the table has a sort key; else without a name
	partition string    // the one partition of all records, if the table has a sort key
}

func defaultAttributes() *attributes {
	return &attributes{
		id:         attribute{"id", "#id", ":id"},
		status:     attribute{"status", "#status", ":status"},
		expiration: attribute{"expiration", "#expiration", ":expiration"},
		lease:      attribute{"in_progress_expiration", "#lease", ":lease"},
		data:       attribute{"data", "#data", ":data"},
		validation: attribute{"validation", "#validation", ":validation"},
		owner:      attribute{"owner", "#owner", ":owner"},
		commit:     attribute{"commit", "#commit", ":commit"},
		attempt:    attribute{"attempt", "#attempt", ":attempt"},
		createdAt:  attribute{"created_at", "#created_at", ":created_at"},
		reason:     attribute{"reason", "#reason", ":reason"},
		parts:      attribute{"parts", "#parts", ":parts"},
		encoding:   attribute{"encoding", "#encoding", ":encoding"},
		layout:     attribute{"layout", "#layout", ":layout"},

		completedAt:   attribute{"completed_at", "#completed_at", ":completed_at"},
		settledBy:     attribute{"settled_by", "#settled_by", ":settled_by"},
		settledAt:     attribute{"settled_at", "#settled_at", ":settled_at"},
		settledReason: attribute{"settled_reason", "#settled_reason", ":settled_reason"},
		attention:     attribute{"attention", "#attention", ":attention"},
		attentionAt:   attribute{"attention_at", "#attention_at", ":attention_at"},
		derived:       attribute{"derived", "#derived", ":derived"},
		tries:         attribute{"tries", "#tries", ":tries"},
		questions:     attribute{"questions", "#questions", ":questions"},
		unmarked:      attribute{"unmarked", "#unmarked", ":unmarked"},
		stepNames:     attribute{"step_names", "#step_names", ":step_names"},
		trace:         attribute{"trace", "#trace", ":trace"},
		story:         attribute{"story", "#story", ":story"},
		steps:         attribute{"steps", "#steps", ":steps"},

		sort: attribute{ref: "#sort", value: ":sort"},
	}
}

func (a *attributes) all() []attribute {
	all := []attribute{a.id}
	for _, f := range a.fields(new(store.Record)) {
		all = append(all, *f.at)
	}
	all = append(all, a.data, a.parts, a.encoding, a.steps)
	if a.composite() {
		all = append(all, a.sort)
	}
	return all
}

// composite reports whether the table has a sort key.
func (a *attributes) composite() bool { return a.sort.name != "" }

func (a *attributes) key(k string) item { return a.keyed(make(item), k) }

// keyed gives an item its key.
func (a *attributes) keyed(it item, k string) item {
	if a.composite() {
		it[a.id.name] = textValue(a.partition)
	}
	it[a.recordKey().name] = textValue(k)
	return it
}

// recordKey is the attribute that holds the record key.
func (a *attributes) recordKey() attribute {
	if a.composite() {
		return a.sort
	}
	return a.id
}

// encode leaves out the attributes that would be empty.
func (a *attributes) encode(r *store.Record, c content) item {
	it := a.keyed(make(item, 12), r.Key)
	set(it, a.data, c.data)
	set(it, a.parts, textOrNone(c.parts))
	set(it, a.encoding, textOrNone(c.encoding))
	for _, f := range a.fields(r) {
		set(it, *f.at, says(f.of).value())
	}
	return it
}

// set gives an item an attribute, unless that is nil.
func set(it item, at attribute, v types.AttributeValue) {
	if v != nil {
		it[at.name] = v
	}
}

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func binaryValue(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func textOrNone(s string) types.AttributeValue {
	if s == "" {
		return nil
	}
	return textValue(s)
}

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// field is an attribute of a record, and the field that holds what it says: a *string, *int, *bool,
// *time.Time, *seconds or *[]string.
type field struct {
	at *attribute
	of any
}

// seconds is an instant that is kept to the second. Others are kept to the millisecond.
type seconds time.Time

// fields are what a record says beside its key, its result and its steps, in the order in which an
// update writes it.
func (a *attributes) fields(r *store.Record) [23]field {
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
		{&a.reason, &r.Reason},
		{&a.layout, (*string)(&r.Layout)},
	}
}

// said is what a field says, as DynamoDB keeps it.
type said struct {
	is     bool // or the attribute is left out
	text   string
	number int64
	set    []string
}

func says(field any) said {
	switch of := field.(type) {
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
