package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/table"
)

// TableCreator is what [CreateTable] needs of a client, and that of package outbox;
// [*dynamodb.Client] implements it.
type TableCreator interface {
	Describer
	CreateTable(ctx context.Context, in *dynamodb.CreateTableInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// AttentionIndex is the name of the index that finds the records which somebody has to settle, see
// [Store.List]. It is a global secondary index on the attributes attention (S) and attention_at
// (N), or what they are renamed to, that includes status, reason and attempt: nothing that a step
// or a renewal writes. It is sparse. Records of a handler that simply executes again after a crash
// have the two attributes only where somebody has to settle them; those of a handler that refuses
// crashed executions, or has a resolver, from their claim on. Each entry costs about a write unit
// to enter and one to leave. A store needs no index to protect requests.
const AttentionIndex = "attention-index"

// TableDefinition returns the table that a store of this configuration needs, billed on demand,
// with its [AttentionIndex]. Time to live has a call of its own, see [TimeToLiveDefinition]. Like
// [New] it panics with a [*store.ConfigError].
func TableDefinition(name string, config ...Config) *dynamodb.CreateTableInput {
	return attributesOf(config).definition(name)
}

func (a *attributes) definition(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{a.index()},
	}
	define := func(at attribute, is types.ScalarAttributeType) {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(at.name), AttributeType: is})
	}
	define(a.id, types.ScalarAttributeTypeS)
	in.KeySchema = append(in.KeySchema, keyPart(a.id, types.KeyTypeHash))
	if a.composite() {
		define(a.sort, types.ScalarAttributeTypeS)
		in.KeySchema = append(in.KeySchema, keyPart(a.sort, types.KeyTypeRange))
	}
	define(a.attention, types.ScalarAttributeTypeS)
	define(a.attentionAt, types.ScalarAttributeTypeN)
	return in
}

func keyPart(at attribute, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: aws.String(at.name), KeyType: kind}
}

// index is the index of the records with attention.
func (a *attributes) index() types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName: aws.String(AttentionIndex),
		KeySchema: []types.KeySchemaElement{
			keyPart(a.attention, types.KeyTypeHash),
			keyPart(a.attentionAt, types.KeyTypeRange),
		},
		Projection: &types.Projection{
			ProjectionType:   types.ProjectionTypeInclude,
			NonKeyAttributes: []string{a.status.name, a.reason.name, a.attempt.name},
		},
	}
}

// TimeToLiveDefinition returns the time to live setting that belongs to [TableDefinition].
func TimeToLiveDefinition(name string, config ...Config) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attributesOf(config).expiration.name),
			Enabled:       aws.Bool(true),
		},
	}
}

// CreateTable creates the table with its [AttentionIndex], enables its time to live and returns
// when it is ready for use, after five minutes at most. A table that exists is left as it is,
// except that time to live is enabled if it has none. What is then wrong with the table is reported
// as by [Store.Check]. Several processes may create one table at the same time.
//
// The configuration is that of the store, which may change the names of attributes and the key; the
// rest of it means nothing here.
//
// It is meant for tests, local use and tools; deployments define the table in their template.
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
// no others. Allow them for keys of its operation only: the condition key dynamodb:LeadingKeys is
// like "<operation>#*".
//
// BatchGetItem and BatchWriteItem serve results larger than the inline limit. A handler that
// commits needs the actions of what it writes, too, each on its own table, see [Commit].
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
