package idempotent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// problems collects what is wrong with a configuration.
type problems []string

func (p *problems) addf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p *problems) addError(err error) {
	several, ok := errors.AsType[*ConfigError](err)
	switch {
	case err == nil:
	case ok:
		*p = append(*p, several.Problems...)
	default:
		*p = append(*p, err.Error())
	}
}

func (p *problems) panicIfAny() {
	if len(*p) > 0 {
		panic(&ConfigError{Problems: *p})
	}
}

// newConfig applies the options to the defaults.
func newConfig(store Store, opts []Option, p *problems) *config {
	c := &config{
		store:     store,
		retention: DefaultRetention,
		timing:    Timing{}.withDefaults(),
		now:       time.Now,
		http:      HTTP{}.withDefaults(),
	}
	if isNil(store) {
		p.addf("Wrap: the store is nil")
	}
	for i, opt := range opts {
		if isNil(opt) {
			p.addf("Wrap: option %d is nil", i+1)
			continue
		}
		p.addError(opt.apply(c))
	}
	if !c.disabledSet {
		disabled, err := disabledByEnvironment()
		p.addError(err)
		c.disabled = disabled
	}
	if c.user.key != nil && c.keyPathSet {
		p.addf("WithKey and WithKeyPath contradict each other: a handler has one key")
	}
	if c.partialKey && !c.keyPathSet && c.fingerprintPath == nil {
		p.addf("WithPartialKey: there is no selection that it could be about, by WithKeyPath or WithFingerprintPath")
	}
	if c.user.fingerprint != nil && c.fingerprintPath != nil {
		p.addf("WithFingerprint and WithFingerprintPath contradict each other: a handler has one fingerprint")
	}
	if c.user.resolver != nil {
		if c.crashSet && c.crash == Reexecute {
			p.addf("WithResolver and WithCrashPolicy(Reexecute) contradict each other: a resolver is asked instead of executing again")
		}
		c.crash = Refuse
	}
	c.checkPowertools(p)
	return c
}

// functions are the functions of the user with their types.
type functions[In, Out any] struct {
	key         func(In) (string, error)
	fingerprint func(In) (any, error)
	tenant      func(context.Context, In) (string, error)
	storeIf     func(Out) bool
	resolver    func(context.Context, Execution, In) (Resolution[Out], error)
}

func typedFunctions[In, Out any](c *config, p *problems) functions[In, Out] {
	return functions[In, Out]{
		key:         typed[func(In) (string, error)]("WithKey", c.user.key, p),
		fingerprint: typed[func(In) (any, error)]("WithFingerprint", c.user.fingerprint, p),
		tenant:      typed[func(context.Context, In) (string, error)](optionTenant, c.user.tenant, p),
		storeIf:     typed[func(Out) bool]("WithStoreIf", c.user.storeIf, p),
		resolver:    typed[func(context.Context, Execution, In) (Resolution[Out], error)]("WithResolver", c.user.resolver, p),
	}
}

// typed asserts that a function of an option fits the wrapped handler.
func typed[F any](option string, f any, p *problems) F {
	fits, ok := f.(F)
	if f != nil && !ok {
		p.addf("%s: the function is a %T, the handler needs a %T", option, f, fits)
	}
	return fits
}

// shapeOf finds the shape of the handler from its types.
func shapeOf[In, Out any](c *config, f functions[In, Out], p *problems) shape[In, Out] {
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	reader := reflect.TypeFor[io.Reader]()
	if out.Implements(reader) || reflect.PointerTo(out).Implements(reader) {
		p.addf("Wrap: the response %v is a stream, which cannot be stored and replayed: return the whole response, "+
			"and leave the invoke mode of a function URL at BUFFERED", out)
		return &plainShape[In, Out]{config: c, functions: f} // never used
	}
	family, isHTTP := familyOf[In, Out]()
	if (isHTTP || c.powertools != nil) && !c.operationSet {
		c.operation = defaultOperation(p)
	}
	c.powertools.keeps(out)
	if isHTTP {
		c.checkHTTP(p)
		return newHTTPShape(c, f, family)
	}
	if !c.operationSet && c.powertools == nil {
		p.addf("WithOperation: a handler of %v must name its operation", in)
	}
	if c.user.key == nil && !c.keyPathSet && c.powertools == nil {
		p.addf("WithKey or WithKeyPath: a handler of %v with response %v has no key of its own: %s", in, out, supportedFamilies)
	}
	if c.user.storeIf == nil && hasStatus(out) {
		p.addf("WithStoreIf: %v has a status, but with %v it belongs to no HTTP handler known here: say which statuses are stored, "+
			"or server errors are replayed", out, in)
	}
	if c.httpSet {
		p.addf("WithHTTP: a handler of %v with response %v is no HTTP handler: %s", in, out, supportedFamilies)
	}
	return &plainShape[In, Out]{config: c, functions: f}
}

// hasStatus reports whether a response of a gateway is meant.
func hasStatus(out reflect.Type) bool {
	if out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	if out.Kind() != reflect.Struct || out.PkgPath() != reflect.TypeFor[events.APIGatewayProxyResponse]().PkgPath() {
		return false
	}
	_, found := out.FieldByName("StatusCode")
	return found
}

// defaultOperation names an HTTP handler after its function; the scope tells its routes apart.
func defaultOperation(p *problems) string {
	name, ok := os.LookupEnv("AWS_LAMBDA_FUNCTION_NAME")
	if !ok || name == "" {
		return "local"
	}
	if !validOperation(name) {
		p.addf("AWS_LAMBDA_FUNCTION_NAME: %q is not 1 to %d characters of [A-Za-z0-9._-]; name the operation with WithOperation",
			name, maxOperation)
	}
	return name
}

// isNil also finds a nil pointer inside an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Interface, reflect.Slice, reflect.Chan:
		return r.IsNil()
	default:
		return false
	}
}
