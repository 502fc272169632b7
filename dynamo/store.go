package dynamo

import (
	"context"
	"errors"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
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
// Errors are [*store.UnreadableError] and [*store.Error]; their texts carry no keys and no results.
type Store struct {
	client      Client
	table       string
	attr        *attributes
	inlineLimit int
	plainLimit  int // up to this size in bytes a result stays in the record as it is
	compression bool
	gzip        compressor
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.ResultReader = (*Store)(nil)
	_ store.Committer    = (*Store)(nil)
	_ store.Lister       = (*Store)(nil)
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

// written turns the outcome of a conditional write into that of Claim and Swap.
func (s *Store) written(ctx context.Context, op, key string, a *attempts, err error) (store.Record, bool, error) {
	if err == nil {
		return store.Record{}, true, nil
	}
	old, refused := refusal(err)
	if !refused {
		return store.Record{}, false, s.storeError(op, a.explained(err), a.notApplied())
	}
	held, err := s.refuser(ctx, op, key, a, old)
	return held, false, err
}

// refuser returns the record that refused a write. Some servers do not send it: then it is read.
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

const (
	defaultInlineLimit = 4 << 10
	maxInlineLimit     = 384 << 10 // leaves 16 KB of DynamoDB's 400 KB for the rest of an item
	maxName            = 255       // bytes, of a key attribute; here of all
	maxPartition       = 2048      // bytes, of the value of a partition key
)

// Config adjusts a [Store], and its table. Its zero value is a store of its own, with the defaults.
type Config struct {
	_ struct{} // literals name their fields: more may come

	// InlineLimit is the size in bytes up to which a result is kept in the record itself, after
	// compression; a larger one goes to parts, see the package documentation. Default is 4096, by
	// which a duplicate costs at most 5 write units. At most 393216 (384 KB) are possible; a
	// negative limit keeps no result in the record.
	//
	// It is also the size up to which all steps of a record together are kept in it, with their
	// names and seals: a step for whose result there is no room any more goes to parts.
	//
	// A result that the record's commit does not cover is always kept in the record: parts cannot
	// be verified without it. So is one of another layout than [store.LayoutNative].
	InlineLimit int
	// NoCompression writes results as they are, which the console and other programs can read, for
	// up to seven times the write units. Without it those of [store.LayoutNative] are compressed
	// (gzip) where that saves a write unit, from about 700 bytes on. Every store reads both.
	NoCompression bool

	// Attributes are names of attributes, for a table that AWS Powertools or something else uses.
	// The names of [TableDefinition], [CreateTable] and [Store.Check] follow.
	Attributes Attributes
	// SortKey is the name of the table's sort key, if it has one; Powertools: sort_key_attr. The
	// record key is then the sort key, and all records are in one partition, which takes 1,000
	// write units a second: about 500 first executions.
	SortKey string
	// Partition is the value of the partition key beside a SortKey. Default is that of Powertools
	// (static_pk_value), "idempotency#" and the environment variable AWS_LAMBDA_FUNCTION_NAME.
	Partition string
}

// Attributes are the names of those attributes of a record that AWS Powertools can rename, too. An
// empty name is the default of both. No two may be the same, and none may have more than 255 bytes.
//
// Renaming one on a table with records loses what it held: they are then unreadable, or without
// owner, lease or result.
type Attributes struct {
	_ struct{} // literals name their fields: more may come

	Key        string // the partition key, "id"; Powertools: key_attr
	Status     string // "status"; Powertools: status_attr
	Expiration string // "expiration", for the table's time to live; Powertools: expiry_attr
	Lease      string // "in_progress_expiration"; Powertools: in_progress_expiry_attr
	Data       string // "data", the result; Powertools: data_attr
	Validation string // "validation", the fingerprint; Powertools: validation_key_attr
}

// configOf returns the configuration and the attributes that it makes. What is wrong is noted.
func configOf(given []Config, p *setup.Problems) (c Config, a *attributes) {
	c = setup.One(p, given)
	p.Addf(c.InlineLimit > maxInlineLimit, "InlineLimit: %d is more than %d bytes", c.InlineLimit, maxInlineLimit)
	switch {
	case c.InlineLimit == 0:
		c.InlineLimit = defaultInlineLimit
	case c.InlineLimit < 0:
		c.InlineLimit = 0
	}
	p.Addf(c.Partition != "" && c.SortKey == "", "Partition: there is no SortKey")
	return c, c.attributes(p)
}

func attributesOf(given []Config) *attributes {
	p := setup.Of("dynamo")
	_, a := configOf(given, p)
	p.Panic()
	return a
}

// attributes finds names that DynamoDB does not take, and those that two attributes have.
func (c Config) attributes(p *setup.Problems) *attributes {
	a := defaultAttributes()
	for _, r := range []struct {
		at   *attribute
		name string
	}{
		{&a.id, c.Attributes.Key},
		{&a.status, c.Attributes.Status},
		{&a.expiration, c.Attributes.Expiration},
		{&a.lease, c.Attributes.Lease},
		{&a.data, c.Attributes.Data},
		{&a.validation, c.Attributes.Validation},
		{&a.sort, c.SortKey},
	} {
		if r.name != "" {
			r.at.name = r.name
		}
	}
	if a.composite() {
		a.partition = c.Partition
		if a.partition == "" {
			a.partition = "idempotency#" + os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
		}
	}
	p.Addf(len(a.partition) > maxPartition || !utf8.ValidString(a.partition),
		"Partition: %d bytes are not UTF-8 of at most %d", len(a.partition), maxPartition)
	taken := make(map[string]string)
	for _, at := range a.all() {
		p.Addf(len(at.name) > maxName || !utf8.ValidString(at.name),
			"the name %q of the attribute %s is not UTF-8 of at most %d bytes", at.name, at.role(), maxName)
		other, is := taken[at.name]
		p.Addf(is, "the attributes %s and %s have one name, %q", other, at.role(), at.name)
		taken[at.name] = at.role()
		p.Addf(strings.HasPrefix(at.name, stepPrefix),
			"the name %q of the attribute %s begins with %q, as those of steps do", at.name, at.role(), stepPrefix)
	}
	return a
}

// isTable accepts what DynamoDB does, see
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html#DDB-PutItem-request-TableName.
// Compiling a regular expression takes longer than all else that this module does at a start.
func isTable(name string) bool {
	if a, err := arn.Parse(name); err == nil {
		table, isTable := strings.CutPrefix(a.Resource, "table/")
		return isTable && only(lower, a.Partition) && a.Service == "dynamodb" && only(lower, a.Region) &&
			len(a.AccountID) == 12 && only(digits, a.AccountID) && isTableName(table)
	}
	return isTableName(name)
}

func isTableName(s string) bool { return len(s) >= 3 && len(s) <= 255 && only(letters, s) }

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz-" + digits
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ_."
)

// only reports whether s is not empty and made of these characters.
func only(characters, s string) bool { return s != "" && strings.Trim(s, characters) == "" }
