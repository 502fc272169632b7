package idempotent

import (
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
	c := newConfig(s, opts, t.out)
	c.Addf(handler == nil, "Wrap: the handler is nil")
	for _, needed := range t.functions {
		if given := c.given[needed.option]; given != nil && given != needed.is {
			c.Addf(true, "%s: the function is a %v, the handler needs a %v", needed.option, given, needed.is)
		}
	}
	w := &wrapped{
		handler: handler, resolver: c.resolver, out: t.out, records: c.records, observe: c.observe, trace: c.trace,
		disabled: c.disabled,
	}
	w.shape, w.keeps = c.shapeOf(t.in, t.out)
	w.trigger = triggerOf(w.shape, t.in)
	w.settings = settingsOf(c)
	c.Panic()
	return w
}

func triggerOf(s shape, in reflect.Type) string {
	switch _, isHTTP := s.(*httpShape); {
	case isHTTP:
		return "http"
	case queue.Key(in) != nil:
		return "message"
	default:
		return "call"
	}
}

// newConfig makes the configuration of a handler whose results have the type out. It applies the
// options to the defaults, and finds every contradiction between options.
func newConfig(records store.Store, opts []Option, out reflect.Type) *config {
	c := &config{
		store:     records,
		retention: protocol.DefaultRetention,
		timing:    Timing{}.withDefaults(),
		now:       time.Now,
		http:      HTTP{}.withDefaults(),
		given:     map[string]reflect.Type{},
	}
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
	c.Addf(c.key != nil && c.keyPathSet,
		"WithKey and WithKeyPath contradict each other: a handler has one key")
	c.Addf(c.fingerprint != nil && c.fingerprintPath != nil,
		"WithFingerprint and WithFingerprintPath contradict each other: a handler has one fingerprint")
	c.Addf(c.effects == Repeatable && c.resolver != nil,
		"WithEffects(Repeatable) contradicts WithResolver: what may be repeated is executed again after a crash")
	if c.shared != nil {
		c.records = c.shared(out)
	}
	return c
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

// keysOf returns what finds the key, the fingerprint and the tenant of an event.
func keysOf(c *config, in reflect.Type) *keys {
	k := &keys{keyOptions: c.keyOptions, newHash: fingerprint.New}
	if c.digestKey != nil {
		k.newHash = func(purpose string) *fingerprint.Hash { return fingerprint.NewKeyed(c.digestKey, purpose) }
	}
	k.selects = k.key != nil || k.keyPath != nil || k.records != nil
	k.selectsFingerprint = k.fingerprint != nil || k.fingerprintPath != nil
	if in = elemOf(in); !numbers.IsEvent(in) {
		k.numbers, k.exactNumbers = numbers.Of(in)
	}
	if !c.exactNames {
		k.keyPath, k.fingerprintPath = folding(k.keyPath), folding(k.fingerprintPath)
	}
	return k
}

func folding(path *jmespath.Expression) *jmespath.Expression {
	if path == nil {
		return nil
	}
	return path.Folding()
}

// settingsOf returns what the protocol has to know of a handler.
func settingsOf(c *config) *protocol.Settings {
	s := &protocol.Settings{
		Operation: c.operation, Store: c.store, Now: c.now, Wait: c.wait, Timing: protocol.Timing(c.timing),
		Concurrent: lambdacontext.MaxConcurrency() > 1,
		Repeatable: c.effects == Repeatable, RefuseFailed: c.effects == Unrepeatable,
		Documented: func(f *execution.Fault) error { return (*Error)(f) },
	}
	s.Retention, s.Resolves = c.retention, c.resolver != nil
	s.RefuseCrashed = s.RefuseFailed || s.Resolves
	if c.records != nil {
		s.Layout = c.records.layout()
	}
	return s
}

// shapeOf returns the shape of a handler, which follows from its types, and keeps, which reports
// whether a result is to be stored (nil means always). If no option names the operation, shapeOf
// sets the default, where there is one.
func (c *config) shapeOf(in, out reflect.Type) (_ shape, keeps func(out any) bool) {
	reader := reflect.TypeFor[io.Reader]()
	if out.Implements(reader) || reflect.PointerTo(out).Implements(reader) {
		c.Addf(true, "Wrap: the response %v is a stream, which cannot be stored and replayed: return the whole response, "+
			"and leave the invoke mode of a function URL at BUFFERED", out)
		return nil, nil
	}
	headers := append([]string{c.http.Header}, c.http.FingerprintHeaders...)
	if c.http.TimestampHeader != "" {
		headers = append(headers, c.http.TimestampHeader)
	}
	family, ofTwo := gateway.FamilyOf(in, out, headers...)
	for _, problem := range []string{queue.Problem(in), ofTwo} {
		if problem != "" {
			c.Addf(true, "Wrap: %s", problem)
			return nil, nil
		}
	}
	isHTTP := family != nil
	if (isHTTP || c.shared != nil) && !c.operationSet {
		c.operation = defaultOperation(&c.Problems)
	}
	if isHTTP {
		c.checkHTTP()
		c.checkCallers()
		s := &httpShape{
			keys: keysOf(c, in), out: out, http: c.http, gateway: family, now: c.now,
			routes: &gateway.Routes{Name: c.http.Route},
		}
		if c.storeIf != nil {
			return s, c.storeIf
		}
		return s, s.keeps
	}
	return c.plainShapeOf(in, out), c.storeIf
}

// plainShapeOf returns the shape of a handler that is no HTTP handler.
func (c *config) plainShapeOf(in, out reflect.Type) *plainShape {
	problem := jsonform.Problem(out)
	c.Addf(problem != "", "Wrap: %s", problem)
	c.Addf(!c.operationSet && c.shared == nil, "WithOperation: a handler of %v must name its operation", in)
	if own := queue.Key(in); own != nil && c.key == nil && !c.keyPathSet {
		if c.shared == nil {
			c.key = own
		} else {
			c.Addf(true, "WithKey or WithKeyPath: with WithPowertools the whole %v would be the key, and it differs in "+
				"each delivery", in)
		}
	}
	c.Addf(c.key == nil && !c.keyPathSet && c.shared == nil,
		"WithKey or WithKeyPath: a handler of %v with response %v has no key of its own: %s", in, out, gateway.Supported)
	c.Addf(c.storeIf == nil && gateway.HasStatus(out),
		"WithStoreIf: %v has a status, but with %v it belongs to no HTTP handler known here: say which statuses are "+
			"stored, or server errors are replayed", out, in)
	c.Addf(c.httpSet, "WithHTTP: a handler of %v with response %v is no HTTP handler: %s", in, out, gateway.Supported)
	s := &plainShape{keys: keysOf(c, in), out: out}
	if c.shared == nil && !s.keys.selectsFingerprint {
		s.payload = payloadOf(in, c.exactNames, &c.Problems)
	}
	return s
}

// defaultOperation returns the name of the Lambda function. An HTTP handler needs no other name,
// because its scope tells routes apart.
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
// configuration refers to it, and the linker drops the text of functions that nothing calls. Tools
// find out by it whether what was built wraps a handler, see "idempotent doctor --template".
//
// It is text of the program and not a symbol, so stripping, trimmed paths and build tags do not
// remove it. It is too long for the compiler to take it apart. It must stay what it is: tools of
// other versions look for it.
const marker = "github.com/go-idempotent/idempotent: this program calls Wrap (7H2QXVT4KZ6M)"
