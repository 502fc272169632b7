package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// What DynamoDB answers to a transaction, and to nothing else.
const (
	codeCancelled  = "TransactionCanceledException"
	codeInProgress = "TransactionInProgressException"
	codeMismatch   = "IdempotentParameterMismatchException"
)

// Commit is one TransactWriteItems: first the update of a [Store.Swap] that completes the record,
// then the writes. Parts of a large result precede it. The record that refuses comes with the
// answer; else a GetItem reads it.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
func (s *Store) Commit(ctx context.Context, seen, next store.Record, w store.Writes, token string) (held store.Record,
	committed bool, err error,
) {
	const op = "commit"
	client, own, err := s.transacts(op, w)
	if err != nil {
		return store.Record{}, false, err
	}
	completes, parts, err := s.update(ctx, op, seen, next)
	if err != nil {
		return store.Record{}, false, err
	}
	t := &transaction{
		store: s, op: op, own: 1, seen: seen,
		in: &dynamodb.TransactWriteItemsInput{
			TransactItems:      slices.Concat([]types.TransactWriteItem{{Update: &completes}}, own),
			ClientRequestToken: aws.String(token),
		},
	}
	err = afterParts(ctx, parts, func(ctx context.Context) error {
		held, committed, err = t.send(ctx, client)
		return err
	})
	return held, committed, err
}

// Apply is one TransactWriteItems, none if there is nothing to write.
func (s *Store) Apply(ctx context.Context, w store.Writes, token string) error {
	const op = "apply"
	client, own, err := s.transacts(op, w)
	if err != nil || len(own) == 0 {
		return err
	}
	t := &transaction{
		store: s, op: op,
		in: &dynamodb.TransactWriteItemsInput{TransactItems: own, ClientRequestToken: aws.String(token)},
	}
	_, _, err = t.send(ctx, client)
	return err
}

// transacts returns what the store needs for transactions, or why it has none.
func (s *Store) transacts(op string, w store.Writes) (transactor, writes, error) {
	if err := s.ready(op); err != nil {
		return nil, nil, err
	}
	client, ok := s.client.(transactor)
	if !ok {
		return nil, nil, noCommit(op, "the client, a %T, has no TransactWriteItems", s.client)
	}
	own, ok := w.(writes)
	if !ok {
		return nil, nil, noCommit(op, "the writes are a %T, which dynamo.Commit has not made", w)
	}
	return client, own, nil
}

func noCommit(op, format string, of any) error {
	return rejected(op, fmt.Errorf("%w: "+format, store.ErrNoCommit, of))
}

// transaction is one call, perhaps of several tries.
type transaction struct {
	store *Store
	op    string
	// own is where the writes of the handler begin: at 1, behind the update of the record, or at 0.
	own  int
	seen store.Record

	in       *dynamodb.TransactWriteItemsInput
	attempts attempts
}

func (t *transaction) send(ctx context.Context, client transactor) (held store.Record, committed bool, err error) {
	_, err = client.TransactWriteItems(ctx, t.in, t.attempts.observe)
	if err == nil {
		return store.Record{}, true, nil
	}
	if reasons, is := t.cancelled(err); is {
		return t.refused(ctx, reasons)
	}
	return store.Record{}, false, t.failed(err)
}

// failed is the error of a transaction that was not cancelled for reasons: it never got that far,
// or nobody knows.
func (t *transaction) failed(err error) error {
	kind, cause := understood(t.attempts.explained(err))
	_, message := answer(err)
	write, named := writeNamedIn(err)
	switch {
	case kind == store.FailureMissingTable:
		cause = fmt.Errorf("one of the tables %s: %w", t.tables(), cause)
	case named && write < len(t.in.TransactItems):
		cause = fmt.Errorf("%s: %w", t.at(write), cause)
	case begins(message, multipleOperations):
		cause = fmt.Errorf("two of the items are one and the same in their table, or one is the record itself: "+
			"a transaction takes one write of an item: %w", cause)
	case aboutTheKey(message):
		cause = fmt.Errorf("one of the tables %s has another key than the items for it: %w", t.tables(), cause)
	}
	return failed(t.op, kind, t.attempts.notApplied(), err, cause)
}

// writeNamedIn returns which write an error is about, if it names one, as DynamoDB does or the SDK.
func writeNamedIn(err error) (write int, named bool) {
	if _, rest, is := strings.Cut(err.Error(), "transactItems."); is {
		number, _, _ := strings.Cut(rest, ".member")
		write, err = strconv.Atoi(number)
		return write - 1, err == nil && write > 0 // it counts from 1
	}
	_, rest, _ := strings.Cut(err.Error(), "TransactItems[")
	number, _, _ := strings.Cut(rest, "]")
	write, err = strconv.Atoi(number)
	return write, err == nil
}

// tables names the tables of the transaction, each once, that of the record first.
func (t *transaction) tables() string {
	var names []string
	for _, w := range t.in.TransactItems {
		_, table := described(w)
		if name := fmt.Sprintf("%q", nameOf(table)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// nameOf is the name of a table, whose ARN may be given.
func nameOf(table string) string { return table[strings.LastIndexByte(table, '/')+1:] }

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

// cancelled returns the reasons for which DynamoDB cancelled the transaction, one for each write,
// in their order. Some implementations of DynamoDB's API send fewer, and programs that pass its
// answers on may send none.
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

// refused turns reasons into the outcome of the call. The record comes first: who has lost it has
// no business with the other writes. Their conditions come before what may pass.
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
	// Old is the item as it was then, nil if there was none, or if the write did not ask for it,
	// see [ReturnOld]. A log that shows the error, also one in JSON, does not show it.
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
