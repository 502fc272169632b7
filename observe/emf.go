package observe

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent"
)

// EMF returns an observer that writes one line of JSON for each invocation, in the Embedded Metric Format of CloudWatch:
// on Lambda, EMF(os.Stdout) is all it takes to have metrics, without a call to CloudWatch. See [Metrics] for their names
// and docs/observability.md for their meaning. The namespace is Idempotent and the dimension is Operation, unless an
// option says otherwise.
//
// A line has the metrics that happened and no zeros, because each metric costs something once it has a value; so let
// alarms treat missing data as not breaching. Beside them it has properties, for CloudWatch Logs Insights: outcome,
// settlement, reason, route (of an HTTP request), recordKey (which holds a digest and no key), attempt, handleMilliseconds, errorType (of the error
// that the invocation ended with), storeFailure (a [store.Failure], "lease lost", or a type), and requestId. They hold types
// of errors and never texts.
//
// The observer is safe for concurrent use and hands each line to w in one call of Write. A line that w refuses is dropped: an
// invocation does not fail because of its metrics. A wrong option or a nil w panics with an [*idempotent.ConfigError]
// that names every problem.
//
// The format: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func EMF(w io.Writer, opts ...EMFOption) func(context.Context, idempotent.Event) {
	c := configOf("observe.EMF", w, opts)
	c.panicIfWrong()
	t := c.template(dimensionOperation)
	var mu sync.Mutex // guards line and w
	var line []byte
	return func(ctx context.Context, e idempotent.Event) {
		tenant := ""
		if c.tenant != nil {
			tenant = dimensionValue(c.tenant(ctx, e))
		}
		route := ""
		if c.route {
			route = dimensionValue(e.Route)
		}
		mu.Lock()
		defer mu.Unlock()
		line = t.appendLine(line[:0], ctx, &e, extra{tenant: tenant, route: route}, time.Now())
		_, _ = w.Write(line)
	}
}

// EMFOption adjusts [EMF], [AttentionEMF], [OutboxEMF] and [BatchEMF].
type EMFOption func(*emfConfig)

type emfConfig struct {
	namespace  string
	dimensions []dimension
	tenant     func(context.Context, idempotent.Event) string
	route      bool
	problems   []string
}

type dimension struct{ name, value string }

const (
	dimensionOperation = "Operation"
	dimensionTenant    = "Tenant"
	dimensionRoute     = "Route"
	dimensionOutbox    = "Outbox"
	// maxDimensions is CloudWatch's limit, less Operation and one of Tenant and Route.
	maxDimensions = 30 - 2
	maxNamespace  = 255
	maxName       = 250 // of a dimension in this format; CloudWatch itself allows 255
	maxValue      = 1024
)

// WithNamespace sets the namespace of the metrics: 1 to 255 printable ASCII characters that do not begin with a colon or
// with AWS/. Default Idempotent.
func WithNamespace(namespace string) EMFOption {
	return func(c *emfConfig) {
		c.namespace = namespace
		if problem := unusable(namespace, maxNamespace); problem != "" {
			c.problemf("WithNamespace: %q %s", namespace, problem)
		}
		if strings.HasPrefix(namespace, ":") || strings.HasPrefix(namespace, "AWS/") {
			c.problemf("WithNamespace: %q begins with a colon or with AWS/, which CloudWatch keeps for itself", namespace)
		}
	}
}

// WithDimension adds a dimension that is the same in every line, say the stage, to all metrics. The name has 1 to 250
// printable ASCII characters, does not begin with a colon, and is no other member of a line; the value has 1 to 1024. At
// most 28 can be added.
func WithDimension(name, value string) EMFOption {
	return func(c *emfConfig) {
		if problem := unusable(name, maxName); problem != "" {
			c.problemf("WithDimension: the name %q %s", name, problem)
		}
		if strings.HasPrefix(name, ":") {
			c.problemf("WithDimension: the name %q begins with a colon", name)
		}
		if c.has(name) {
			c.problemf("WithDimension: a line has another member of the name %q", name)
		}
		if problem := unusable(value, maxValue); problem != "" {
			c.problemf("WithDimension: %s: the value %q %s", name, value, problem)
		}
		if len(c.dimensions) == maxDimensions {
			c.problemf("WithDimension: %s: there are %d others already", name, maxDimensions)
		}
		c.dimensions = append(c.dimensions, dimension{name, value})
	}
}

// WithTenant writes every metric twice: as before, so that alarms go on working, and once more with the dimension Tenant,
// whose value is what tenant returns for an invocation; if that is blank, only the first. Each tenant makes
// metrics of its own, which are billed: return the names of few. The function runs once for each invocation, gets the
// context that the handler was called with, and must be safe for concurrent use. What is not printable ASCII is escaped,
// and what is longer than 1024 characters is cut off.
//
//	observe.WithTenant(func(ctx context.Context, _ idempotent.Event) string {
//		lc, _ := lambdacontext.FromContext(ctx)
//		return lc.TenantID // of a function with tenant isolation
//	})
func WithTenant(tenant func(ctx context.Context, e idempotent.Event) string) EMFOption {
	return func(c *emfConfig) {
		c.tenant = tenant
		if tenant == nil {
			c.problemf("WithTenant: the function is nil")
		}
	}
}

// WithRoute writes every metric once more with the dimension Route, whose value is the route of the invocation, see
// [idempotent.Event.Route]; of an invocation without a route it writes what it would write without the option. Each route makes metrics
// of its own, which are billed: a handler has at most 100 of them, and "other".
func WithRoute() EMFOption {
	return func(c *emfConfig) { c.route = true }
}

func configOf(constructor string, w io.Writer, opts []EMFOption) *emfConfig {
	c := &emfConfig{namespace: "Idempotent"}
	if w == nil {
		c.problemf("%s: the writer is nil", constructor)
	}
	for i, opt := range opts {
		if opt == nil {
			c.problemf("%s: option %d is nil", constructor, i+1)
			continue
		}
		opt(c)
	}
	return c
}

func (c *emfConfig) panicIfWrong() {
	if len(c.problems) > 0 {
		panic(&idempotent.ConfigError{Problems: c.problems})
	}
}

func (c *emfConfig) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// has reports whether a line has a member of that name already.
func (c *emfConfig) has(name string) bool {
	named := func(d dimension) bool { return d.name == name }
	measured := func(m Metric) bool { return m.Name == name }
	return slices.Contains([]string{"_aws", dimensionOperation, dimensionTenant, dimensionRoute, dimensionOutbox, propertySource}, name) ||
		slices.Contains(properties[:], name) || slices.ContainsFunc(metrics[:], measured) ||
		slices.ContainsFunc(attentionMetrics[:], measured) || slices.ContainsFunc(OutboxMetrics(), measured) ||
		slices.ContainsFunc(BatchMetrics(), measured) || slices.ContainsFunc(ReconcileMetrics(), measured) ||
		slices.ContainsFunc(SweepMetrics(), measured) ||
		slices.ContainsFunc(c.dimensions, named)
}

// unusable says why CloudWatch takes s neither as a name nor as a value, empty if it does.
func unusable(s string, most int) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank"
	case !printable(s):
		return "is not printable ASCII"
	case len(s) > most:
		return fmt.Sprintf("has %d characters, more than %d", len(s), most)
	default:
		return ""
	}
}
