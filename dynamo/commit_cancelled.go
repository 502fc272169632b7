package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// The codes of a write that did not cancel the transaction, and of one whose condition does not
// hold. Others are those of errors without "Exception". See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#API_TransactWriteItems_Errors.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
)

// reason is why one write cancelled the transaction, none if another one did.
type reason struct {
	code, message string
	old           item
}

// cancelled returns the reasons for which DynamoDB cancelled the transaction, one for each write, in
// their order. Some implementations of DynamoDB's API send fewer, and programs that pass its answers
// on may send none.
func (t *transaction) cancelled(err error) (reasons []reason, is bool) {
	cancelled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		code, _ := answer(err)
		return nil, code == codeCancelled
	}
	if len(cancelled.CancellationReasons) == 0 {
		return reasonsIn(cancelled.ErrorMessage()), true
	}
	reasons = make([]reason, len(cancelled.CancellationReasons))
	for i, r := range cancelled.CancellationReasons {
		reasons[i] = reason{code: aws.ToString(r.Code), message: aws.ToString(r.Message), old: r.Item}
	}
	return reasons, true
}

// reasonsIn reads the codes with which a message ends: "[None, ConditionalCheckFailed]".
func reasonsIn(message string) (reasons []reason) {
	_, list, _ := strings.Cut(message, "[")
	list, _, _ = strings.Cut(list, "]")
	for code := range strings.SplitSeq(list, ",") {
		reasons = append(reasons, reason{code: strings.TrimSpace(code)})
	}
	return reasons
}

// refused turns reasons into the outcome of the call. The record comes first: who has lost it has no
// business with the other writes. Their conditions come before what may pass.
func (t *transaction) refused(ctx context.Context, reasons []reason) (held store.Record, committed bool, err error) {
	// Else nobody knows which write each is about.
	placed := len(reasons) == len(t.in.TransactItems) && slices.ContainsFunc(reasons, reason.failed)
	switch {
	case !placed && t.own > 0:
		held, err := t.store.refuser(ctx, t.op, t.seen.Key, &t.attempts, nil)
		if err != nil || !held.Matches(t.seen) {
			return held, false, err
		}
	case t.own > 0 && reasons[0].code == reasonCondition:
		held, err := t.store.refuser(ctx, t.op, t.seen.Key, &t.attempts, reasons[0].old)
		return held, false, err
	}
	if placed {
		if refused := t.conditions(reasons); refused != nil {
			return store.Record{}, false, t.error(store.FailureRejected, &ConditionError{Refused: refused})
		}
	}
	return store.Record{}, false, t.worst(reasons, placed)
}

var errUnexplained = errors.New("the transaction was cancelled, and the answer does not say why")

// worst is the error of the reason that counts: what does not pass comes before what may.
func (t *transaction) worst(reasons []reason, placed bool) error {
	for _, kind := range []store.Failure{
		store.FailureTooLarge, store.FailureRejected, store.FailureAccessDenied, store.FailureMissingTable,
		store.FailureConflict, store.FailureThrottled, store.FailureUnavailable,
	} {
		for i, r := range reasons {
			of, _ := r.kind()
			switch {
			case !r.failed() || of != kind:
			case placed:
				return t.error(kind, fmt.Errorf("%s: %w", t.at(i), r))
			default:
				return t.error(kind, fmt.Errorf("one of the items: %w", r))
			}
		}
	}
	return t.error(store.FailureUnavailable, errUnexplained)
}

// conditions returns the items whose conditions do not hold. There is a reason for each write.
func (t *transaction) conditions(reasons []reason) (refused []RefusedItem) {
	for i, r := range reasons {
		if r.code == reasonCondition { // that of the record was looked at before
			kind, table := described(t.in.TransactItems[i])
			refused = append(refused, RefusedItem{Index: i - t.own, Table: table, Old: r.old, kind: kind})
		}
	}
	return refused
}

func (t *transaction) at(write int) string {
	if write < t.own {
		return "the record"
	}
	kind, table := described(t.in.TransactItems[write])
	return at(write-t.own, kind, table)
}

func (t *transaction) error(kind store.Failure, err error) error {
	return &store.Error{Op: t.op, Kind: kind, NotApplied: t.attempts.notApplied(), Err: err}
}

func (r reason) Error() string {
	kind, known := r.kind()
	switch {
	case r.message == "", !known:
		return r.code
	case kind == store.FailureRejected && !harmless(r.message):
		return r.code + ": (message withheld)"
	default:
		return r.code + ": " + r.message
	}
}

// failed reports whether it was this write that cancelled the transaction.
func (r reason) failed() bool { return r.code != reasonNone && r.code != "" }

func (r reason) kind() (kind store.Failure, known bool) {
	for _, code := range []string{r.code, r.code + "Exception"} {
		if kind, known := kindOfAnswer(code, r.message); known {
			return kind, true
		}
	}
	return store.FailureUnavailable, false
}

// ConditionError says that conditions of items of a [Commit] do not hold. Nothing was written,
// nothing will be, and the claim stands.
type ConditionError struct {
	// Refused are these items, at least one, in the order of the call.
	Refused []RefusedItem
}

// RefusedItem is an item whose condition does not hold.
type RefusedItem struct {
	// Index is which item of the call it is, from 0.
	Index int
	Table string
	// Old is the item as it was then, nil if there was none, or if the write did not ask for it, see
	// [ReturnOld]. A log that shows the error, also one in JSON, does not show it.
	Old map[string]types.AttributeValue `json:"-"`

	kind string // of write
}

// Error names the items, and nothing of what they hold.
func (e *ConditionError) Error() string {
	refused := make([]string, len(e.Refused))
	for i, r := range e.Refused {
		refused[i] = at(r.Index, r.kind, r.Table)
	}
	if len(refused) == 1 {
		return "dynamo: nothing was written: the condition of " + refused[0] + " does not hold"
	}
	return "dynamo: nothing was written: the conditions of " + strings.Join(refused, " and ") + " do not hold"
}

// Is reports whether target is [store.ErrWritesRefused].
func (e *ConditionError) Is(target error) bool { return target == store.ErrWritesRefused }
