package outbox

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/table"
	"github.com/go-idempotent/idempotent/store"
)

// Check compares a table with what an outbox needs. It is meant for deployments and for the start
// of a process, and needs the IAM actions dynamodb:DescribeTable and dynamodb:DescribeTimeToLive.
//
// The advice is what the table lacks that not everybody needs, in sentences: a stream, without
// which [Relay.Stream] gets nothing; the [Index], without which [Relay.Drain] finds nothing; time
// to live, without which messages that are done stay. A table that lacks both of the first is an
// error, because nothing ever leaves it.
//
// What is wrong with a table is a [*store.ConfigError] with all problems. Other errors are those of
// the client.
func Check(ctx context.Context, client dynamo.Describer, table string) (advice []string, err error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		return nil, fmt.Errorf("outbox: describe table %q: %w", table, err)
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table)})
	if err != nil {
		return nil, fmt.Errorf("outbox: describe time to live of table %q: %w", table, err)
	}
	want := TableDefinition(table)
	problems := tableProblems(out.Table, want)
	stream, index := streamProblem(out.Table), indexProblem(out.Table, want.GlobalSecondaryIndexes[0].KeySchema)
	if stream != "" && index != "" {
		problems = append(problems, "nothing delivers its messages: "+stream+", and "+index)
	}
	if len(problems) > 0 {
		return nil, configError(ofTable(table, problems))
	}
	for _, lacks := range []string{stream, index, timeToLiveProblem(ttl.TimeToLiveDescription)} {
		if lacks != "" {
			advice = append(advice, lacks)
		}
	}
	return ofTable(table, advice), nil
}

func configError(problems []string) error { return &store.ConfigError{Problems: problems} }

// ofTable puts the name of the table before each sentence.
func ofTable(table string, sentences []string) []string {
	for i, s := range sentences {
		sentences[i] = fmt.Sprintf("table %q: %s", table, s)
	}
	return sentences
}

// tableProblems says why no commit can put a message into a table.
func tableProblems(t *types.TableDescription, want *dynamodb.CreateTableInput) (problems []string) {
	if !table.Usable(t) {
		problems = append(problems, fmt.Sprintf("status is %s, not %s", t.TableStatus, types.TableStatusActive))
	}
	if t.MultiRegionConsistency == types.MultiRegionConsistencyStrong {
		problems = append(problems,
			"it has multi-Region strong consistency, and so no transactions: nothing can be committed into it")
	}
	if !reflect.DeepEqual(t.KeySchema, want.KeySchema) {
		problems = append(problems, fmt.Sprintf("its key is not the partition key %q alone", attributeID))
	}
	for _, d := range want.AttributeDefinitions {
		for _, has := range t.AttributeDefinitions { // DynamoDB refuses an item that an index cannot take
			if aws.ToString(has.AttributeName) == *d.AttributeName && has.AttributeType != d.AttributeType {
				problems = append(problems, fmt.Sprintf("attribute %q has type %s in a key, expected %s",
					*d.AttributeName, has.AttributeType, d.AttributeType))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// streamProblem says why the stream hands over no messages.
func streamProblem(t *types.TableDescription) string {
	switch s := t.StreamSpecification; {
	case s == nil || !aws.ToBool(s.StreamEnabled):
		return "it has no stream: a relay gets no messages from it"
	case s.StreamViewType != types.StreamViewTypeNewImage && s.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return fmt.Sprintf("its stream has the view type %s, without new images: a relay gets no messages from it",
			s.StreamViewType)
	default:
		return ""
	}
}

// indexProblem says why a drain finds no messages.
func indexProblem(t *types.TableDescription, key []types.KeySchemaElement) string {
	at := slices.IndexFunc(t.GlobalSecondaryIndexes, func(g types.GlobalSecondaryIndexDescription) bool {
		return aws.ToString(g.IndexName) == Index
	})
	if at < 0 {
		return fmt.Sprintf("it has no index %q: a drain finds nothing in it", Index)
	}
	g := t.GlobalSecondaryIndexes[at]
	switch {
	case g.IndexStatus != types.IndexStatusActive && g.IndexStatus != types.IndexStatusUpdating:
		return fmt.Sprintf("its index %q has the status %s, not %s", Index, g.IndexStatus, types.IndexStatusActive)
	case !reflect.DeepEqual(g.KeySchema, key):
		return fmt.Sprintf("its index %q has not the partition key %q and the sort key %q", Index,
			attributeShard, attributeDue)
	case g.Projection == nil || g.Projection.ProjectionType != types.ProjectionTypeAll &&
		!slices.Contains(g.Projection.NonKeyAttributes, attributeCreatedAt):
		return fmt.Sprintf("its index %q does not include %q", Index, attributeCreatedAt)
	default:
		return ""
	}
}

func timeToLiveProblem(ttl *types.TimeToLiveDescription) string {
	on := ttl != nil && (ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabled ||
		ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
	switch {
	case !on:
		return "it has no time to live: messages that are done stay in it"
	case aws.ToString(ttl.AttributeName) != attributeExpiration:
		return fmt.Sprintf("its time to live is on %q, not on %q: messages that are done stay in it",
			aws.ToString(ttl.AttributeName), attributeExpiration)
	default:
		return ""
	}
}
