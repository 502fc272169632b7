package dynamo

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// failed is the error of a transaction that was not cancelled for reasons: it never got that far, or
// nobody knows.
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

// writeIn is how DynamoDB names a write that it rejects, counted from 1, and how the SDK does, from
// 0. It is compiled where it is needed, and not at the start of each process.
var writeIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`transactItems\.(\d+)\.member|TransactItems\[(\d+)\]`)
})

// writeNamedIn returns which write an error is about, if it names one.
func writeNamedIn(err error) (write int, named bool) {
	found := writeIn().FindStringSubmatch(err.Error())
	if found == nil {
		return 0, false
	}
	write, err = strconv.Atoi(found[1] + found[2])
	if found[1] != "" {
		write--
	}
	return write, err == nil && write >= 0
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
