package dynamo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

const ( // the end of the year 9999; what lies beyond was meant in another unit
	maxSeconds = 253402300799
	maxMillis  = maxSeconds*1000 + 999
)

// decode reads the record of a key from its item, which anyone may have written: what it does not
// understand is an [*store.UnreadableError]. The status is not judged.
func (s *Store) decode(key string, it item) (store.Record, error) {
	d := decoder{it: it, gzip: &s.gzip}
	r := d.record(s.attr, key)
	r.Expiry = d.seconds(s.attr.expiration)
	d.content(s.attr, &r)
	d.steps(s.attr, &r)
	if d.err != nil {
		return store.Record{}, d.err
	}
	return r, nil
}

// record reads what a record says beside its expiry, its result and its steps.
func (d *decoder) record(a *attributes, key string) store.Record {
	r := store.Record{Key: key}
	for _, f := range a.fields(&r) {
		f.read(d)
	}
	d.required(a.status)
	d.notEmpty(a.owner)
	return r
}

// decoder reads attributes and keeps the first problem.
type decoder struct {
	it   item
	gzip *compressor
	err  error
}

func (d *decoder) fail(at attribute, problem string) {
	if d.err == nil {
		d.err = unreadable("attribute %q %s", at.name, problem)
	}
}

func unreadable(format string, args ...any) error {
	return &store.UnreadableError{Reason: fmt.Sprintf(format, args...)}
}

func typed[T types.AttributeValue](d *decoder, at attribute) (value T, is bool) {
	v, there := d.it[at.name]
	if value, is = v.(T); there && !is {
		d.fail(at, "has type "+typeName(v)+", not "+typeName(value))
	}
	return value, is
}

// text reads an attribute of type S, "" if it is absent.
func (d *decoder) text(at attribute) string {
	if s, is := typed[*types.AttributeValueMemberS](d, at); is {
		return s.Value
	}
	return ""
}

// set reads an attribute of type SS in ascending order, because DynamoDB keeps none.
func (d *decoder) set(at attribute) []string {
	if s, is := typed[*types.AttributeValueMemberSS](d, at); is {
		return slices.Sorted(slices.Values(s.Value))
	}
	return nil
}

func (d *decoder) notEmpty(at attribute) string {
	s := d.text(at)
	if _, ok := d.it[at.name]; ok && s == "" {
		d.fail(at, "of type S is empty")
	}
	return s
}

func (d *decoder) required(at attribute) string {
	if _, ok := d.it[at.name]; !ok {
		d.fail(at, "is missing")
	}
	return d.notEmpty(at)
}

// seconds reads an instant that is always there. Writers that compute with floating point may leave
// a fraction, which is rounded up: a period is over at its end, not before.
func (d *decoder) seconds(at attribute) time.Time {
	if _, ok := d.it[at.name]; !ok {
		d.fail(at, "is missing")
		return time.Time{}
	}
	n, fraction := d.number(at, maxSeconds)
	if fraction {
		n++
	}
	return time.Unix(n, 0).UTC()
}

// millis reads an instant, the zero time if it is absent.
func (d *decoder) millis(at attribute) time.Time {
	if _, ok := d.it[at.name]; !ok {
		return time.Time{}
	}
	return time.UnixMilli(d.whole(at, maxMillis)).UTC()
}

func (d *decoder) whole(at attribute, most int64) int64 {
	n, fraction := d.number(at, most)
	if fraction {
		d.fail(at, "of type N is not a whole number")
	}
	return n
}

// number reads an attribute of type N that lies between 0 and most, 0 if it is absent, rounded
// down. DynamoDB returns numbers of this size as plain decimals.
func (d *decoder) number(at attribute, most int64) (n int64, fraction bool) {
	v, is := typed[*types.AttributeValueMemberN](d, at)
	if !is {
		return 0, false
	}
	whole, decimals, _ := strings.Cut(v.Value, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.HasPrefix(whole, "-") || n > most || strings.Trim(decimals, "0123456789") != "" {
		d.fail(at, "of type N is not a number in the range of this attribute")
		return 0, false
	}
	return n, strings.Trim(decimals, "0") != ""
}

// typeName names the type of a value as DynamoDB does.
func typeName(v types.AttributeValue) string {
	name, known := strings.CutPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
	if !known {
		return "unknown"
	}
	return name
}
