package outbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/configtest"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestCreateTableMakesWhatCheckWants(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	advice, err := outbox.Check(t.Context(), p.client, p.table)
	require.NoError(t, err)
	require.Empty(t, advice)
	require.NoError(t, outbox.CreateTable(t.Context(), p.client, p.table), "a table that exists is left as it is")
	ttl, err := p.client.DescribeTimeToLive(t.Context(),
		&dynamodb.DescribeTimeToLiveInput{TableName: aws.String(p.table)})
	require.NoError(t, err)
	require.Equal(t, "expiration", *ttl.TimeToLiveDescription.AttributeName)
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	const (
		noStream = "it has no stream: a relay gets no messages from it"
		noIndex  = `it has no index "outbox-index": a drain finds nothing in it`
		noTTL    = "it has no time to live: messages that are done stay in it"
	)
	for name, c := range map[string]struct {
		change   func(in *dynamodb.CreateTableInput)
		advice   []string // and that it has no time to live
		problems []string
	}{
		"no time to live": {change: func(*dynamodb.CreateTableInput) {}},
		"no stream": {func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification = nil
		}, []string{noStream}, nil},
		"a stream of keys": {func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
		}, []string{"its stream has the view type KEYS_ONLY, without new images: a relay gets no messages from it"}, nil},
		"both images": {change: func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification.StreamViewType = types.StreamViewTypeNewAndOldImages
		}},
		"no index": {noIndexIn, []string{noIndex}, nil},
		"an index without what it includes": {func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		}, []string{`its index "outbox-index" does not include "created_at"`}, nil},
		"an index of everything": {change: func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll}
		}},
		"an index with another key": {func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].KeySchema[1].AttributeName = aws.String("later")
			in.AttributeDefinitions[2].AttributeName = aws.String("later")
		}, []string{
			`its index "outbox-index" has not the partition key "outbox_shard" and the sort key "outbox_due"`,
		}, nil},
		"nothing delivers": {func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification = nil
			noIndexIn(in)
		}, nil, []string{"nothing delivers its messages: " + noStream + ", and " + noIndex}},
		"a sort key, and another type": {func(in *dynamodb.CreateTableInput) {
			in.KeySchema = append(in.KeySchema,
				types.KeySchemaElement{AttributeName: aws.String("outbox_due"), KeyType: types.KeyTypeRange})
			in.AttributeDefinitions[2].AttributeType = types.ScalarAttributeTypeS
		}, nil, []string{
			`attribute "outbox_due" has type S in a key, expected N`, `its key is not the partition key "id" alone`,
		}},
		"another key": {func(in *dynamodb.CreateTableInput) {
			in.KeySchema[0].AttributeName = aws.String("pk")
			in.AttributeDefinitions[0].AttributeName = aws.String("pk")
		}, nil, []string{`its key is not the partition key "id" alone`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := outbox.TableDefinition("outbox-test-" + rand.Text())
			c.change(in)
			_, err := client.CreateTable(t.Context(), in)
			require.NoError(t, err)
			dynamolocal.DropAfter(t, client, *in.TableName)
			advice, err := outbox.Check(t.Context(), client, *in.TableName)
			if c.problems == nil {
				require.NoError(t, err)
				require.Equal(t, ofTable(*in.TableName, append(c.advice, noTTL)), advice)
				return
			}
			require.Empty(t, advice)
			require.Equal(t, ofTable(*in.TableName, c.problems), problemsOf(t, err))
		})
	}
	_, err := outbox.Check(t.Context(), client, "no-such-table")
	require.ErrorAs(t, err, new(*types.ResourceNotFoundException))
}

// TestCheckOfWhatATableIsOnlyOnAWS: DynamoDB Local never describes one so.
func TestCheckOfWhatATableIsOnlyOnAWS(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	index := func(d *types.TableDescription) *types.GlobalSecondaryIndexDescription {
		return &d.GlobalSecondaryIndexes[0]
	}
	table := func(change func(d *types.TableDescription)) func(*dynamodb.Options) {
		return dynamolocal.After(func(out *dynamodb.DescribeTableOutput) { change(out.Table) })
	}
	ttl := dynamolocal.After[dynamodb.DescribeTimeToLiveOutput]
	for name, c := range map[string]struct {
		described       func(*dynamodb.Options)
		advice, problem string
	}{
		"updating": {table(func(d *types.TableDescription) {
			d.TableStatus, index(d).IndexStatus = types.TableStatusUpdating, types.IndexStatusUpdating
		}), "", ""},
		"another index": {table(func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes = append([]types.GlobalSecondaryIndexDescription{{
				IndexName: aws.String("by-topic"), IndexStatus: types.IndexStatusCreating,
			}}, d.GlobalSecondaryIndexes...)
		}), "", ""},
		"deleting": {
			table(func(d *types.TableDescription) { d.TableStatus = types.TableStatusDeleting }),
			"", "status is DELETING, not ACTIVE",
		},
		"strong": {table(func(d *types.TableDescription) {
			d.MultiRegionConsistency = types.MultiRegionConsistencyStrong
		}), "", "it has multi-Region strong consistency, and so no transactions: nothing can be committed into it"},
		"stream off": {table(func(d *types.TableDescription) {
			d.StreamSpecification.StreamEnabled = aws.Bool(false)
		}), "it has no stream: a relay gets no messages from it", ""},
		"index in the making": {table(func(d *types.TableDescription) {
			index(d).IndexStatus = types.IndexStatusCreating
		}), `its index "outbox-index" has the status CREATING, not ACTIVE`, ""},
		"an index of which nothing is told": {table(func(d *types.TableDescription) {
			index(d).Projection = nil
		}), `its index "outbox-index" does not include "created_at"`, ""},
		"time to live of which nothing is told": {ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
			d.TimeToLiveDescription = nil
		}), "it has no time to live: messages that are done stay in it", ""},
		"time to live begins": {ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
			d.TimeToLiveDescription.TimeToLiveStatus = types.TimeToLiveStatusEnabling
		}), "", ""},
		"time to live ends": {ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
			d.TimeToLiveDescription.TimeToLiveStatus = types.TimeToLiveStatusDisabling
		}), "it has no time to live: messages that are done stay in it", ""},
		"time to live of others": {ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
			d.TimeToLiveDescription.AttributeName = aws.String("ttl")
		}), `its time to live is on "ttl", not on "expiration": messages that are done stay in it`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			advice, err := outbox.Check(t.Context(), p.with(c.described), p.table)
			if c.problem != "" {
				require.Equal(t, ofTable(p.table, []string{c.problem}), problemsOf(t, err))
				return
			}
			require.NoError(t, err)
			if c.advice == "" {
				require.Empty(t, advice)
				return
			}
			require.Equal(t, ofTable(p.table, []string{c.advice}), advice)
		})
	}
}

func TestCheckSaysWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for says, denied := range map[string]func(*dynamodb.Options){
		"outbox: describe table":        dynamolocal.Before(refuse[dynamodb.DescribeTableInput]),
		"outbox: describe time to live": dynamolocal.Before(refuse[dynamodb.DescribeTimeToLiveInput]),
	} {
		advice, err := outbox.Check(t.Context(), p.with(denied), p.table)
		require.ErrorIs(t, err, errRefused)
		require.ErrorContains(t, err, says)
		require.Empty(t, advice)
	}
}

func noIndexIn(in *dynamodb.CreateTableInput) {
	in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:1]
}

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	wrong, is := errors.AsType[*store.ConfigError](err)
	require.True(t, is, "%v", err)
	return wrong.Problems
}

func ofTable(table string, sentences []string) (all []string) {
	for _, s := range sentences {
		all = append(all, `table "`+table+`": `+s)
	}
	return all
}

func TestNewRelaySaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"outbox.NewRelay: there are 2 values of Config, and one counts",
		"outbox.NewRelay: Concurrency: -1 is negative", "outbox.NewRelay: Timeout: -1ns is negative",
		"outbox.NewRelay: MaxTries: -1 is negative", "outbox.NewRelay: Retention: 1ms is less than a second",
		"outbox.NewRelay: Observers: function 1 is nil", "outbox.NewRelay: the client is nil",
		"outbox.NewRelay: the name of the table is empty", "outbox.NewRelay: deliver is nil",
	}, configtest.ProblemsOf(t, func() {
		outbox.NewRelay((*dynamodb.Client)(nil), "", nil, outbox.Config{
			Concurrency: -1, Timeout: -1, MaxTries: -1, Retention: 1e6,
			Observers: []func(context.Context, report.Relay){nil},
		}, outbox.Config{})
	}))
}

// The stream of a real table hands over what Stream understands: see also the tests of the whole in
// proof/e2e.
func TestImageOfAMessageIsOne(t *testing.T) {
	t.Parallel()
	image := map[string]events.DynamoDBAttributeValue{
		"id": events.NewStringAttribute("i"), "topic": events.NewStringAttribute("t"),
		"body":  events.NewStringAttribute("{}"),
		"owner": events.NewStringAttribute("o"), "outbox_due": events.NewNumberAttribute("1"),
		"attributes": events.NewMapAttribute(
			map[string]events.DynamoDBAttributeValue{"a": events.NewStringAttribute("1")}),
		"of another": events.NewBinaryAttribute([]byte("x")), "version": events.NewListAttribute(nil),
	}
	nowhere := place{table: "outbox", client: dynamolocal.Client("http://dynamodb.invalid")}
	r := &rig{t: t, place: nowhere, receiver: &receiver{}}
	r = r.via(r.refusing())
	_, err := r.relay.Stream(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{
		{EventName: "MODIFY", Change: events.DynamoDBStreamRecord{SequenceNumber: "1", NewImage: image}},
	}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1"}, r.got[0].Attributes)
	require.Equal(t, 1, r.last().Unmarked)
}
