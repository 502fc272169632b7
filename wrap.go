package idempotent

import (
	"cmp"
	"context"
	"io"
	"os"
	"reflect"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/jsonform"
	"github.com/go-idempotent/idempotent/internal/numbers"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/store"
)

// wrap is Wrap without its types. The handler is nil if the user gave none.
func wrap(handler func(ctx context.Context, in any) (any, error), t types, s store.Store, opts []Option) *wrapped {
	c := newConfig(s, opts)
	c.handler, c.out = handler, t.out
	if c.shared != nil {
		c.keys.records = c.shared(t.out)
	}
	c.Addf(handler == nil, "Wrap: the handler is nil")
	for _, needed := range t.functions {
		if given := c.given[needed.option]; given != nil && given != needed.is {
			c.Addf(true, "%s: the function is a %v, the handler needs a %v", needed.option, given, needed.is)
		}
	}
	c.setShape(t.in)
	c.complete(t.in)
	c.Panic()
	return c.wrapped
}

func newConfig(records store.Store, opts []Option) *config {
	c := &config{
		wrapped: &wrapped{settings: &protocol.Settings{
			Store: records, Now: time.Now, Timing: protocol.Timing(Timing{}.withDefaults()),
			Concurrent: lambdacontext.MaxConcurrency() > 1,
			Documented: func(f *execution.Fault) error { return (*Error)(f) },
		}},
		http:  HTTP{}.withDefaults(),
		given: map[string]reflect.Type{},
	}
	c.settings.Retention = protocol.DefaultRetention
	c.marker = marker
	c.Addf(setup.IsNil(records), "Wrap: the store is nil")
	for i, opt := range opts {
		if setup.IsNil(opt) {
			c.Addf(true, "Wrap: option %d is nil", i+1)
			continue
		}
		opt.apply(c)
	}
	if !c.disabledSet {
		c.disabled = disabledByEnvironment(&c.Problems)
	}
	c.Addf(c.keys.key != nil && c.keyPathSet,
		"WithKey and WithKeyPath contradict each other: a handler has one key")
	c.Addf(c.keys.fingerprint != nil && c.keys.fingerprintPath != nil,
		"WithFingerprint and WithFingerprintPath contradict each other: a handler has one fingerprint")
	c.Addf(c.settings.Repeatable && c.resolver != nil,
		"WithEffects(Repeatable) contradicts WithResolver: what may be repeated is executed again after a crash")
	c.keys.selectsFingerprint = c.keys.fingerprint != nil || c.keys.fingerprintPath != nil
	return c
}

// complete sets what follows from all options together.
func (c *config) complete(in reflect.Type) {
	s, k := c.settings, &c.keys
	k.selects = k.key != nil || k.keyPath != nil || k.records != nil
	s.Operation = k.operation
	s.Resolves = c.resolver != nil
	s.RefuseCrashed = s.RefuseFailed || s.Resolves
	if k.records == nil {
		c.recordsOf = k.operation
	}
	if k.newHash = fingerprint.New; k.digestKey != nil {
		k.newHash = func(purpose string) *fingerprint.Hash { return fingerprint.NewKeyed(k.digestKey, purpose) }
	}
	if in = gateway.ElemOf(in); k.records == nil && !numbers.IsEvent(in) {
		k.numbers, k.exactNumbers = numbers.Of(in)
	}
	for _, path := range []**jmespath.Expression{&k.keyPath, &k.fingerprintPath} {
		if *path != nil && !k.exactNames {
			*path = (*path).Folding()
		}
	}
}

// types are those of a handler, and those that the functions of its options must have.
type types struct {
	in, out   reflect.Type
	functions []functionType
}

type functionType struct {
	option string
	is     reflect.Type
}

func typesOf[In, Out any]() types {
	return types{reflect.TypeFor[In](), reflect.TypeFor[Out](), []functionType{
		{"WithKey", reflect.TypeFor[func(In) (string, error)]()},
		{optionFingerprint, reflect.TypeFor[func(In) (any, error)]()},
		{optionTenant, reflect.TypeFor[func(context.Context, In) (string, error)]()},
		{"WithStoreIf", reflect.TypeFor[func(Out) bool]()},
		{"WithResolver", reflect.TypeFor[func(context.Context, Execution, In) (Resolution[Out], error)]()},
	}}
}

func (c *config) setShape(in reflect.Type) {
	out, reader := c.out, reflect.TypeFor[io.Reader]()
	if out.Implements(reader) || reflect.PointerTo(out).Implements(reader) {
		c.Addf(true, "Wrap: the response %v is a stream, which cannot be stored and replayed: return the whole response, "+
			"and leave the invoke mode of a function URL at BUFFERED", out)
		return
	}
	headers := append([]string{c.http.Header}, c.http.FingerprintHeaders...)
	if c.http.TimestampHeader != "" {
		headers = append(headers, c.http.TimestampHeader)
	}
	family, ofTwo := gateway.FamilyOf(in, out, headers...)
	if problem := cmp.Or(queue.Problem(in), ofTwo); problem != "" {
		c.Addf(true, "Wrap: %s", problem)
		return
	}
	if (family != nil || c.shared != nil) && !c.operationSet {
		c.keys.operation = defaultOperation(&c.Problems)
	}
	if family == nil {
		c.shape = c.plainShapeOf(in)
		return
	}
	c.checkHTTP()
	c.checkCallers()
	c.trigger = "http"
	s := &httpShape{
		keys: &c.keys, out: out, http: c.http, gateway: family, now: c.settings.Now,
		routes: &gateway.Routes{Name: c.http.Route},
	}
	c.shape = s
	if c.keeps == nil {
		c.keeps = s.keeps
	}
}

func (c *config) plainShapeOf(in reflect.Type) *plainShape {
	k, out := &c.keys, c.out
	problem := jsonform.Problem(out)
	c.Addf(problem != "", "Wrap: %s", problem)
	c.Addf(!c.operationSet && c.shared == nil, "WithOperation: a handler of %v must name its operation", in)
	c.trigger = "call"
	own := queue.Key(in)
	if own != nil {
		c.trigger = "message"
	}
	keyed := k.key != nil || c.keyPathSet
	c.Addf(own != nil && !keyed && c.shared != nil, "WithKey or WithKeyPath: with WithPowertools the whole %v would be "+
		"the key, and it differs in each delivery", in)
	c.Addf(own == nil && !keyed && c.shared == nil,
		"WithKey or WithKeyPath: a handler of %v with response %v has no key of its own: %s", in, out, gateway.Supported)
	if !keyed && c.shared == nil {
		k.key = own
	}
	c.Addf(c.keeps == nil && gateway.HasStatus(out),
		"WithStoreIf: %v has a status, but with %v it belongs to no HTTP handler known here: say which statuses are "+
			"stored, or server errors are replayed", out, in)
	c.Addf(c.httpSet, "WithHTTP: a handler of %v with response %v is no HTTP handler: %s", in, out, gateway.Supported)
	s := &plainShape{keys: k, out: out}
	switch {
	case k.selectsFingerprint:
		s.covers = k.addSelected
	case c.shared == nil:
		s.covers = payloadOf(in, k.exactNames, &c.Problems)
	}
	return s
}

// defaultOperation is the Lambda function: the scope of an HTTP handler tells routes apart.
func defaultOperation(p *setup.Problems) string {
	name, ok := os.LookupEnv("AWS_LAMBDA_FUNCTION_NAME")
	if !ok || name == "" {
		return "local"
	}
	p.Addf(!validOperation(name), "AWS_LAMBDA_FUNCTION_NAME: %q is not 1 to %d characters of [A-Za-z0-9._-]; name the "+
		"operation with WithOperation", name, maxOperation)
	return name
}

// marker is in every program into which [Wrap] is linked, and in no other: only Wrap's
// configuration refers to it. Tools find out by it whether what was built wraps a handler, see
// "idempotent doctor --template". It is text and not a symbol, so stripping, trimmed paths and
// build tags do not remove it, and too long for the compiler to take it apart. It must stay what it
// is: tools of other versions look for it.
const marker = "github.com/go-idempotent/idempotent: this program calls Wrap (7H2QXVT4KZ6M)"
