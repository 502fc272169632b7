package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

var _ store.Committer = (*Store)(nil)

// What DynamoDB answers to a transaction, and to nothing else.
const (
	codeCancelled  = "TransactionCanceledException"
	codeInProgress = "TransactionInProgressException"
	codeMismatch   = "IdempotentParameterMismatchException"
)

// Commit is one TransactWriteItems: first the update that completes the record, which is that of a [Store.Swap], then the writes.
// Parts of a large result precede it. The record that refuses comes with the answer; else a GetItem reads it.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
func (s *Store) Commit(ctx context.Context, seen, next store.Record, w store.Writes, token string) (held store.Record, committed bool, err error) {
	const op = "commit"
	client, own, err := s.transacts(op, w)
	if err != nil {
		return store.Record{}, false, err
	}
	if err := s.checkWrites(own, seen.Key); err != nil {
		return store.Record{}, false, noCommit(op, err)
	}
	e, parts, err := s.change(ctx, op, seen, next)
	if err != nil {
		return store.Record{}, false, err
	}
	completes := &types.Update{
		TableName:                           aws.String(s.table),
		Key:                                 s.attr.key(seen.Key),
		ConditionExpression:                 aws.String(e.condition),
		UpdateExpression:                    e.update(),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	record, err := writeOf(types.TransactWriteItem{Update: completes})
	if err != nil {
		return store.Record{}, false, noCommit(op, err)
	}
	if size := record.size() + own.size; size > maxTransaction {
		return store.Record{}, false, noCommit(op, tooLargeTogether(size))
	}
	t := &transaction{
		store: s, op: op, writes: own, record: &record, key: seen.Key, seen: seen,
		in: &dynamodb.TransactWriteItemsInput{
			TransactItems:      slices.Concat([]types.TransactWriteItem{{Update: completes}}, own.items),
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
	if err != nil || len(own.items) == 0 {
		return err
	}
	t := &transaction{
		store: s, op: op, writes: own,
		in: &dynamodb.TransactWriteItemsInput{TransactItems: own.items, ClientRequestToken: aws.String(token)},
	}
	_, _, err = t.send(ctx, client)
	return err
}

// transacts returns what the store needs for transactions, or why it has none.
func (s *Store) transacts(op string, w store.Writes) (Transactor, *writes, error) {
	if err := s.ready(op); err != nil {
		return nil, nil, err
	}
	client, ok := s.client.(Transactor)
	if !ok {
		return nil, nil, noCommit(op, fmt.Errorf("the client, a %T, has no TransactWriteItems", s.client))
	}
	own, ok := w.(*writes)
	if !ok || own == nil {
		return nil, nil, noCommit(op, fmt.Errorf("the writes are a %T, which dynamo.Commit has not made", w))
	}
	return client, own, nil
}

// checkWrites finds what no transaction with this record can do.
func (s *Store) checkWrites(w *writes, recordKey string) error {
	key := s.attr.key(recordKey)
	for i, of := range w.each {
		if of.about(s.table, key) {
			return fmt.Errorf("%s is about the record of this execution, which the commit completes", of.at(i))
		}
	}
	return w.checkPlaces(s.table)
}

// noCommit is the error of a transaction that was not begun.
func noCommit(op string, err error) error {
	return &store.Error{Op: op, Kind: store.FailureRejected, NotApplied: nothingWritten, Err: &noCommitError{err}}
}

// noCommitError says in its own words what [store.ErrNoCommit] says.
type noCommitError struct{ err error }

func (e *noCommitError) Error() string { return e.err.Error() }

func (e *noCommitError) Is(target error) bool { return target == store.ErrNoCommit }

func (e *noCommitError) Unwrap() error { return e.err }

// transaction is one call, perhaps of several tries.
type transaction struct {
	store  *Store
	op     string
	writes *writes
	// record is the write that completes the record with this key, nil if there is none. It comes before the others.
	record *write
	key    string
	seen   store.Record

	in       *dynamodb.TransactWriteItemsInput
	attempts attempts
}

func (t *transaction) send(ctx context.Context, client Transactor) (held store.Record, committed bool, err error) {
	_, err = client.TransactWriteItems(ctx, t.in, t.attempts.observe)
	if err == nil {
		return store.Record{}, true, nil
	}
	if reasons, is := t.cancelled(err); is {
		return t.refused(ctx, reasons)
	}
	return store.Record{}, false, t.failed(err)
}
