package outbox_test

import (
	"context"
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

// TestCheckSaysWhatIsWrong of a table that is right but for one thing that is described otherwise:
// much of it a table has only on AWS.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const (
		noStream = "it has no stream: a relay gets no messages from it"
		noIndex  = `it has no index "outbox-index": a drain finds nothing in it`
		noTTL    = "it has no time to live: messages that are done stay in it"
		otherKey = `its key is not the partition key "id" alone`
	)
	type (
		described = types.TableDescription
		indexed   = types.GlobalSecondaryIndexDescription
	)
	table := func(change func(d *described)) func(*dynamodb.Options) {
		return dynamolocal.After(func(out *dynamodb.DescribeTableOutput) { change(out.Table) })
	}
	index := func(change func(d *indexed)) func(*dynamodb.Options) {
		return table(func(d *described) { change(&d.GlobalSecondaryIndexes[0]) })
	}
	stream := func(view types.StreamViewType) func(*dynamodb.Options) {
		return table(func(d *described) { d.StreamSpecification.StreamViewType = view })
	}
	ttl := dynamolocal.After[dynamodb.DescribeTimeToLiveOutput]
	for name, c := range map[string]struct {
		described        func(*dynamodb.Options)
		advice, problems []string
	}{
		"updating": {table(func(d *described) {
			d.TableStatus, d.GlobalSecondaryIndexes[0].IndexStatus = types.TableStatusUpdating,
				types.IndexStatusUpdating
		}), nil, nil},
		"deleting": {
			table(func(d *described) { d.TableStatus = types.TableStatusDeleting }),
			nil,
			[]string{"status is DELETING, not ACTIVE"},
		},
		"strong": {
			table(func(d *described) { d.MultiRegionConsistency = types.MultiRegionConsistencyStrong }), nil,
			[]string{"it has multi-Region strong consistency, and so no transactions: nothing can be committed into it"},
		},
		"another key": {
			table(func(d *described) { d.KeySchema[0].AttributeName = aws.String("pk") }), nil, []string{otherKey},
		},
		"a sort key, and another type": {table(func(d *described) {
			d.KeySchema = append(d.KeySchema,
				types.KeySchemaElement{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange})
			for n, a := range d.AttributeDefinitions {
				if *a.AttributeName == "outbox_due" {
					d.AttributeDefinitions[n].AttributeType = types.ScalarAttributeTypeS
				}
			}
		}), nil, []string{`attribute "outbox_due" has type S in a key, expected N`, otherKey}},
		"no stream": {table(func(d *described) { d.StreamSpecification = nil }), []string{noStream}, nil},
		"stream off": {
			table(func(d *described) { d.StreamSpecification.StreamEnabled = aws.Bool(false) }),
			[]string{noStream},
			nil,
		},
		"a stream of keys": {
			stream(types.StreamViewTypeKeysOnly),
			[]string{"its stream has the view type KEYS_ONLY, without new images: a relay gets no messages from it"},
			nil,
		},
		"both images": {stream(types.StreamViewTypeNewAndOldImages), nil, nil},
		"no index":    {table(func(d *described) { d.GlobalSecondaryIndexes = nil }), []string{noIndex}, nil},
		"nothing delivers": {
			table(func(d *described) { d.StreamSpecification, d.GlobalSecondaryIndexes = nil, nil }),
			nil,
			[]string{"nothing delivers its messages: " + noStream + ", and " + noIndex},
		},
		"another index": {table(func(d *described) {
			d.GlobalSecondaryIndexes = append([]indexed{{
				IndexName: aws.String("by-topic"), IndexStatus: types.IndexStatusCreating,
			}}, d.GlobalSecondaryIndexes...)
		}), nil, nil},
		"index in the making": {
			index(func(d *indexed) { d.IndexStatus = types.IndexStatusCreating }),
			[]string{`its index "outbox-index" has the status CREATING, not ACTIVE`},
			nil,
		},
		"an index with another key": {
			index(func(d *indexed) { d.KeySchema[1].AttributeName = aws.String("later") }),
			[]string{`its index "outbox-index" has not the partition key "outbox_shard" and the sort key "outbox_due"`},
			nil,
		},
		"an index without what it includes": {
			index(func(d *indexed) { d.Projection = &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly} }),
			[]string{`its index "outbox-index" does not include "created_at"`},
			nil,
		},
		"an index of everything": {
			index(func(d *indexed) { d.Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll} }), nil,
			nil,
		},
		"an index of which nothing is told": {
			index(func(d *indexed) { d.Projection = nil }),
			[]string{`its index "outbox-index" does not include "created_at"`},
			nil,
		},
		"time to live of which nothing is told": {
			ttl(func(d *dynamodb.DescribeTimeToLiveOutput) { d.TimeToLiveDescription = nil }), []string{noTTL}, nil,
		},
		"time to live begins": {ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
			d.TimeToLiveDescription.TimeToLiveStatus = types.TimeToLiveStatusEnabling
		}), nil, nil},
		"time to live ends": {ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
			d.TimeToLiveDescription.TimeToLiveStatus = types.TimeToLiveStatusDisabling
		}), []string{noTTL}, nil},
		"time to live of others": {
			ttl(func(d *dynamodb.DescribeTimeToLiveOutput) {
				d.TimeToLiveDescription.AttributeName = aws.String("ttl")
			}), []string{`its time to live is on "ttl", not on "expiration": messages that are done stay in it`}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			advice, err := outbox.Check(t.Context(), p.with(c.described), p.table)
			require.Equal(t, ofTable(p.table, c.advice), advice)
			if c.problems == nil {
				require.NoError(t, err)
			} else {
				require.Equal(t, ofTable(p.table, c.problems), problemsOf(t, err))
			}
		})
	}
	_, err := outbox.Check(t.Context(), p.client, "no-such-table")
	require.ErrorAs(t, err, new(*types.ResourceNotFoundException))
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
