// Package observe has observers for [idempotent.WithObserver]: [EMF] for metrics, [Slog] for a log, [All] for several. What no single
// invocation can tell, how many records wait for somebody, is for [AttentionEMF]. The relay of an outbox has observers of its own, in package
// outboxobserve, which stand on [OutboxEMF] and [OutboxSlog]; a batch has those of package batchobserve, which stand on [BatchEMF] and [BatchSlog].
package observe

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-idempotent/idempotent"
)

// Slog returns an observer that writes one record for each invocation: at level ERROR if the store failed, a
// record could not be read, or the lease was lost; at WARN if a handler failed, a caller misused a key, an outcome is
// unknown, the result of a step was lost, nobody asked for a recorded step, a commit failed, or the handler did something else than
// return what it had committed; at INFO otherwise. It is safe for concurrent use. A nil
// logger is [slog.Default], looked up at each record.
//
// The attributes are those of [idempotent.Event] that say something: operation, outcome, route, record (the record key, which
// holds a digest and no key), settlement, reason, attempt, recovered, claim, wait, handle and settle (durations), bytes (of the
// result), derived_keys (a group: what was handed out, by name), steps (a group of groups: of each step, by name, its end, took and
// recording (durations), bytes, and the type of its error, never the text), orphan_steps (names), commits (a group of groups: of each
// commit, by its place from 1, its end, items, tries, took, and what failed, never the text), error, store_error. The texts of errors of
// this module hold neither keys nor payloads; the handler's own are its own, and so are the names of derived keys and of steps.
//
// The end of a step is recorded, resolved (recorded, and a resolver found it), resumed, failed (nothing is recorded), lost (it ran, and
// what it returned could not be recorded), refused (it did not run), "lease lost", unreadable, or "unknown outcome".
//
// The end of a commit is committed, declined (the condition of a write did not hold), refused (nothing was sent), failed (the store did
// not take it), or "lease lost".
//
// A delivery that made its record UNKNOWN has settlement=unknown. One that met an UNKNOWN record has outcome="unknown outcome" and no
// settlement, or settlement="still unknown" if a resolver was asked in vain.
func Slog(logger *slog.Logger) func(context.Context, idempotent.Event) {
	return func(ctx context.Context, e idempotent.Event) {
		l := orDefault(logger)
		level := levelOf(e)
		if l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, "idempotency", attributes(e)...)
		}
	}
}

func orDefault(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.Default()
	}
	return logger
}

func levelOf(e idempotent.Event) slog.Level {
	switch {
	case e.StoreErr != nil, e.Outcome == idempotent.OutcomeStoreUnavailable, e.Outcome == idempotent.OutcomeUnreadable,
		e.Outcome == idempotent.OutcomeRefused, e.Outcome == idempotent.OutcomePanicked:
		return slog.LevelError
	case e.Err != nil && !errors.Is(e.Err, idempotent.ErrInProgress), e.Settlement == idempotent.SettledUnknown,
		stepsThat(&e, stepLost) > 0, len(e.OrphanSteps) > 0, commitsFailed.commits(&e) > 0:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

func attributes(e idempotent.Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("operation", e.Operation), slog.String("outcome", string(e.Outcome))}
	add := func(says bool, a slog.Attr) {
		if says {
			attrs = append(attrs, a)
		}
	}
	add(e.Route != "", slog.String("route", e.Route))
	add(e.RecordKey != "", slog.String("record", e.RecordKey))
	add(e.Settlement != "", slog.String("settlement", string(e.Settlement)))
	add(e.Reason != "", slog.String("reason", e.Reason))
	add(e.Attempt > 0, slog.Int("attempt", e.Attempt))
	add(e.Recovered, slog.Bool("recovered", true))
	add(e.Claim > 0, slog.Duration("claim", e.Claim))
	add(e.Wait > 0, slog.Duration("wait", e.Wait))
	add(e.Handle > 0, slog.Duration("handle", e.Handle))
	add(e.Settle > 0, slog.Duration("settle", e.Settle))
	add(e.ResultBytes > 0, slog.Int("bytes", e.ResultBytes))
	add(len(e.DerivedKeys) > 0, slog.Attr{Key: "derived_keys", Value: derivedKeys(e)})
	add(len(e.Steps) > 0, slog.Attr{Key: "steps", Value: steps(e)})
	add(len(e.OrphanSteps) > 0, slog.Any("orphan_steps", e.OrphanSteps))
	add(len(e.Commits) > 0, slog.Attr{Key: "commits", Value: commitsIn(e)})
	add(e.Err != nil, slog.Any("error", e.Err))
	add(e.StoreErr != nil, slog.Any("store_error", e.StoreErr))
	return attrs
}

func derivedKeys(e idempotent.Event) slog.Value {
	keys := make([]slog.Attr, len(e.DerivedKeys))
	for i, k := range e.DerivedKeys {
		keys[i] = slog.String(k.Name, k.Key)
	}
	return slog.GroupValue(keys...)
}

func steps(e idempotent.Event) slog.Value {
	steps := make([]slog.Attr, len(e.Steps))
	for i := range e.Steps {
		s := &e.Steps[i]
		end := []any{slog.String("end", string(endOf(s)))}
		if s.Took > 0 {
			end = append(end, slog.Duration("took", s.Took))
		}
		if s.Recording > 0 {
			end = append(end, slog.Duration("recording", s.Recording))
		}
		if s.Bytes > 0 {
			end = append(end, slog.Int("bytes", s.Bytes))
		}
		if kind := stepErrorType(s); kind != "" {
			end = append(end, slog.String("error", kind))
		}
		steps[i] = slog.Group(s.Name, end...)
	}
	return slog.GroupValue(steps...)
}
