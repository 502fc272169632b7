package idempotent

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/jmespath"
)

// Option configures [Wrap]. Options are applied in order; a later one replaces an earlier one of the same name.
// They are only read while wrapping.
type Option interface{ apply(c *config) error }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// The defaults of [WithRetention] and of the zero fields of [Timing].
const (
	DefaultRetention        = 24 * time.Hour
	DefaultUnknownRetention = 30 * 24 * time.Hour
	DefaultLease            = 30 * time.Second
	DefaultMargin           = 2 * time.Second
	DefaultReserve          = 500 * time.Millisecond
	DefaultClaimBudget      = 3 * time.Second

	// maxOperation keeps record keys and the keys of parts within the 1,024 bytes of a DynamoDB sort key.
	maxOperation = 255
)

// config is what the options fill in. It is immutable once Wrap has returned.
type config struct {
	store       Store
	operation   string
	retention   time.Duration
	timing      Timing
	wait        time.Duration
	crash       CrashPolicy
	onError     ErrorPolicy
	optionalKey bool
	disabled    bool
	now         func() time.Time
	observe     func(context.Context, Event)
	http        HTTP

	// user holds the functions of the options, each a func type over In and Out that Wrap asserts; nil when not given.
	user struct{ key, fingerprint, tenant, storeIf, resolver any }

	keyPath, fingerprintPath *jmespath.Expression
	// What the expressions were compiled with.
	keyPathOptions, fingerprintPathOptions []jmespath.Option
	partialKey                             bool
	digestKey                              []byte
	powertools                             *powertoolsMode // nil for records of this module's own

	// What was given at all, valid or not.
	operationSet, keyPathSet, crashSet, disabledSet, httpSet bool
}

// Timing groups the durations of one invocation. A zero field means its default.
type Timing struct {
	// Lease protects a claim when the invocation's context has no deadline, or one more than an hour away; it is renewed
	// while the handler runs. With a deadline the lease ends Margin after it. Default 30 s, at least 1 s.
	Lease time.Duration
	// Margin is how long the lease outlives the invocation's deadline, to cover a late kill and clock skew between
	// machines. Default 2 s, at most a third of Lease.
	Margin time.Duration
	// Reserve is how long before the invocation's deadline the handler's context ends, so that its result can still be
	// stored; never more than a tenth of the time that is left. Default 500 ms.
	Reserve time.Duration
	// ClaimBudget bounds the whole claim, retries and undo included, and likewise the settlement after the handler: within
	// it an outage of the store is answered. Default 3 s, at least 100 ms.
	ClaimBudget time.Duration
	// UnknownRetention is how long a record of unknown outcome is kept for its settlement. Default 30 days.
	UnknownRetention time.Duration
}

// CrashPolicy decides what becomes of an execution that ended without saying how: its lease lapsed, it panicked, or it
// returned the error of its own context.
type CrashPolicy int

const (
	// Reexecute lets the next delivery run the handler again. It is the default, and what AWS Powertools does.
	Reexecute CrashPolicy = iota
	// Refuse makes the outcome UNKNOWN: nobody executes again until the record is settled. Under it, every unmarked error and
	// every result that is not to be stored counts as a crash once the handler's context has ended.
	Refuse
)

// ErrorPolicy decides what becomes of an execution whose handler returned an unmarked error, or a result that
// is not to be stored.
type ErrorPolicy int

const (
	// ReleaseOnError frees the key, so that a retry executes. It is the default, and what AWS Powertools does.
	ReleaseOnError ErrorPolicy = iota
	// UnknownOnError makes the outcome UNKNOWN unless the error is marked [NotExecuted].
	UnknownOnError
)

// WithOperation names what the handler does. The name is part of every record key: handlers of one store with
// the same name share records. Renaming forgets all records and changes every [DerivedKey], so a request that was under
// way is executed again, and the downstream takes it for another one. It is 1 to 255 characters of [A-Za-z0-9._-].
// The default of HTTP handlers is the environment variable AWS_LAMBDA_FUNCTION_NAME, else "local"; any other handler
// must name its operation.
func WithOperation(name string) Option {
	return optionFunc(func(c *config) error {
		c.operation, c.operationSet = name, true
		if !validOperation(name) {
			return fmt.Errorf("WithOperation: %q is not 1 to %d characters of [A-Za-z0-9._-]", name, maxOperation)
		}
		return nil
	})
}

var operationPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func validOperation(name string) bool {
	return len(name) <= maxOperation && operationPattern.MatchString(name)
}

// WithKey selects the key with a function of the event. An empty key is a missing one; an error refuses the
// request as one with an invalid key. The function runs before any I/O and must not modify its argument.
// On an HTTP handler it replaces the key header; scope and fingerprint stay. Any other handler has no fingerprint of its
// own: without [WithFingerprint] a key that comes back with other content gets the first result.
func WithKey[In any](key func(in In) (string, error)) Option {
	return userFunc("WithKey", key, func(c *config) { c.user.key = key })
}

// WithOptionalKey runs a request without a key unprotected, instead of refusing it with [ErrMissingKey].
func WithOptionalKey() Option {
	return optionFunc(func(c *config) error { c.optionalKey = true; return nil })
}

// WithFingerprint derives the fingerprint from what the function returns, encoded as JSON and brought into canonical
// form. It replaces the default of HTTP handlers (method, path, query, body) and gives other handlers one: they have
// none by default, because redeliveries of one event often differ in receipt handles and counts.
func WithFingerprint[In any](fingerprint func(in In) (any, error)) Option {
	return userFunc("WithFingerprint", fingerprint, func(c *config) { c.user.fingerprint = fingerprint })
}

// WithTenant makes the tenant part of the scope of every key, and so of every [DerivedKey]. On an HTTP handler it replaces the identity that the
// event's authorizer established. It fails closed: an error or an empty tenant refuses the request.
func WithTenant[In any](tenant func(ctx context.Context, in In) (string, error)) Option {
	return userFunc(optionTenant, tenant, func(c *config) { c.user.tenant = tenant })
}

// WithRetention sets how long a completed record is replayed: at least one second. Default 24 h. DynamoDB deletes
// records some time after that; the retention is exact all the same.
func WithRetention(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.retention = d
		return atLeast("WithRetention", "", d, time.Second)
	})
}

// WithTiming sets the durations of an invocation.
func WithTiming(t Timing) Option {
	return optionFunc(func(c *config) error {
		c.timing = t.withDefaults()
		return t.validate()
	})
}

// WithWait lets a delivery that meets a running execution wait for its result, for at most d, instead of answering at
// once that it is in progress. Default 0: no wait. It looks at the record in growing intervals of 0.1 to 2 s, and
// answers with the result when it comes. It never waits beyond the deadline of its own invocation, and leaves time to
// answer. If the execution failed, crashed or was released, the delivery executes itself, unless less than a quarter of the
// time that it had is left.
//
// A delivery that waits occupies a Lambda environment, and is paid for: mind the concurrency that a storm of retries takes.
// Behind a gateway, keep it below the gateway's timeout (29 s of a REST API, 30 s of an HTTP API) and that of the clients:
// nobody gets an answer that comes later.
func WithWait(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.wait = d
		return atLeast("WithWait", "", d, 0)
	})
}

// WithStoreIf decides which results are stored. The default of HTTP handlers goes by status, see [WithHTTP]; any other
// handler stores every result that it returns without an error. A result for which it returns false is handled by the error
// policy: released by default, so that the client may retry. It replaces the HTTP rule of which statuses are stored, and
// does not change what it is given.
func WithStoreIf[Out any](storeIf func(out Out) bool) Option {
	return userFunc("WithStoreIf", storeIf, func(c *config) { c.user.storeIf = storeIf })
}

// WithCrashPolicy decides what becomes of an execution that crashed. Default [Reexecute].
func WithCrashPolicy(p CrashPolicy) Option {
	return optionFunc(func(c *config) error {
		c.crash, c.crashSet = p, true
		if p != Reexecute && p != Refuse {
			return fmt.Errorf("WithCrashPolicy: %d is neither Reexecute nor Refuse", p)
		}
		return nil
	})
}

// WithErrorPolicy decides what becomes of an execution that failed without a mark. Default [ReleaseOnError].
func WithErrorPolicy(p ErrorPolicy) Option {
	return optionFunc(func(c *config) error {
		c.onError = p
		if p != ReleaseOnError && p != UnknownOnError {
			return fmt.Errorf("WithErrorPolicy: %d is neither ReleaseOnError nor UnknownOnError", p)
		}
		return nil
	})
}

// WithUnrepeatable is for effects that must never be repeated: [Refuse] and [UnknownOnError] together. A response that is
// not stored counts as a failure: return one that says that nothing has happened yet, such as a 429 or 503 before the
// effect was tried, with an error marked [NotExecuted], or the outcome becomes UNKNOWN.
func WithUnrepeatable() Option {
	return optionFunc(func(c *config) error {
		c.crash, c.crashSet, c.onError = Refuse, true, UnknownOnError
		return nil
	})
}

// WithResolver settles executions that crashed, and records of unknown outcome, by asking the downstream: on
// the next delivery the record is taken over first, and the resolver runs under that lease with the handler's context.
// Its answer is [Executed], [Untouched] or [StillUnknown]; an error counts as StillUnknown and goes to the observer. After
// a panic the record is UNKNOWN too, and the panic continues. It implies [Refuse] as the crash policy.
//
//	idempotent.WithResolver(func(ctx context.Context, x idempotent.Execution, o Order) (idempotent.Resolution[Receipt], error) {
//		charge, found, err := provider.Find(ctx, x.DerivedKey("charge"))
//		switch {
//		case err != nil:
//			return idempotent.StillUnknown[Receipt](), err
//		case found:
//			return idempotent.Executed(Receipt{Charge: charge.ID}), nil
//		default:
//			return idempotent.Untouched[Receipt](), nil // the provider knows that it has not charged and will not
//		}
//	})
func WithResolver[In, Out any](resolver func(ctx context.Context, x Execution, in In) (Resolution[Out], error)) Option {
	return userFunc("WithResolver", resolver, func(c *config) { c.user.resolver = resolver })
}

// WithObserver reports every invocation; package observe has observers for metrics and logs. Without one, nobody learns why an HTTP
// handler answers 503 or 500: the cause is in the event and never in the answer. The function runs on the caller's goroutine after the record was settled, and
// must be safe for concurrent use. A panic in it is not recovered.
func WithObserver(observe func(context.Context, Event)) Option {
	return userFunc("WithObserver", observe, func(c *config) { c.observe = observe })
}

// WithClock replaces [time.Now] as the source of the times in records. The durations of an invocation (budgets,
// deadlines of contexts) are not affected.
func WithClock(now func() time.Time) Option {
	return userFunc("WithClock", now, func(c *config) { c.now = now })
}

// WithDisabled turns the protection off: the handler runs on every delivery and the store is not touched. It
// replaces the environment variable POWERTOOLS_IDEMPOTENCY_DISABLED, which is read while wrapping.
func WithDisabled(disabled bool) Option {
	return optionFunc(func(c *config) error { c.disabled, c.disabledSet = disabled, true; return nil })
}

// userFunc is an option whose value is a function; nil is a configuration error rather than a default.
func userFunc(option string, f any, set func(*config)) Option {
	return optionFunc(func(c *config) error {
		set(c)
		if reflect.ValueOf(f).IsNil() {
			return fmt.Errorf("%s: the function is nil", option)
		}
		return nil
	})
}

func (t Timing) withDefaults() Timing {
	return Timing{
		Lease:            orDefault(t.Lease, DefaultLease),
		Margin:           orDefault(t.Margin, DefaultMargin),
		Reserve:          orDefault(t.Reserve, DefaultReserve),
		ClaimBudget:      orDefault(t.ClaimBudget, DefaultClaimBudget),
		UnknownRetention: orDefault(t.UnknownRetention, DefaultUnknownRetention),
	}
}

func (t Timing) validate() error {
	d := t.withDefaults()
	problems := joinProblems(
		atLeast("WithTiming", "Lease", d.Lease, time.Second),
		atLeast("WithTiming", "Margin", d.Margin, time.Millisecond),
		atLeast("WithTiming", "Reserve", d.Reserve, time.Millisecond),
		atLeast("WithTiming", "ClaimBudget", d.ClaimBudget, 100*time.Millisecond),
		atLeast("WithTiming", "UnknownRetention", d.UnknownRetention, time.Second),
	)
	if d.Margin > d.Lease/3 { // a renewal begins after a third of the lease, and may take until Margin before its end
		return joinProblems(problems, fmt.Errorf("WithTiming: Margin %v is more than a third of Lease %v", d.Margin, d.Lease))
	}
	return problems
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

func atLeast(option, field string, d, least time.Duration) error {
	if d >= least {
		return nil
	}
	if field != "" {
		option += ": " + field
	}
	return fmt.Errorf("%s: %v is less than %v", option, d, least)
}

func atLeastBytes(option string, size, least int) error {
	if size >= least {
		return nil
	}
	return fmt.Errorf("%s: %d bytes are less than %d", option, size, least)
}

// naming puts the option in front of an error.
func naming(option string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", option, err)
}

// joinProblems makes one error of those that are not nil; nil if all are.
func joinProblems(errs ...error) error {
	var p problems
	for _, err := range errs {
		p.addError(err)
	}
	if p == nil {
		return nil
	}
	return &ConfigError{Problems: p}
}

// disabledVariable is the switch of AWS Powertools, with its spellings of true and false.
const disabledVariable = "POWERTOOLS_IDEMPOTENCY_DISABLED"

func disabledByEnvironment() (bool, error) {
	value := os.Getenv(disabledVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "y", "yes", "t", "true", "on":
		return true, nil
	case "", "0", "n", "no", "f", "false", "off":
		return false, nil
	default:
		return false, fmt.Errorf("%s: %q is neither true nor false", disabledVariable, value)
	}
}
