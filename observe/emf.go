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
	propertyErrorType = "errorType"
	propertyRequestID = "requestId"
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
	properties, metrics     []tagged
	// err is the field for the property errorType, none if it has no index.
	err tagged

	mu   sync.Mutex // guards line and the writer
	line []byte
}

func newEMF[R any](c Config) *emf[R] {
	e := &emf[R]{namespace: `{"Namespace":` + string(appendString(nil, c.Namespace)) + `,"Dimensions":[`}
	t := reflect.TypeFor[R]()
	for _, f := range taggedOf(t, "emf") {
		switch f.kind {
		case "dimension":
			e.first = f
		case "property":
			e.properties = append(e.properties, f)
		default:
			e.metrics = append(e.metrics, f)
		}
	}
	if field, has := t.FieldByName("Err"); has {
		e.err = tagged{index: field.Index, name: propertyErrorType}
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
	var some bool
	if e.line, some = e.appendLine(e.line[:0], ctx, reflect.ValueOf(r).Elem(), sets, time.Now()); !some {
		return nil
	}
	_, err := w.Write(e.line)
	return err
}

func (e *emf[R]) appendLine(b []byte, ctx context.Context, r reflect.Value, sets []dimension,
	now time.Time,
) (line []byte, some bool) {
	b = append(b, `{"_aws":{"Timestamp":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	b = append(b, `,"CloudWatchMetrics":[`...)
	b = append(append(append(append(b, e.namespace...), '['), e.names...), ']')
	for _, d := range sets {
		if d.value != "" {
			b = append(append(append(b, `,[`...), e.names...), ',')
			b = append(appendString(b, d.name), ']')
		}
	}
	b = append(b, `],"Metrics":[`...)
	for i := range e.metrics {
		if _, happened := e.metrics[i].happened(r); happened {
			b = appendDefinition(b, some, &e.metrics[i])
			some = true
		}
	}
	b = append(b, `]}]}`...)
	operation, _ := e.first.in(r)
	b = append(appendMember(b, e.first.name, operation.String()), e.fixed...)
	for _, d := range sets {
		b = appendSaid(b, d.name, d.value)
	}
	b = e.appendProperties(b, ctx, r)
	for i := range e.metrics {
		if value, happened := e.metrics[i].happened(r); happened {
			b = appendNumber(b, e.metrics[i].name, value)
		}
	}
	return append(b, "}\n"...), some
}

// happened returns the value of a metric, and whether a line has it.
func (f *tagged) happened(r reflect.Value) (float64, bool) {
	v, there := f.in(r)
	if !there {
		return 0, false
	}
	value := f.number(v)
	return value, f.always || value > 0
}

func (e *emf[R]) appendProperties(b []byte, ctx context.Context, r reflect.Value) []byte {
	for i := range e.properties {
		switch v, _ := e.properties[i].in(r); {
		case v.Kind() == reflect.String:
			b = appendSaid(b, e.properties[i].name, v.String())
		case !v.IsZero():
			b = appendNumber(b, e.properties[i].name, e.properties[i].number(v))
		}
	}
	if e.err.index != nil {
		v, _ := e.err.in(r)
		err, _ := reflect.TypeAssert[error](v)
		b = appendSaid(b, propertyErrorType, errortype.Of(err))
	}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		b = appendSaid(b, propertyRequestID, lc.AwsRequestID)
	}
	return b
}

func appendDefinition(b []byte, comma bool, f *tagged) []byte {
	if comma {
		b = append(b, ',')
	}
	b = append(append(b, `{"Name":"`...), f.name...)
	b = append(append(b, `","Unit":"`...), f.unit...)
	return append(b, `"}`...)
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
