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

// The codes of reasons, see
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#API_TransactWriteItems_Errors.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
	reasonCapacity  = "ProvisionedThroughputExceeded"
	reasonThrottled = "ThrottlingError"
	reasonInvalid   = "ValidationError"
	reasonTooLarge  = "ItemCollectionSizeLimitExceeded"
)

// reason is why one write cancelled the transaction, none if another one did.
type reason struct {
	code, message string
	old           item
}

// cancelled returns the reasons for which DynamoDB cancelled the transaction: one for each write, in their order; nil if it does not
// tell, or not for all of them.
func (t *transaction) cancelled(err error) (reasons []reason, is bool) {
	cancelled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		return nil, errorCode(err) == codeCancelled
	}
	count := len(t.in.TransactItems)
	if len(cancelled.CancellationReasons) != count {
		return reasonsIn(cancelled.ErrorMessage(), count), true
	}
	reasons = make([]reason, count)
	for i, r := range cancelled.CancellationReasons {
		reasons[i] = reason{code: aws.ToString(r.Code), message: aws.ToString(r.Message), old: r.Item}
	}
	return reasons, true
}

// reasonsIn reads the reasons in a message, which ends with their codes: "[None, ConditionalCheckFailed]". Some implementations of
// DynamoDB's API, and programs that pass its answers on, leave the list out.
func reasonsIn(message string, count int) []reason {
	_, list, found := strings.Cut(message, "[")
	list, _, ends := strings.Cut(list, "]")
	codes := strings.Split(list, ",")
	if !found || !ends || len(codes) != count {
		return nil
	}
	reasons := make([]reason, count)
	for i, code := range codes {
		reasons[i].code = strings.TrimSpace(code)
	}
	return reasons
}

// refused turns reasons into the outcome of the call. What was found out about the record comes before everything that the writes have
// to say: who has lost the record has no business with them. Their conditions come before what may pass.
func (t *transaction) refused(ctx context.Context, reasons []reason) (held store.Record, committed bool, err error) {
	switch {
	case reasons == nil:
		return t.unexplained(ctx)
	case t.record != nil && reasons[0].code == reasonCondition:
		held, err = t.holder(ctx, reasons[0].old)
		return held, false, err
	}
	if err := t.conditions(reasons); err != nil {
		return store.Record{}, false, t.error(store.FailureRejected, err)
	}
	for _, kind := range []store.Failure{
		store.FailureTooLarge, store.FailureRejected, store.FailureAccessDenied, store.FailureMissingTable,
		store.FailureConflict, store.FailureThrottled, store.FailureUnavailable,
	} {
		for i, r := range reasons {
			if r.is(kind) {
				return store.Record{}, false, t.error(kind, fmt.Errorf("%s: %w", t.at(i), r))
			}
		}
	}
	return t.unexplained(ctx)
}

// holder returns the record that refused: as it was sent, else as it is read.
func (t *transaction) holder(ctx context.Context, old item) (store.Record, error) {
	if len(old) > 0 {
		return t.store.decode(t.key, old)
	}
	held, _, err := t.store.get(ctx, t.op, t.key)
	if failed, ok := errors.AsType[*store.Error](err); ok {
		failed.NotApplied = t.attempts.notApplied() // the read wrote nothing, but an earlier attempt may have
	}
	return held, err
}

var errUnexplained = errors.New("the transaction was cancelled, and the answer does not say why")

// unexplained is the outcome of a transaction that was cancelled for no reason that is known. If the record is another one than that
// which was seen, it is that.
func (t *transaction) unexplained(ctx context.Context) (held store.Record, committed bool, err error) {
	if t.record != nil {
		held, err := t.holder(ctx, nil)
		if err != nil || !held.Matches(t.seen) {
			return held, false, err
		}
	}
	return store.Record{}, false, t.error(store.FailureUnavailable, errUnexplained)
}

// conditions returns the writes whose conditions do not hold.
func (t *transaction) conditions(reasons []reason) error {
	var refused []RefusedItem
	for i, r := range reasons {
		if r.code == reasonCondition {
			index := t.index(i)
			of := t.writes.each[index]
			refused = append(refused, RefusedItem{Index: index, Table: aws.ToString(of.table), Old: r.old, kind: of.kind})
		}
	}
	if refused == nil {
		return nil
	}
	return &ConditionError{Refused: refused}
}

// index is which item of the user's call a write is.
func (t *transaction) index(write int) int {
	if t.record != nil {
		return write - 1
	}
	return write
}

// at says which write it is.
func (t *transaction) at(write int) string {
	index := t.index(write)
	if index < 0 {
		return "the record"
	}
	return t.writes.each[index].at(index)
}

// error is that of a transaction which was cancelled.
func (t *transaction) error(kind store.Failure, err error) error {
	return &store.Error{Op: t.op, Kind: kind, NotApplied: t.attempts.notApplied(), Err: err}
}

func (r reason) Error() string {
	switch {
	case r.message == "" || r.code == reasonCondition:
		return r.code
	case r.is(store.FailureRejected) && !harmless(r.message):
		return r.code + ": (message withheld)"
	case !slices.Contains([]string{reasonConflict, reasonCapacity, reasonThrottled, reasonInvalid, reasonTooLarge}, r.code):
		return r.code
	default:
		return r.code + ": " + r.message
	}
}

// is reports whether the reason is a failure of this kind.
func (r reason) is(kind store.Failure) bool { return r.code != reasonNone && r.kind() == kind }

func (r reason) kind() store.Failure {
	switch r.code {
	case reasonConflict:
		return store.FailureConflict
	case reasonCapacity, reasonThrottled:
		return store.FailureThrottled
	case reasonTooLarge:
		return store.FailureTooLarge
	case reasonInvalid:
		if tooLarge(r.message) {
			return store.FailureTooLarge
		}
		return store.FailureRejected
	}
	if kind, known := kindOfCode(r.code); known {
		return kind
	}
	return store.FailureUnavailable
}
