package idempotent

import (
	"context"
	"fmt"
)

// Effects is what a handler says about its effects: what repeating them would do. See
// [WithEffects].
type Effects int

const (
	// Cautious is the default, and what AWS Powertools does: a request whose execution crashed or
	// failed is executed again, and one whose execution succeeded never is.
	Cautious Effects = iota
	// Repeatable effects do no harm if they are repeated, because each downstream takes the
	// [DerivedKey]: it recognises a request that it has seen. After a crash, and where a result
	// could not be stored, the request is executed again once the lease has ended.
	Repeatable
	// Unrepeatable effects must never be repeated unasked: after a crash or a failure the record
	// becomes UNKNOWN, and nobody executes again until it is settled.
	//
	// A handler with steps says by them what it did: it must have no effect outside of its steps,
	// and every [Step] writes a start mark. A crashed execution whose recorded steps tell all that
	// it began is resumed by the next delivery. One that had begun a step without recording its end
	// becomes UNKNOWN, and so does one that recorded no step.
	Unrepeatable
)

// WithEffects says once what repeating the effects of the handler would do. This decides what
// happens after an execution that ended badly:
//
//	              a crash, a lost lease   the result could not be stored    an unmarked error
//	Repeatable    executes again          executes again, after the lease   released
//	Cautious      executes again          UNKNOWN                           released
//	Unrepeatable  UNKNOWN                 UNKNOWN                           UNKNOWN
//
// A crash is an execution that ended without saying how: its lease ended while it ran, it panicked,
// or it returned the error of its own context. Under Unrepeatable and with a resolver, every
// unmarked error and every result that is not to be stored counts as a crash if the handler's
// context has ended.
//
// Say Repeatable if every effect takes the [DerivedKey]: then a failure of the store heals by
// itself. A result that can never be stored, because it cannot be encoded or is too large, makes
// the record UNKNOWN all the same: it would be lost again. Wrap refuses Repeatable together with a
// resolver.
//
// Say Unrepeatable if the service that has the effect takes no key. A response that is not stored
// then counts as a failure, which makes the record UNKNOWN. The statuses 401, 403 and 429, without
// an error, are exceptions whatever the effects are: they mean that nothing has happened, so the
// key is released. If another response says that nothing has happened yet, for example a 503 before
// the effect was tried, return it with an error marked [NotExecuted]: then the key is released too.
func WithEffects(e Effects) Option {
	return optionFunc(func(c *config) error {
		c.effects = e
		if e < Cautious || e > Unrepeatable {
			return fmt.Errorf("WithEffects: %d is not Cautious, Repeatable or Unrepeatable", e)
		}
		return nil
	})
}

// WithResolver settles executions that crashed, and records that are UNKNOWN, by asking the service
// that has the effect. The next delivery takes the record over first. Then the resolver runs under
// that lease, with the context that the handler would get. It answers [Executed], [Untouched] or
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
// An error counts as StillUnknown, and so does a result that is not stored when the handler returns
// it, by its status or by [WithStoreIf]; the observer gets the error. If the resolver panics, the
// record becomes UNKNOWN too, and the panic continues. A handler with a resolver is never executed
// again after a crash before the resolver was asked, and its steps have start marks, as those of
// [Unrepeatable] effects.
func WithResolver[In, Out any](resolver func(ctx context.Context, x Execution, in In) (Resolution[Out], error)) Option {
	return userFunc("WithResolver", resolver, func(c *config) {
		c.user.resolver = func(ctx context.Context, x Execution, in any) (found, error) {
			r, err := resolver(ctx, x, *in.(*In)) //nolint:forcetypeassert // see config.given
			return found{r.finding, r.out}, err
		}
	})
}
