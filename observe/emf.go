package observe

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
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
	// first is the dimension that each line has: the first field of its report. fields are
	// properties and metrics. err is the index of the field for the property errorType, nil if
	// there is none.
	first  tagged
	fields []tagged
	err    []int
	// names, directive and fixed are JSON: the names of the dimensions that every line has, the
	// beginning of the directive, and the members of the dimensions that never change.
	names, directive, fixed string
	// count, unless nil, adds metrics that are no fields, and returns the property storeFailure.
	count func(l *line, r *R) (storeFailure string)

	mu   sync.Mutex // guards line and w
	line line
	w    io.Writer
}

// line is a line and its parts: the definitions of its metrics, their values, and the properties.
type line struct{ text, definitions, values, properties []byte }

func (l *line) metric(name, unit string, value float64) {
	if len(l.definitions) > 0 {
		l.definitions = append(l.definitions, ',')
	}
	l.definitions = append(append(l.definitions, `{"Name":"`...), name...)
	l.definitions = append(append(append(l.definitions, `","Unit":"`...), unit...), `"}`...)
	l.values = appendNumber(l.values, name, value)
}

func newEMF[R any](w io.Writer, c Config) *emf[R] {
	fields := taggedOf(reflect.TypeFor[R](), "emf")
	failure, _ := reflect.TypeFor[R]().FieldByName("Err")
	names, fixed := appendString(nil, fields[0].name), []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		names = appendString(append(names, ','), name)
		fixed = appendMember(fixed, name, c.Dimensions[name])
	}
	namespace := appendString([]byte(`,"CloudWatchMetrics":[{"Namespace":`), c.Namespace)
	return &emf[R]{
		first: fields[0], fields: fields[1:], err: failure.Index, names: string(names), fixed: string(fixed), w: w,
		directive: string(namespace) + `,"Dimensions":[[` + string(names) + `]`,
	}
}

// observe is write as an observer: a line that w refuses is dropped.
func (e *emf[R]) observe(ctx context.Context, r R) { _ = e.write(ctx, &r) }

// write writes the line of a report, unless it has no metric. Each of the sets is one more
// dimension, beside those that every line has.
func (e *emf[R]) write(ctx context.Context, r *R, sets ...dimension) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := &e.line
	*l = line{l.text[:0], l.definitions[:0], l.values[:0], l.properties[:0]}
	e.addFields(ctx, r)
	if len(l.definitions) == 0 {
		return nil
	}
	b := strconv.AppendInt(append(l.text, `{"_aws":{"Timestamp":`...), time.Now().UnixMilli(), 10)
	b = append(b, e.directive...)
	for _, d := range sets {
		if d.value != "" {
			b = append(append(append(b, `,[`...), e.names...), ',')
			b = append(appendString(b, d.name), ']')
		}
	}
	b = append(append(append(b, `],"Metrics":[`...), l.definitions...), `]}]}`...)
	operation := reflect.ValueOf(r).Elem().FieldByIndex(e.first.index)
	b = append(appendMember(b, e.first.name, operation.String()), e.fixed...)
	for _, d := range sets {
		b = appendSaid(b, d.name, d.value)
	}
	l.text = append(append(append(b, l.properties...), l.values...), "}\n"...)
	_, err := e.w.Write(l.text)
	return err
}

func (e *emf[R]) addFields(ctx context.Context, r *R) {
	l, storeFailure := &e.line, ""
	if e.count != nil {
		storeFailure = e.count(l, r)
	}
	of := reflect.ValueOf(r).Elem()
	for f, v := range valuesIn(of, e.fields) {
		switch {
		case v.Kind() == reflect.String:
			l.properties = appendSaid(l.properties, f.name, v.String())
		case f.kind == "property" && !v.IsZero():
			l.properties = appendNumber(l.properties, f.name, f.number(v))
		case f.kind == "" && (f.always || f.number(v) > 0):
			l.metric(f.name, f.unit, f.number(v))
		}
	}
	l.properties = appendSaid(l.properties, propertyStoreFailure, storeFailure)
	if e.err != nil {
		err, _ := reflect.TypeAssert[error](of.FieldByIndex(e.err))
		l.properties = appendSaid(l.properties, propertyErrorType, errortype.Of(err))
	}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		l.properties = appendSaid(l.properties, propertyRequestID, lc.AwsRequestID)
	}
}

func appendSaid(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendMember(b, name, value)
}

func appendMember(b []byte, name, value string) []byte {
	b = appendString(append(b, ','), name)
	return appendString(append(b, ':'), value)
}

func appendNumber(b []byte, name string, value float64) []byte {
	b = appendString(append(b, ','), name)
	return strconv.AppendFloat(append(b, ':'), value, 'f', -1, 64)
}

func appendString(b []byte, s string) []byte {
	if printable(s) {
		return strconv.AppendQuote(b, s) // as JSON spells it
	}
	text, _ := json.Marshal(s) //nolint:errchkjson // every string has a JSON form
	return append(b, text...)
}
