package outbox

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/table"
)

// Index is the name of the index by which [Relay.Drain] finds what is due. It is a global secondary
// index on the attributes outbox_shard (S) and outbox_due (N), that includes created_at. It is
// sparse: only messages that are not done are in it. It costs each message a write unit to enter
// and one to leave. Only Drain and [GivenUp] need it.
const Index = "outbox-index"

// StreamFilter is the pattern of the filter criteria with which the event source mapping of a
// [Relay] on the stream saves invocations: new messages pass, and those that were redriven; marks
// of tries and of deliveries do not. Without it Stream skips them.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html.
const StreamFilter = `{"dynamodb":{"NewImage":{"outbox_due":{"N":[{"exists":true}]},"tries":{"N":[{"exists":false}]}}}}`

// TableDefinition returns the table of an outbox, billed on demand, with its stream and its
// [Index]. Time to live has a call of its own, see [TimeToLiveDefinition].
func TableDefinition(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attributeID), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attributeShard), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attributeDue), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String(attributeID), KeyType: types.KeyTypeHash}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(Index),
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String(attributeShard), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String(attributeDue), KeyType: types.KeyTypeRange},
			},
			Projection: &types.Projection{
				ProjectionType:   types.ProjectionTypeInclude,
				NonKeyAttributes: []string{attributeCreatedAt},
			},
		}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled:  aws.Bool(true),
			StreamViewType: types.StreamViewTypeNewImage,
		},
	}
}

// TimeToLiveDefinition returns the time to live setting that belongs to [TableDefinition]: it
// deletes messages some time after they are done. A message that is not done has no expiration.
func TimeToLiveDefinition(name string) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attributeExpiration), Enabled: aws.Bool(true),
		},
	}
}

// CreateTable creates the table of an outbox, enables its time to live and returns when it is ready
// for use, after five minutes at most. A table that exists is left as it is, except that time to
// live is enabled if it has none. What is then wrong with the table is reported as by [Check]; what
// it lacks is an error here, too. Several processes may create one table at the same time.
//
// It is meant for tests, local use and tools; deployments define the table in their template.
func CreateTable(ctx context.Context, client dynamo.TableCreator, name string) error {
	if err := table.Create(ctx, client, TableDefinition(name), TimeToLiveDefinition(name)); err != nil {
		return err
	}
	advice, err := Check(ctx, client, name)
	if err == nil && len(advice) > 0 {
		err = configError(advice)
	}
	return err
}
