package observe

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/report"
)

// logged writes reports of one type as records of a log.
type logged[R any] struct{ fields []tagged }

func logPlan[R any]() logged[R] { return logged[R]{taggedOf(reflect.TypeFor[R](), "log")} }

func (l logged[R]) log(ctx context.Context, logger *slog.Logger, level slog.Level, message string, r *R,
	before ...slog.Attr,
) {
	if logger == nil {
		logger = slog.Default()
	}
	if logger.Enabled(ctx, level) {
		logger.LogAttrs(ctx, level, message,
			append(slices.Clip(before), attributes(reflect.ValueOf(r).Elem(), l.fields)...)...)
	}
}

// says reports whether anything happened: texts and what is always written do not count.
func (l logged[R]) says(r *R) bool {
	for f, v := range valuesIn(reflect.ValueOf(r).Elem(), l.fields) {
		if !f.always && v.Kind() != reflect.String && !v.IsZero() {
			return true
		}
	}
	return false
}

// attributes are the fields that say something.
func attributes(r reflect.Value, fields []tagged) []slog.Attr {
	attrs := make([]slog.Attr, 0, len(fields))
	for f, v := range valuesIn(r, fields) {
		if f.name == "" || v.IsZero() && !f.always {
			continue
		}
		if f.kind == "type" {
			err, _ := reflect.TypeAssert[error](v)
			attrs = append(attrs, slog.String(f.name+"_type", errortype.Of(err)))
		}
		attrs = append(attrs, slog.Attr{Key: f.name, Value: valueOf(v)})
	}
	return attrs
}

func valueOf(v reflect.Value) slog.Value {
	switch value := v.Interface().(type) {
	case report.Phase:
		return slog.DurationValue(value.Took)
	case []report.NamedKey:
		keys := make([]slog.Attr, len(value))
		for i, k := range value {
			keys[i] = slog.String(k.Name, k.Key)
		}
		return slog.GroupValue(keys...)
	}
	switch {
	case v.Kind() == reflect.String: // also of the types of this module, which a handler should not have to know
		return slog.StringValue(v.String())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		return groups(v)
	case v.Kind() == reflect.Pointer:
		return slog.GroupValue(attributes(v.Elem(), taggedOf(v.Type().Elem(), "log"))...)
	default:
		return slog.AnyValue(v.Interface())
	}
}

// groups is a group for each element of a slice, by its key, or by its place from 1.
func groups(all reflect.Value) slog.Value {
	fields := taggedOf(all.Type().Elem(), "log")
	attrs := make([]slog.Attr, all.Len())
	for i := range attrs {
		element, name := all.Index(i), strconv.Itoa(i+1)
		for f, v := range valuesIn(element, fields) {
			if f.kind == "key" {
				name = v.String()
			}
		}
		attrs[i] = slog.Attr{Key: name, Value: slog.GroupValue(attributes(element, fields)...)}
	}
	return slog.GroupValue(attrs...)
}

func levelOfRecord(p *report.BatchProblem) slog.Level {
	switch {
	case p.FunctionErr != nil, p.Outcome == report.RecordPanicked, p.Outcome == report.RecordPoison && p.Again:
		return slog.LevelError
	case p.Outcome == report.RecordInProgress:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func errorIf(is bool, otherwise slog.Level) slog.Level {
	if is {
		return slog.LevelError
	}
	return otherwise
}
