package observe

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent"
)

type property int

const (
	propertyOutcome property = iota
	propertySettlement
	propertyReason
	propertyRoute
	propertyRecordKey
	propertyAttempt
	propertyHandle
	propertyErrorType
	propertyStoreFailure
	propertyRequestID
)

// properties are the members of a line that are neither dimensions nor metrics.
var properties = [...]string{
	propertyOutcome:      "outcome",
	propertySettlement:   "settlement",
	propertyReason:       "reason",
	propertyRoute:        "route",
	propertyRecordKey:    "recordKey",
	propertyAttempt:      "attempt",
	propertyHandle:       "handleMilliseconds",
	propertyErrorType:    "errorType",
	propertyStoreFailure: "storeFailure",
	propertyRequestID:    "requestId",
}

// template holds what does not change from line to line, as JSON.
type template struct {
	// directive is the namespace and the beginning of the dimension sets; tenantSet and routeSet are more of them.
	directive, tenantSet, routeSet string
	// members are the fixed dimensions.
	members string
}

// template returns that of lines whose first dimension is this one.
func (c *emfConfig) template(first string) template {
	names := appendString(nil, first)
	var members []byte
	for _, d := range c.dimensions {
		names = appendString(append(names, ','), d.name)
		members = appendMember(members, d.name, d.value)
	}
	set := string(names)
	with := func(dimension string) string { return `,[` + set + `,"` + dimension + `"]` }
	return template{
		directive: `{"Namespace":` + string(appendString(nil, c.namespace)) + `,"Dimensions":[[` + set + `]`,
		tenantSet: with(dimensionTenant),
		routeSet:  with(dimensionRoute),
		members:   string(members),
	}
}

// extra are the values of the dimensions that not every line has. An empty one is none.
type extra struct{ tenant, route string }

// appendLine appends the document of e and a newline. It is written by hand because a line has no fixed members, and
// an invocation should not wait for maps to be sorted.
func (t template) appendLine(b []byte, ctx context.Context, e *idempotent.Event, x extra, now time.Time) []byte {
	happened := metricsOf(e)
	b = t.appendHead(b, now)
	if x.tenant != "" {
		b = append(b, t.tenantSet...)
	}
	if x.route != "" {
		b = append(b, t.routeSet...)
	}
	b = append(b, `],"Metrics":[`...)
	b = appendDefinitions(b, happened)
	b = append(b, `]}]}`...)

	b = appendMember(b, dimensionOperation, e.Operation)
	b = append(b, t.members...)
	b = appendSaid(b, dimensionTenant, x.tenant)
	b = appendSaid(b, dimensionRoute, x.route)
	b = appendProperties(b, ctx, e)
	for i := range metrics {
		if m := metric(i); happened.has(m) {
			b = appendNumber(b, metrics[m].Name, m.value(e))
		}
	}
	return append(b, "}\n"...)
}

// appendHead appends the beginning of a line, up to its dimension sets.
func (t template) appendHead(b []byte, now time.Time) []byte {
	b = append(b, `{"_aws":{"Timestamp":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	b = append(b, `,"CloudWatchMetrics":[`...)
	return append(b, t.directive...)
}

func appendDefinitions(b []byte, happened set) []byte {
	comma := false
	for i, m := range metrics {
		if !happened.has(metric(i)) {
			continue
		}
		b = appendDefinition(b, comma, m)
		comma = true
	}
	return b
}

func appendDefinition(b []byte, comma bool, m Metric) []byte {
	if comma {
		b = append(b, ',')
	}
	b = append(b, `{"Name":"`...)
	b = append(b, m.Name...)
	b = append(b, `","Unit":"`...)
	b = append(b, m.Unit...)
	return append(b, `"}`...)
}

func appendProperties(b []byte, ctx context.Context, e *idempotent.Event) []byte {
	b = appendSaid(b, properties[propertyOutcome], string(e.Outcome))
	b = appendSaid(b, properties[propertySettlement], string(e.Settlement))
	b = appendSaid(b, properties[propertyReason], e.Reason)
	b = appendSaid(b, properties[propertyRoute], e.Route)
	b = appendSaid(b, properties[propertyRecordKey], e.RecordKey)
	if e.Attempt > 0 {
		b = appendNumber(b, properties[propertyAttempt], float64(e.Attempt))
	}
	if e.Handle > 0 {
		b = appendNumber(b, properties[propertyHandle], inMilliseconds(e.Handle))
	}
	b = appendSaid(b, properties[propertyErrorType], errorType(e.Err))
	b = appendSaid(b, properties[propertyStoreFailure], storeFailure(e))
	return appendRequestID(b, ctx)
}

func appendRequestID(b []byte, ctx context.Context) []byte {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		b = appendSaid(b, properties[propertyRequestID], lc.AwsRequestID)
	}
	return b
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

// printable reports whether s is of ASCII characters from the space to the tilde.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// dimensionValue is s as CloudWatch takes it, empty if s is blank.
func dimensionValue(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	if !printable(s) {
		s = strconv.QuoteToASCII(s)
		s = s[1 : len(s)-1]
	}
	return s[:min(len(s), maxValue)]
}
