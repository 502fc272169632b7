package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// decision is what follows from a record that is held: the claim is ours, another move is due, or the answer stands.
type decision struct {
	mine   bool
	move   *move
	answer answer
}

// judge is the one place where a held record is interpreted before the handler runs. The zero record says that the one
// that refused is gone.
func (v *invocation) judge(ctx context.Context, held Record, now time.Time) decision {
	switch {
	case held.Key == "" || held.Claimable(now):
		return decision{move: &move{kind: moveClaim, next: v.fresh()}}
	case held.Owner == v.owner && held.Status == StatusInProgress:
		return decision{mine: true}
	}
	if a, same := v.sameRequest(held); !same {
		return decision{answer: a}
	}
	switch held.Status {
	case StatusCompleted:
		return decision{answer: v.replay(ctx, held)}
	case StatusInProgress:
		return v.judgeInProgress(held, now)
	case StatusUnknown:
		if v.user.resolver != nil {
			return decision{move: v.takeOver(held)}
		}
		return decision{answer: v.unknown(held.Reason)}
	default:
		return decision{answer: v.unreadable("its status is none of INPROGRESS, COMPLETED, UNKNOWN", nil)}
	}
}

func (v *invocation) judgeInProgress(held Record, now time.Time) decision {
	switch {
	case !held.lapsed(now):
		return decision{answer: v.inProgress(held, now)}
	case v.crash == Reexecute || v.user.resolver != nil:
		return decision{move: v.takeOver(held)}
	default:
		next := held
		next.Status, next.Reason = StatusUnknown, reasonCrashed
		next.Expiry = expiryAt(now.Add(v.timing.UnknownRetention), time.Time{})
		// The owner stays: it may still bring the result.
		return decision{move: &move{kind: moveRefuse, seen: held, next: next}}
	}
}

func (v *invocation) takeOver(held Record) *move {
	if held.Attempt == 0 {
		held.Attempt = 1 // a record of AWS Powertools counts none, but one execution there was
	}
	v.seenReason = held.Reason
	if held.Status == StatusInProgress {
		v.seenReason = reasonCrashed
	}
	return &move{kind: moveTakeOver, seen: held, next: v.claimed(held)}
}

// sameRequest compares fingerprints. A handler without fingerprints takes any record of the key.
func (v *invocation) sameRequest(held Record) (answer, bool) {
	switch {
	case v.fingerprint == "" || held.Fingerprint == v.fingerprint:
		return answer{}, true
	case held.Fingerprint != "" && versionOf(held.Fingerprint) != versionOf(v.fingerprint):
		return v.unreadable("its fingerprint has an algorithm version that this handler does not compute", nil), false
	default:
		return v.mismatch(), false
	}
}

// versionOf is the algorithm version of a fingerprint, empty if this build does not know it.
func versionOf(text string) string {
	version, _ := fingerprint.VersionOf(text)
	return version
}

// replay answers with a stored result, after checking that it is the one that was stored.
func (v *invocation) replay(ctx context.Context, held Record) answer {
	result := held.Result
	if held.Parts != "" {
		var err error
		if result, err = v.readResult(ctx, held); err != nil {
			return v.failed(err)
		}
	}
	switch {
	case held.Parts == "" && held.Commit != "" && !held.Committed(result): // of parts the store has verified that
		return v.unreadable("its result is not the one that was committed", nil)
	case v.powertools != nil:
		var err error
		if result, err = v.powertools.replayed(held, result); err != nil {
			return v.unreadable("its result is not what the language writes", err)
		}
	case held.Commit == "" && !json.Valid(result): // AWS Powertools writes no digest
		return v.unreadable("its result is no JSON", nil)
	}
	v.event.ResultBytes = len(result)
	return answer{
		outcome: OutcomeReplayed, result: result, terminal: held.Reason == reasonTerminal, expires: held.Expiry,
		committed: held.Commit != "" && v.powertools == nil,
	}
}

func (v *invocation) readResult(ctx context.Context, held Record) ([]byte, error) {
	reader, ok := v.store.(ResultReader)
	if !ok {
		return nil, &UnreadableError{Reason: "its result is kept in parts, which this store cannot read"}
	}
	for failures := 1; ; failures++ {
		result, err := tryRead(ctx, reader, held)
		if err == nil || !mayPass(err) || !pause(ctx, failures) {
			return result, err
		}
	}
}

func tryRead(ctx context.Context, reader ResultReader, held Record) ([]byte, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	return reader.ReadResult(ctx, held)
}

// failed is the answer to a call that the store could not answer.
func (v *invocation) failed(err error) answer {
	if unreadable, ok := errors.AsType[*UnreadableError](err); ok {
		return v.unreadable(unreadable.Reason, unreadable.Err)
	}
	return v.unavailable(err)
}
