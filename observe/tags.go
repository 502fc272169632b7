package observe

import (
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/report"
)

// Units of CloudWatch. A tag may have others, such as Bytes, and Milliseconds for durations.
const (
	count   = "Count"
	seconds = "Seconds"
)

// reports are the types of what is written as metrics.
var reports = [...]reflect.Type{
	reflect.TypeFor[report.Delivery](), reflect.TypeFor[report.Batch](), reflect.TypeFor[report.Relay](),
	reflect.TypeFor[report.Reconciled](), reflect.TypeFor[report.Attention](),
}

// members lists every name that a line can have, beside those of a Config.
func members() []string {
	all := []string{
		"_aws", dimensionTenant, dimensionRoute, propertyErrorType, propertyRequestID, propertyStoreFailure,
	}
	for _, c := range counts {
		all = append(all, c.name)
	}
	for _, r := range reports {
		for _, f := range taggedOf(r, "emf") {
			all = append(all, f.name)
		}
	}
	return all
}

// tagged is a field of a report that is written, as its tag says.
type tagged struct {
	index []int // of more than one number behind a pointer
	name  string
	unit  string
	// kind is "dimension" or "property", empty for a metric, and "key" or "type" in a log.
	kind string
	// always: zeros are written, too.
	always bool
}

// taggedOf returns the fields that have a tag with this key. A pointer stands for the fields of its
// struct, in metrics; in a log it is a group.
func taggedOf(t reflect.Type, key string) (all []tagged) {
	for field := range t.Fields() {
		if key == "emf" && field.Type.Kind() == reflect.Pointer {
			for _, f := range taggedOf(field.Type.Elem(), key) {
				f.index = slices.Concat(field.Index, f.index)
				all = append(all, f)
			}
			continue
		}
		text, has := field.Tag.Lookup(key)
		if !has {
			continue
		}
		parts := strings.Split(text, ",")
		f := tagged{index: field.Index, name: parts[0], unit: count}
		for _, word := range parts[1:] {
			switch word {
			case "always":
				f.always = true
			case "dimension", "property", "key", "type":
				f.kind = word
			default:
				f.unit = word
			}
		}
		all = append(all, f)
	}
	return all
}

// valuesIn yields the fields with their values in a report, without those behind a nil pointer.
func valuesIn(r reflect.Value, fields []tagged) iter.Seq2[*tagged, reflect.Value] {
	return func(yield func(*tagged, reflect.Value) bool) {
		for i := range fields {
			if v, err := r.FieldByIndexErr(fields[i].index); err == nil && !yield(&fields[i], v) {
				return
			}
		}
	}
}

// number is the value of a metric: a count is what was counted, or 1 if something is so.
func (f *tagged) number(v reflect.Value) float64 {
	switch v.Kind() {
	case reflect.Int:
		return float64(v.Int())
	case reflect.Int64:
		return inUnit(time.Duration(v.Int()), f.unit)
	case reflect.Struct:
		phase, _ := reflect.TypeAssert[report.Phase](v)
		return inUnit(phase.Took, f.unit)
	default:
		if v.IsZero() {
			return 0
		}
		return 1
	}
}

// inUnit is exact to the microsecond. Clocks of two functions may disagree, so a duration may be
// negative.
func inUnit(d time.Duration, unit string) float64 {
	d = max(d, 0)
	if unit == seconds {
		return d.Seconds()
	}
	return float64(d.Microseconds()) / 1000
}
