package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/table"
	"github.com/go-idempotent/idempotent/store"
)

// TableCreator is the part of [*dynamodb.Client] that [CreateTable] needs, also in package outbox.
type TableCreator interface {
	Describer
	CreateTable(ctx context.Context, in *dynamodb.CreateTableInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// AttentionIndex is the name of the index that finds the records which somebody has to settle, see
// [Store.List]. It is a global secondary index on the attributes attention (S) and attention_at (N)
// that includes status, reason and attempt: nothing that a step or a renewal writes. It is sparse.
// Records of a handler that executes again after a crash have the two attributes only where
// somebody has to settle them; those of a handler that refuses crashed executions, or has a
// resolver, from their claim on. Each entry costs about a write unit to enter and one to leave.
const AttentionIndex = "attention-index"

// TableDefinition returns the table that a store of this configuration needs, billed on demand,
// with its [AttentionIndex]. Time to live has a call of its own, see [TimeToLiveDefinition]. Like
// [New] it panics with a [*store.ConfigError].
func TableDefinition(name string, config ...Config) *dynamodb.CreateTableInput {
	return attributesOf(config).definition(name)
}

func (a *attributes) definition(name string) *dynamodb.CreateTableInput {
	key := []string{a.id.name}
	if a.composite() {
		key = append(key, a.sort.name)
	}
	return table.Definition(name, key, AttentionIndex, [2]string{a.attention.name, a.attentionAt.name},
		a.status.name, a.reason.name, a.attempt.name)
}

// TimeToLiveDefinition returns the time to live setting that belongs to [TableDefinition].
func TimeToLiveDefinition(name string, config ...Config) *dynamodb.UpdateTimeToLiveInput {
	return table.TimeToLive(name, attributesOf(config).expiration.name)
}

// CreateTable creates the table with its [AttentionIndex], enables its time to live and returns
// when it is ready for use, after five minutes at most. A table that exists is left as it is,
// except that time to live is enabled if it has none. What is then wrong with the table is reported
// as by [Store.Check]. Several processes may create one table at the same time.
//
// The configuration is that of the store: names of attributes and the key count here. CreateTable
// needs the IAM actions of Check, dynamodb:CreateTable and dynamodb:UpdateTimeToLive. It is meant
// for tests, local use and tools; deployments define the table in their template.
func CreateTable(ctx context.Context, client TableCreator, name string, config ...Config) error {
	a := attributesOf(config)
	err := table.Create(ctx, client, a.definition(name), TimeToLiveDefinition(name, config...))
	if err != nil {
		return err
	}
	c := checker{Describer: client}
	c.checkRecords(ctx, name, a)
	return c.result()
}

// Actions returns the IAM actions that a function needs on the table of its records, in order, and
// no others; a [Commit] needs those of what it writes, too. Allow them for keys of its operation
// only: the condition key dynamodb:LeadingKeys is like "<operation>#*".
func Actions() []string {
	return []string{
		"dynamodb:BatchGetItem",
		"dynamodb:BatchWriteItem",
		"dynamodb:DeleteItem",
		"dynamodb:GetItem",
		"dynamodb:PutItem",
		"dynamodb:UpdateItem",
	}
}

// Describer is what [Store.Check] needs of a client beyond [Client], and Check of package outbox;
// [*dynamodb.Client] implements it.
type Describer interface {
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Check compares the table with its [TableDefinition]. It is meant for deployments and for the
// start of a process, not for the request path, and needs the IAM actions dynamodb:DescribeTable
// and dynamodb:DescribeTimeToLive.
//
// The tables, by name or ARN, are those into which handlers [Commit]: each has to be there, ready,
// in the account and Region of the table of the store. All of them have to have transactions, which
// a table with multi-Region strong consistency has not. It needs dynamodb:DescribeTable on them.
//
// What is wrong with a table is a [*store.ConfigError] with all problems. A table without the
// [AttentionIndex] is right, and so is one with multi-Region strong consistency without time to
// live, which it cannot have: of both [Store.Advise] tells. A table that cannot be looked at is a
// [*store.Error] with Op "check": Kind is FailureMissingTable if there is none, FailureAccessDenied
// if one of the two actions is not allowed, in which case nothing is said about the request path.
func (s *Store) Check(ctx context.Context, tables ...string) error {
	d, err := s.describer()
	if err != nil {
		return err
	}
	c := checker{Describer: d, commits: len(tables) > 0}
	c.checkRecords(ctx, s.table, s.attr)
	if _, ok := s.client.(transactor); !ok && c.commits {
		c.problems = append(c.problems,
			fmt.Sprintf("client %T has no TransactWriteItems: there is no commit with it", s.client))
	}
	for _, name := range tables {
		c.checkCommitted(ctx, name)
	}
	return c.result()
}

func (s *Store) describer() (Describer, error) {
	if s.ready("check") != nil {
		return nil, &store.ConfigError{Problems: []string{errUnmade.Error()}}
	}
	d, ok := s.client.(Describer)
	if !ok {
		return nil, &store.ConfigError{Problems: []string{fmt.Sprintf(
			"table %q cannot be checked: client %T has no DescribeTable and DescribeTimeToLive", s.table, s.client)}}
	}
	return d, nil
}

// checker looks at tables and collects what is wrong with them.
type checker struct {
	Describer

	commits  bool    // handlers commit
	records  arn.ARN // of their table, empty if it is not known
	problems []string
	errs     []error
}

func (c *checker) result() error {
	if len(c.problems) > 0 {
		c.errs = slices.Insert(c.errs, 0, error(&store.ConfigError{Problems: c.problems}))
	}
	return errors.Join(c.errs...)
}

func (c *checker) found(name string, problems ...string) {
	c.problems = append(c.problems, table.Of("table", name, problems)...)
}

func (c *checker) checkRecords(ctx context.Context, name string, a *attributes) {
	t := c.describe(ctx, name, false)
	if t == nil {
		return
	}
	c.records, _ = arn.Parse(aws.ToString(t.TableArn))
	c.found(name, table.Compare(t, a.definition(name))...)
	if c.commits && table.Strong(t) {
		c.found(name, "it has multi-Region strong consistency, and so no transactions: no handler can commit")
	}
	if table.Strong(t) {
		return // it can have no time to live, see Advise
	}
	ttl, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		c.errs = append(c.errs, checkError("DescribeTimeToLive", name, err))
		return
	}
	c.found(name, table.CompareTimeToLive(ttl.TimeToLiveDescription, a.expiration.name)...)
}

func (c *checker) checkCommitted(ctx context.Context, name string) {
	if !isTable(name) {
		c.found(name, "that is not the name or ARN of a DynamoDB table")
		return
	}
	t := c.describe(ctx, name, true)
	if t == nil {
		return
	}
	if table.Strong(t) {
		c.found(name, "it has multi-Region strong consistency, and so no transactions: nothing can be committed into it")
	}
	at, err := arn.Parse(aws.ToString(t.TableArn))
	known := err == nil && c.records.AccountID != ""
	if known && (at.Region != c.records.Region || at.AccountID != c.records.AccountID) {
		c.found(name, "it is in another account or Region than the table of records, and no transaction spans two")
	}
}

// describe returns nil if it cannot look at a table. That there is none is a problem like any other
// among the tables that are committed into.
func (c *checker) describe(ctx context.Context, name string, committed bool) *types.TableDescription {
	out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	switch {
	case missing && committed:
		c.found(name, "there is none in this account and Region")
	case err != nil:
		c.errs = append(c.errs, checkError("DescribeTable", name, err))
	default:
		c.found(name, table.Status(out.Table)...)
		return out.Table
	}
	return nil
}

// Advise says, in sentences, what the table lacks that no request needs: the [AttentionIndex],
// without which operators have to read the whole table, and time to live where it has multi-Region
// strong consistency, without which [Store.DeleteExpired] has to delete what has expired. It needs
// the IAM action dynamodb:DescribeTable; errors are those of [Store.Check].
func (s *Store) Advise(ctx context.Context) ([]string, error) {
	d, err := s.describer()
	if err != nil {
		return nil, err
	}
	out, err := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(s.table)})
	if err != nil {
		return nil, checkError("DescribeTable", s.table, err)
	}
	advice := table.CompareIndex(out.Table, s.attr.definition(s.table).GlobalSecondaryIndexes[0],
		"to find what somebody has to settle, the whole table has to be read")
	if table.Strong(out.Table) {
		advice = append(advice,
			"it has multi-Region strong consistency, and so no time to live: what has expired stays until "+
				"DeleteExpired deletes it")
	}
	return table.Of("table", s.table, advice), nil
}

func checkError(call, table string, err error) error {
	kind, cause := speakable(err)
	return unwritten("check", kind, fmt.Errorf("%s of table %q: %w", call, table, cause))
}
