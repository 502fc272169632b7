package idempotent

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/report"
)

// WithOperation names what the handler does: 1 to 255 characters of [A-Za-z0-9._-]. The name is
// part of every record key, so handlers of one store with the same name share records, see [Wrap].
// The default of HTTP handlers is the environment variable AWS_LAMBDA_FUNCTION_NAME, else "local".
// Any other handler must name its operation.
//
// A new name finds no records of the old one, and changes every [DerivedKey]: a request that was
// under way is executed again, and other services take it for a new one.
func WithOperation(name string) Option {
	return optionFunc(func(c *config) {
		c.keys.operation, c.operationSet = name, true
		c.Addf(!validOperation(name), "WithOperation: %q is not 1 to %d characters of [A-Za-z0-9._-]", name, maxOperation)
	})
}

// WithRetention sets how long a completed record is replayed: at least one second. Default 24 h.
// DynamoDB deletes records some time after that; the retention is exact all the same.
func WithRetention(d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.settings.Retention = d
		atLeast(&c.Problems, "WithRetention", d, time.Second)
	})
}

// WithWait lets a delivery that meets a running execution wait for its result, for at most d,
// instead of answering at once that the request is in progress. Default 0: no wait. The delivery
// reads the record in growing intervals of 0.1 to 2 s, and answers as soon as there is a result, or
// in time before its own deadline. If the execution failed or crashed, the delivery runs the
// handler itself, unless less than a quarter of its own time is left.
//
// A delivery that waits occupies a Lambda environment, which is paid for and counts as concurrency:
// think of many retries at once. Keep d below the timeout of the gateway (29 s of a REST API, 30 s
// of an HTTP API) and of the clients: nobody gets an answer that comes later.
func WithWait(d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.settings.Wait = d
		atLeast(&c.Problems, "WithWait", d, 0)
	})
}

// WithStoreIf decides which results are stored. Without it, an HTTP handler decides by status, see
// [WithHTTP], and any other handler stores every result that it returns without an error. If
// storeIf returns false, the execution counts as failed: its record is released, or, under
// [Unrepeatable], becomes UNKNOWN. The function must not modify its argument.
func WithStoreIf[Out any](storeIf func(out Out) bool) Option {
	return userFunc("WithStoreIf", storeIf, func(c *config) {
		c.keeps = func(out any) bool { return storeIf(as[Out](out)) }
	})
}

// WithObserver reports every delivery; package observe has observers for metrics and logs. Nobody
// else learns why an HTTP handler answers 503 or 500. The function runs on the caller's goroutine,
// after the record was settled. It must be safe for concurrent use. A panic in it is not recovered.
func WithObserver(observe func(context.Context, report.Delivery)) Option {
	return userFunc("WithObserver", observe, func(c *config) { c.observe = observe })
}

// WithTrace calls begin at the start of every delivery. The report has Operation, Trigger and Start
// then, and nothing else. It is for tracers: package observe/otel has one for OpenTelemetry. The
// function must be safe for concurrent use. A panic in it, or in what it returns, is not recovered.
func WithTrace(begin func(context.Context, report.Delivery) Trace) Option {
	return userFunc("WithTrace", begin, func(c *config) { c.trace = begin })
}

// WithClock replaces [time.Now] as the source of the times in records. It has no effect on budgets
// and deadlines of contexts. It has to go as fast as time does: a clock that jumps ahead during a
// claim uses up the lease, and the claim is begun anew.
func WithClock(now func() time.Time) Option {
	return userFunc("WithClock", now, func(c *config) { c.settings.Now = now })
}

// WithDisabled turns the protection off: the handler runs on every delivery, and nothing touches
// the store. Without this option the variable POWERTOOLS_IDEMPOTENCY_DISABLED decides.
func WithDisabled(disabled bool) Option {
	return optionFunc(func(c *config) { c.disabled, c.disabledSet = disabled, true })
}

// WithTiming sets the durations of an invocation.
func WithTiming(t Timing) Option {
	return optionFunc(func(c *config) {
		d := t.withDefaults()
		c.settings.Timing = protocol.Timing(d)
		atLeast(&c.Problems, "WithTiming: Lease", d.Lease, time.Second)
		atLeast(&c.Problems, "WithTiming: Margin", d.Margin, time.Millisecond)
		atLeast(&c.Problems, "WithTiming: Reserve", d.Reserve, time.Millisecond)
		atLeast(&c.Problems, "WithTiming: ClaimBudget", d.ClaimBudget, 100*time.Millisecond)
		atLeast(&c.Problems, "WithTiming: UnknownRetention", d.UnknownRetention, time.Second)
		// a renewal begins after a third of the lease, and may take until Margin before its end
		c.Addf(d.Margin > d.Lease/3, "WithTiming: Margin %v is more than a third of Lease %v", d.Margin, d.Lease)
	})
}

// WithEffects says once what repeating the effects of the handler would do. This decides what
// happens after an execution that ended badly:
//
//	              a crash, a lost lease   the result could not be stored    an unmarked error
//	Repeatable    executes again          executes again, after the lease   released
//	Cautious      executes again          UNKNOWN                           released
//	Unrepeatable  UNKNOWN                 UNKNOWN                           UNKNOWN
//
// An execution crashes if its lease ends while it runs, if it panics, or if it returns the error of
// its own context. Under Unrepeatable and with a resolver, every unmarked error and every result
// that is not to be stored counts as a crash if the handler's context has ended.
//
// Say Repeatable if every effect takes the [DerivedKey]: then a failure of the store heals by
// itself. A result that can never be stored, because it cannot be encoded or is too large, makes
// the record UNKNOWN all the same. Wrap refuses Repeatable together with a resolver.
//
// Say Unrepeatable if the service that has the effect takes no key. A response that is not stored
// then makes the record UNKNOWN, see [WithHTTP]. If it says that nothing has happened yet, for
// example a 503 before the effect was tried, return it with an error marked [NotExecuted].
func WithEffects(e Effects) Option {
	return optionFunc(func(c *config) {
		c.settings.Repeatable, c.settings.RefuseFailed = e == Repeatable, e == Unrepeatable
		c.Addf(e < Cautious || e > Unrepeatable, "WithEffects: %d is not Cautious, Repeatable or Unrepeatable", e)
	})
}

// WithResolver settles executions that crashed, and records that are UNKNOWN, by asking the service
// that has the effect. The next delivery takes the record over and runs the resolver under that
// lease, with the context that the handler would get. It answers [Executed], [Untouched] or
// [StillUnknown].
//
//	func ask(ctx context.Context, x idempotent.Execution, o Order) (idempotent.Resolution[Receipt], error) {
//		charge, found, err := provider.Find(ctx, x.DerivedKey("charge"))
//		switch {
//		case err != nil:
//			return idempotent.StillUnknown[Receipt](), err
//		case found:
//			return idempotent.Executed(Receipt{Charge: charge.ID}), nil
//		default: // the provider knows that it has not charged and will not
//			return idempotent.Untouched[Receipt](), nil
//		}
//	}
//
// An error counts as StillUnknown, and so does a result that would not be stored if the handler
// returned it; the observer gets the error. If the resolver panics, the record becomes UNKNOWN too,
// and the panic continues. After a crash the handler never runs before the resolver was asked.
func WithResolver[In, Out any](resolver func(ctx context.Context, x Execution, in In) (Resolution[Out], error)) Option {
	return userFunc("WithResolver", resolver, func(c *config) {
		c.resolver = func(ctx context.Context, x Execution, in any) (found, error) {
			r, err := resolver(ctx, x, *in.(*In)) //nolint:forcetypeassert // see config.given
			return found{r.finding, r.out}, err
		}
	})
}
