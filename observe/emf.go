package observe

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent/internal/errortype"
)

// Properties that are no fields of a report.
const (
	propertyErrorType    = "errorType"
	propertyRequestID    = "requestId"
	propertyStoreFailure = "storeFailure"
)

// dimension is a dimension of a line and its value. Without a value it is none.
type dimension struct{ name, value string }

// emf writes reports of one type as lines of metrics. It is safe for concurrent use.
type emf[R any] struct {
	// first is the dimension that each line has. namespace and names are JSON: the beginning of the
	// directive, and the names of the dimensions that every line has. fixed are the members of
	// those that never change.
	first                   tagged
	namespace, names, fixed string
	// fields are properties and metrics. err is the field for the property errorType, none if it
	// has no index.
	fields []tagged
	err    tagged
	// count, unless nil, adds metrics that are no fields, and returns the property storeFailure.
	count func(l *line, r *R) (storeFailure string)

	mu   sync.Mutex // guards line and the writer
	line line
}

// line is a line and its parts: the definitions of its metrics, their values, and the properties.
type line struct{ text, definitions, values, properties []byte }

// metric adds a metric.
func (l *line) metric(name, unit string, value float64) {
	if len(l.definitions) > 0 {
		l.definitions = append(l.definitions, ',')
	}
	l.definitions = append(append(l.definitions, `{"Name":"`...), name...)
	l.definitions = append(append(append(l.definitions, `","Unit":"`...), unit...), `"}`...)
	l.values = appendNumber(l.values, name, value)
}

func newEMF[R any](c Config) *emf[R] {
	e := &emf[R]{namespace: `{"Namespace":` + string(appendString(nil, c.Namespace)) + `,"Dimensions":[`}
	t := reflect.TypeFor[R]()
	for _, f := range taggedOf(t, "emf") {
		if f.kind == "dimension" {
			e.first = f
		} else {
			e.fields = append(e.fields, f)
		}
	}
	if field, has := t.FieldByName("Err"); has {
		e.err = tagged{index: field.Index}
	}
	names, fixed := appendString(nil, e.first.name), []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		names = appendString(append(names, ','), name)
		fixed = appendMember(fixed, name, c.Dimensions[name])
	}
	e.names, e.fixed = string(names), string(fixed)
	return e
}

// write writes the line of a report, if there is a metric to write. Each of the sets is one more
// dimension, beside those that every line has.
func (e *emf[R]) write(ctx context.Context, w io.Writer, r *R, sets ...dimension) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := &e.line
	*l = line{l.text[:0], l.definitions[:0], l.values[:0], l.properties[:0]}
	e.addFields(ctx, r)
	if len(l.definitions) == 0 {
		return nil
	}
	b := strconv.AppendInt(append(l.text, `{"_aws":{"Timestamp":`...), time.Now().UnixMilli(), 10)
	b = append(append(b, `,"CloudWatchMetrics":[`...), e.namespace...)
	b = append(append(append(b, '['), e.names...), ']')
	for _, d := range sets {
		if d.value != "" {
			b = append(append(append(b, `,[`...), e.names...), ',')
			b = append(appendString(b, d.name), ']')
		}
	}
	b = append(append(append(b, `],"Metrics":[`...), l.definitions...), `]}]}`...)
	operation, _ := e.first.in(reflect.ValueOf(r).Elem())
	b = append(appendMember(b, e.first.name, operation.String()), e.fixed...)
	for _, d := range sets {
		b = appendSaid(b, d.name, d.value)
	}
	l.text = append(append(append(b, l.properties...), l.values...), "}\n"...)
	_, err := w.Write(l.text)
	return err
}

// addFields adds the metrics and properties of a report.
func (e *emf[R]) addFields(ctx context.Context, r *R) {
	l, storeFailure := &e.line, ""
	if e.count != nil {
		storeFailure = e.count(l, r)
	}
	for i := range e.fields {
		f := &e.fields[i]
		v, there := f.in(reflect.ValueOf(r).Elem())
		switch {
		case !there:
		case v.Kind() == reflect.String:
			l.properties = appendSaid(l.properties, f.name, v.String())
		case f.kind == "property" && !v.IsZero():
			l.properties = appendNumber(l.properties, f.name, f.number(v))
		case f.kind == "" && (f.always || f.number(v) > 0):
			l.metric(f.name, f.unit, f.number(v))
		}
	}
	l.properties = appendSaid(l.properties, propertyStoreFailure, storeFailure)
	if e.err.index != nil {
		v, _ := e.err.in(reflect.ValueOf(r).Elem())
		err, _ := reflect.TypeAssert[error](v)
		l.properties = appendSaid(l.properties, propertyErrorType, errortype.Of(err))
	}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		l.properties = appendSaid(l.properties, propertyRequestID, lc.AwsRequestID)
	}
}

// appendSaid appends a member, unless it says nothing.
func appendSaid(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendMember(b, name, value)
}

// appendMember appends a member that is not the first.
func appendMember(b []byte, name, value string) []byte {
	b = appendString(append(b, ','), name)
	return appendString(append(b, ':'), value)
}

func appendNumber(b []byte, name string, value float64) []byte {
	b = appendString(append(b, ','), name)
	return strconv.AppendFloat(append(b, ':'), value, 'f', -1, 64)
}

func appendString(b []byte, s string) []byte {
	if printable(s) && !strings.ContainsAny(s, `"\`) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // every string has a JSON form
	}
	return append(b, text...)
}
