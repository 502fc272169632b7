package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/table"
	"github.com/go-idempotent/idempotent/store"
)

// Index is the name of the index that [Relay.Drain] and [GivenUp] need: a global secondary index on
// the attributes outbox_shard (S) and outbox_due (N), that includes created_at. Only messages that
// are not done are in it. It costs each a write unit to enter and one to leave.
const Index = "outbox-index"

// StreamFilter is the pattern of the filter criteria with which the event source mapping of
// [Relay.Stream] saves invocations. New and redriven messages pass. Marks of relays do not.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html.
const StreamFilter = `{"dynamodb":{"NewImage":{"outbox_due":{"N":[{"exists":true}]},"tries":{"N":[{"exists":false}]}}}}`

// TableDefinition returns the table of an outbox, billed on demand, with its stream and its
// [Index]. Time to live has a call of its own, see [TimeToLiveDefinition].
func TableDefinition(name string) *dynamodb.CreateTableInput {
	in := table.Definition(name, []string{attributeID}, Index, [2]string{attributeShard, attributeDue},
		attributeCreatedAt)
	in.StreamSpecification = &types.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage,
	}
	return in
}

// TimeToLiveDefinition returns the time to live setting of an outbox, which deletes messages some
// time after they are done. A message that is not done has no expiration.
func TimeToLiveDefinition(name string) *dynamodb.UpdateTimeToLiveInput {
	return table.TimeToLive(name, attributeExpiration)
}

// CreateTable creates the table of an outbox, enables its time to live and returns when it is ready
// for use, after five minutes at most. A table that exists is left as it is, except that time to
// live is enabled if it has none; what [Check] then says of it is an error. Several processes may
// create one table at the same time.
//
// It is meant for tests, local use and tools; deployments define the table in their template.
func CreateTable(ctx context.Context, client dynamo.TableCreator, name string) error {
	if err := table.Create(ctx, client, TableDefinition(name), TimeToLiveDefinition(name)); err != nil {
		return err
	}
	advice, err := Check(ctx, client, name)
	if len(advice) > 0 {
		err = &store.ConfigError{Problems: advice}
	}
	return err
}

// Check compares a table with what an outbox needs. It is meant for deployments and for the start
// of a process, and needs the IAM actions dynamodb:DescribeTable and dynamodb:DescribeTimeToLive.
//
// The advice is what the table lacks that not everybody needs, in sentences: a stream, without
// which [Relay.Stream] gets nothing; the [Index], without which [Relay.Drain] finds nothing; time
// to live, without which messages that are done stay.
//
// What is wrong with a table is a [*store.ConfigError] with all problems. To lack both stream and
// index is one, because nothing ever leaves. Other errors are those of the client.
func Check(ctx context.Context, client dynamo.Describer, name string) (advice []string, err error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		return nil, fmt.Errorf("outbox: describe table %q: %w", name, err)
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return nil, fmt.Errorf("outbox: describe time to live of table %q: %w", name, err)
	}
	want := TableDefinition(name)
	problems := slices.Concat(table.Status(out.Table), table.Compare(out.Table, want))
	if table.Strong(out.Table) {
		problems = append(problems,
			"it has multi-Region strong consistency, and so no transactions: nothing can be committed into it")
	}
	stream := streamProblem(out.Table)
	index := table.CompareIndex(out.Table, want.GlobalSecondaryIndexes[0], "a drain finds nothing")
	if len(stream) > 0 && len(index) > 0 {
		problems = append(problems, "nothing delivers its messages: "+strings.Join(append(stream, index...), ", and "))
	}
	if len(problems) > 0 {
		return nil, &store.ConfigError{Problems: table.Of("table", name, problems)}
	}
	advice = slices.Concat(stream, index, table.CompareTimeToLive(ttl.TimeToLiveDescription, attributeExpiration))
	return table.Of("table", name, advice), nil
}

func streamProblem(t *types.TableDescription) []string {
	switch s := t.StreamSpecification; {
	case s == nil || !aws.ToBool(s.StreamEnabled):
		return []string{"it has no stream: a relay gets no messages from it"}
	case s.StreamViewType != types.StreamViewTypeNewImage && s.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return []string{fmt.Sprintf(
			"its stream has the view type %s, without new images: a relay gets no messages from it", s.StreamViewType)}
	default:
		return nil
	}
}
