package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// equal reports whether two records are the same in every field.
func equal(a, b store.Record) bool { return difference(a, b) == "" }

// difference names the fields in which got is not want; it is empty if there are none. No result
// and an empty one are the same, instants are the same in every time zone.
func difference(want, got store.Record) string {
	var b strings.Builder
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		name, x, y := w.Type().Field(i).Name, w.Field(i).Interface(), g.Field(i).Interface()
		if !same(x, y) {
			fmt.Fprintf(&b, "%s: want %s, got %s\n", name, show(x), show(y))
		}
	}
	return b.String()
}

// same compares two values of one field.
func same(want, got any) bool {
	switch w := want.(type) {
	case time.Time:
		return w.Equal(as[time.Time](got))
	case []byte:
		return bytes.Equal(w, as[[]byte](got))
	case []string:
		return slices.Equal(w, as[[]string](got))
	case map[string]store.Step:
		return maps.EqualFunc(w, as[map[string]store.Step](got), sameStep)
	default:
		return want == got
	}
}

// sameStep compares what a store keeps of a step.
func sameStep(a, b store.Step) bool {
	return a.Kind == b.Kind && a.Seal == b.Seal && a.Parts == b.Parts && bytes.Equal(a.Result, b.Result)
}

// show returns a value of a field for a message. Results may have megabytes.
func show(v any) string {
	const enough = 100
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case []byte:
		if len(v) > enough {
			return fmt.Sprintf("%q… (%d bytes)", v[:enough], len(v))
		}
		return fmt.Sprintf("%q", v)
	case map[string]store.Step:
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s := v[name]
			fmt.Fprintf(&b, " step %s (%q %q %s %q)", name, s.Kind, s.Seal, show(s.Result), s.Parts)
		}
		return b.String()
	default:
		return fmt.Sprintf("%#v", v)
	}
}

// describe returns a record for a message, with the beginning of its result.
func describe(r store.Record) string {
	result, steps := show(r.Result), show(r.Steps)
	r.Result, r.Steps = nil, nil
	return fmt.Sprintf("\t%+v result %s%s", r, result, steps)
}

// as returns v as what it is.
//
//nolint:forcetypeassert // anything else is a mistake of this package
func as[T any](v any) T { return v.(T) }
