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

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
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

	bare := p.with(dynamotest.After(func(out *dynamodb.DescribeTableOutput) { out.Table.StreamSpecification = nil }))
	require.ErrorContains(t, outbox.CreateTable(t.Context(), bare, p.table), "it has no stream",
		"what a table lacks is an error here")
	refusing := p.with(dynamotest.Before(refuse[dynamodb.CreateTableInput]))
	require.ErrorIs(t, outbox.CreateTable(t.Context(), refusing, p.table), errRefused)
}

// TestCheckSaysWhatIsWrong of a table that is right but for one thing that is described otherwise:
// much of it a table has only on AWS.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const (
		noStream = "it has no stream: a relay gets no messages from it"
		noIndex  = `there is no index "outbox-index": a drain finds nothing`
	)
	type described = types.TableDescription
	for name, c := range map[string]struct {
		described func(d *described)
		advice    string
		problems  []string
	}{
		"updating": {described: func(d *described) {
			d.TableStatus, d.GlobalSecondaryIndexes[0].IndexStatus = types.TableStatusUpdating,
				types.IndexStatusUpdating
		}},
		"deleting": {
			func(d *described) { d.TableStatus = types.TableStatusDeleting }, "",
			[]string{"status is DELETING, not ACTIVE"},
		},
		"strong": {
			func(d *described) { d.MultiRegionConsistency = types.MultiRegionConsistencyStrong }, "",
			[]string{"it has multi-Region strong consistency, and so no transactions: nothing can be committed into it"},
		},
		"another key": {
			func(d *described) { d.KeySchema[0].AttributeName = aws.String("pk") }, "",
			[]string{`partition key is "pk", expected "id"`},
		},
		"no stream":  {func(d *described) { d.StreamSpecification = nil }, noStream, nil},
		"stream off": {func(d *described) { d.StreamSpecification.StreamEnabled = aws.Bool(false) }, noStream, nil},
		"a stream of keys": {
			func(d *described) { d.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly },
			"its stream has the view type KEYS_ONLY, without new images: a relay gets no messages from it", nil,
		},
		"both images": {described: func(d *described) {
			d.StreamSpecification.StreamViewType = types.StreamViewTypeNewAndOldImages
		}},
		"no index": {func(d *described) { d.GlobalSecondaryIndexes = nil }, noIndex, nil},
		"nothing delivers": {
			func(d *described) { d.StreamSpecification, d.GlobalSecondaryIndexes = nil, nil }, "",
			[]string{"nothing delivers its messages: " + noStream + ", and " + noIndex},
		},
		"index in the making": {
			func(d *described) { d.GlobalSecondaryIndexes[0].IndexStatus = types.IndexStatusCreating },
			`index "outbox-index": status is CREATING, not ACTIVE`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.checks(t, dynamotest.After(func(out *dynamodb.DescribeTableOutput) { c.described(out.Table) }),
				c.advice, c.problems...)
		})
	}
	p.checks(t, dynamotest.After(func(out *dynamodb.DescribeTimeToLiveOutput) { out.TimeToLiveDescription = nil }),
		`time to live is DISABLED, expected ENABLED on "expiration"`)
	_, err := outbox.Check(t.Context(), p.client, "no-such-table")
	require.ErrorAs(t, err, new(*types.ResourceNotFoundException))
}

// checks checks the table as it is described, and compares the advice and the problems.
func (p place) checks(t *testing.T, described func(*dynamodb.Options), advice string, problems ...string) {
	t.Helper()
	advised, err := outbox.Check(t.Context(), p.with(described), p.table)
	require.Equal(t, p.sentences(advice), advised)
	if len(problems) == 0 {
		require.NoError(t, err)
		return
	}
	wrong, is := errors.AsType[*store.ConfigError](err)
	require.True(t, is, "%v", err)
	require.Equal(t, p.sentences(problems...), wrong.Problems)
}

func (p place) sentences(of ...string) (all []string) {
	for _, s := range of {
		if s != "" {
			all = append(all, `table "`+p.table+`": `+s)
		}
	}
	return all
}

func TestCheckSaysWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for says, denied := range map[string]func(*dynamodb.Options){
		"outbox: describe table":        dynamotest.Before(refuse[dynamodb.DescribeTableInput]),
		"outbox: describe time to live": dynamotest.Before(refuse[dynamodb.DescribeTimeToLiveInput]),
	} {
		advice, err := outbox.Check(t.Context(), p.with(denied), p.table)
		require.ErrorIs(t, err, errRefused)
		require.ErrorContains(t, err, says)
		require.Empty(t, advice)
	}
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
