package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/store"
)

// Client is what the store needs of a DynamoDB client. [*dynamodb.Client] implements it, and so can
// an instrumented one; it has to be safe for concurrent use. A client that passes the options on
// lets the store see the attempts of a call.
type Client interface {
	PutItem(ctx context.Context, in *dynamodb.PutItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(ctx context.Context, in *dynamodb.GetItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// Store is a [store.Store] on a DynamoDB table. Make one with [New]; every method of the zero value
// returns an error. It is safe for concurrent use, and one store serves any number of handlers.
//
// Errors are [*store.UnreadableError] and [*store.Error]; their texts carry neither keys nor
// results.
type Store struct {
	client      Client
	table       string
	attr        *attributes
	inlineLimit int
	// plainLimit is the size in bytes up to which a result stays in the record as it is, without
	// another look.
	plainLimit  int
	compression bool
	gzip        compressor
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.ResultReader = (*Store)(nil)
)

// New returns a store on the table, given by its name or ARN. It sends nothing; see [Store.Check].
//
// It panics with a [*store.ConfigError] that names every problem of the configuration.
func New(client Client, table string, config ...Config) *Store {
	p := setup.Of("dynamo.New")
	p.Addf(setup.IsNil(client), "the client is nil")
	p.Addf(!isTable(table), "table %q is not the name or ARN of a DynamoDB table", table)
	c, attr := configOf(config, p)
	p.Panic()
	s := &Store{
		client: client, table: table, attr: attr,
		inlineLimit: c.InlineLimit, plainLimit: c.InlineLimit, compression: !c.NoCompression,
	}
	if s.compression {
		s.plainLimit = min(s.plainLimit, oneUnit)
	}
	return s
}

var errUnmade = errors.New("dynamo.New has not made this Store: its zero value is not usable")

// ready is the error of a call of a Store that New has not made.
func (s *Store) ready(op string) error {
	if s == nil || s.client == nil {
		return rejected(op, errUnmade)
	}
	return nil
}

// Get reads the record with one consistent GetItem.
func (s *Store) Get(ctx context.Context, key string) (r store.Record, found bool, err error) {
	return s.get(ctx, "get", key)
}

func (s *Store) get(ctx context.Context, op, key string) (r store.Record, found bool, err error) {
	if err := s.ready(op); err != nil {
		return store.Record{}, false, err
	}
	var a attempts
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(s.table),
		Key:            s.attr.key(key),
		ConsistentRead: aws.Bool(true),
	}, a.observe)
	if err != nil {
		return store.Record{}, false, s.storeError(op, a.explained(err), nothingWritten)
	}
	if len(out.Item) == 0 {
		return store.Record{}, false, nil
	}
	r, err = s.decode(key, out.Item)
	return r, err == nil, err
}

// written turns the outcome of a conditional write into that of Claim and Swap. The record that
// refused it comes with the refusal, or is read: some implementations of DynamoDB's API do not send
// it.
func (s *Store) written(ctx context.Context, op, key string, a *attempts, err error) (held store.Record,
	applied bool, _ error,
) {
	if err == nil {
		return store.Record{}, true, nil
	}
	old, refused := refusal(err)
	if !refused {
		return store.Record{}, false, s.storeError(op, a.explained(err), a.notApplied())
	}
	held, err = s.refuser(ctx, op, key, a, old)
	return held, false, err
}

// refuser returns the record that refused a write: as the server sent it, else as it is read.
func (s *Store) refuser(ctx context.Context, op, key string, a *attempts, old item) (store.Record, error) {
	if len(old) > 0 {
		return s.decode(key, old)
	}
	held, _, err := s.get(ctx, op, key)
	if se, ok := errors.AsType[*store.Error](err); ok {
		// The read wrote nothing, but an earlier attempt of the write may have.
		se.NotApplied = a.notApplied()
	}
	return held, err
}
