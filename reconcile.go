package idempotent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Reconciling says how [Handler.Reconcile] asks about a record, and how it goes on if nobody can
// tell. A zero field means its default.
type Reconciling struct {
	_ struct{} // literals name their fields: more may come

	// Timeout is how much time the resolver gets, from a second to 14 minutes, and never more than
	// the context has left. Meanwhile, and for a margin, a client that retries is told to wait.
	// Default 10 seconds.
	Timeout time.Duration
	// OnlyDue leaves alone a record whose next question is not due yet, or that is given up.
	OnlyDue bool
	// FirstPause follows the first question without an answer. Each further pause is twice as long,
	// up to LongestPause. Defaults one minute and one hour.
	FirstPause, LongestPause time.Duration
	// MaxTries is how often is asked before the record is given up: a person has to settle it then.
	// Default 30, which takes about a day with the default pauses.
	MaxTries int
	// GiveUp, unless nil, gets a record that is to be given up, for example to open a ticket. It
	// runs under a claim of the record, with the time and the context that the resolver would have.
	// tries counts the questions without an answer. If it fails, it is called again after a
	// pause: the record is given up once it has succeeded. It may be called more than once.
	GiveUp func(ctx context.Context, x Execution, tries int) error
}

const maxReconcileTimeout = 14 * time.Minute

// Reconciled is what [Handler.Reconcile] has made of a record.
type Reconciled struct {
	Outcome report.ReconcileOutcome
	// Attempt is the number of the claim under its record, 0 if none was taken.
	Attempt int
	// Tries is how often was asked without an answer, this time included. Next is when the record
	// is due again; the zero time if it is not asked about again.
	Tries int
	Next  time.Time
	// Reason is why the record is UNKNOWN, where it still is.
	Reason string
	// Until is, of [report.ReconcileBusy], the end of the lease of whoever holds the record.
	Until time.Time
	// DerivedKeys are those that the execution before got, and that the resolver asked with.
	DerivedKeys []report.NamedKey
	// Err is why nobody could tell: the error, or panic, of the resolver or of Reconciling.GiveUp.
	Err error
	// StoreErr is the last failure of the store that did not decide the outcome.
	StoreErr error
}

// Reconcile asks a resolver about the record with this key, and settles it by what that says: as
// [WithResolver] does when a client retries, but without the event. It asks about a record that is
// UNKNOWN, that was released with steps, or whose execution crashed and is not to be repeated.
// operate.Reconcile calls it for each record that is due; the handler of a webhook calls it when
// the other service has news of one.
//
// The resolver runs under a claim like any other. If the process dies, the record is due again once
// the lease of the claim has ended. An error, a panic, and a result that would not be stored if the
// handler returned it count as [StillUnknown]. So does [Untouched] after Timeout: somebody else may
// own the record by then. A result that comes so late is stored if nobody else has taken the
// record; else the outcome is [report.ReconcileElsewhere].
//
// The context of the resolver belongs to the execution that is asked about: [DerivedKey] returns
// the keys of that. Steps and commits are refused in it.
//
// The errors: [ErrUnreadable] or [ErrStoreUnavailable], with which the outcome is empty; if the
// verdict of the resolver could not be stored, too. A key of another operation, and a bad
// Reconciling, are a [*ConfigError]. No observer is called.
func (h *Handler[In, Out]) Reconcile(ctx context.Context, recordKey string,
	resolver func(context.Context, Execution) (Resolution[Out], error), how Reconciling,
) (Reconciled, error) {
	if resolver == nil {
		return h.wrapped.reconcile(ctx, recordKey, nil, how)
	}
	return h.wrapped.reconcile(ctx, recordKey, func(ctx context.Context, x Execution) (found, error) {
		r, err := resolver(ctx, x)
		return found{r.finding, r.out}, err
	}, how)
}

func (w *wrapped) reconcile(ctx context.Context, recordKey string,
	resolver func(context.Context, Execution) (found, error), how Reconciling,
) (Reconciled, error) {
	if err := w.checkReconciling(recordKey, resolver == nil, how); err != nil {
		return Reconciled{}, err
	}
	how = how.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, how.Timeout)
	defer cancel()
	var asked error
	q := protocol.Inquiry{
		Settings: w.settings, RecordKey: recordKey,
		Ask: func(ctx context.Context, c execution.Claim) protocol.Resolution {
			r := w.inquire(ctx, c, resolver)
			asked = r.ResultErr
			return r
		},
		Due: how.OnlyDue, Pause: how.pause, MaxTries: how.MaxTries,
	}
	if how.GiveUp != nil {
		q.GiveUp = func(ctx context.Context, c execution.Claim, tries int) error {
			return execution.Guarded(func() error { return how.GiveUp(ctx, executionOf(c), tries) })
		}
	}
	r := Reconciled(q.Run(ctx))
	failed := &Error{Operation: w.settings.Operation, RecordKey: recordKey, Err: r.Err}
	switch r.Outcome {
	case protocol.InquiryUnreadable:
		failed.Kind, failed.Reason = ErrUnreadable, r.Reason
	case protocol.InquiryFailed:
		failed.Kind, r.Err = ErrStoreUnavailable, asked
	default:
		return r, nil
	}
	r.Outcome = ""
	return r, failed
}

// inquire asks a resolver that gets no event, in a goroutine of its own: neither a panic nor
// runtime.Goexit of it keeps the record from being settled.
func (w *wrapped) inquire(ctx context.Context, c execution.Claim,
	resolver func(context.Context, Execution) (found, error),
) (res protocol.Resolution) {
	err := execution.Guarded(func() error {
		r, err := resolver(ctx, executionOf(c))
		if res.Finding = r.finding; err != nil || r.finding != execution.HasExecuted {
			return err
		}
		text, err := w.foundText(r.out)
		if err == nil {
			res.Result, err = w.kept(text, false)
		}
		return err
	})
	if err != nil {
		return protocol.Resolution{ResultErr: fmt.Errorf("resolver: %w", err)}
	}
	return res
}

// WithDefaults returns r with its zero fields set.
func (r Reconciling) WithDefaults() Reconciling {
	r.Timeout = cmp.Or(r.Timeout, 10*time.Second)
	r.FirstPause = cmp.Or(r.FirstPause, time.Minute)
	r.LongestPause = cmp.Or(r.LongestPause, max(time.Hour, r.FirstPause))
	r.MaxTries = cmp.Or(r.MaxTries, 30)
	return r
}

// Check returns a [*ConfigError] that names everything that is wrong, nil if nothing is.
func (r Reconciling) Check() error {
	var p setup.Problems
	r.check(&p)
	return p.Err()
}

func (r Reconciling) check(p *setup.Problems) {
	p.Addf(r.Timeout != 0 && (r.Timeout < time.Second || r.Timeout > maxReconcileTimeout),
		"Reconciling.Timeout: %s is not from %s to %s", r.Timeout, time.Second, maxReconcileTimeout)
	p.Addf(r.FirstPause != 0 && r.FirstPause < time.Second,
		"Reconciling.FirstPause: %s is less than a second", r.FirstPause)
	first := max(r.FirstPause, 0)
	p.Addf(r.LongestPause != 0 && r.LongestPause < first,
		"Reconciling.LongestPause: %s is less than FirstPause, %s", r.LongestPause, first)
	p.Addf(r.MaxTries < 0, "Reconciling.MaxTries: %d is negative", r.MaxTries)
}

func (w *wrapped) checkReconciling(recordKey string, noResolver bool, how Reconciling) error {
	var p setup.Problems
	of := store.Record{Key: recordKey}.Operation()
	p.Addf(of != w.recordsOf, "Reconcile: the record is one of operation %q, and those of the handler are of %q", of,
		w.recordsOf)
	p.Addf(w.disabled, "WithDisabled: the protection is turned off: requests execute whatever a record says, so there "+
		"is nothing to settle")
	p.Addf(noResolver, "Reconcile: the resolver is nil")
	how.check(&p)
	return p.Err()
}

func (r Reconciling) pause(tries int) time.Duration {
	p := r.FirstPause
	for n := 1; n < tries && p < r.LongestPause; n++ {
		p *= 2
	}
	return min(p, r.LongestPause)
}
