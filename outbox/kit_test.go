package outbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/report"
)

type item = map[string]types.AttributeValue

// place is a table of an outbox and one of records, each of its own, on DynamoDB Local.
type place struct {
	client         *dynamodb.Client
	table, records string
	box            *outbox.Outbox
}

func newPlace(t *testing.T) place {
	t.Helper()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	p := place{client: client, table: "outbox-test-" + rand.Text(), records: "outbox-test-records-" + rand.Text()}
	p.box = outbox.New(p.table)
	require.NoError(t, outbox.CreateTable(t.Context(), client, p.table))
	require.NoError(t, dynamo.CreateTable(t.Context(), client, p.records))
	dynamotest.DropAfter(t, client, p.table, p.records)
	return p
}

// order is what a handler of a test gets.
type order struct {
	ID string `json:"id"`
}

// commit runs a handler that commits what the function makes, under the key of the order.
func (p place) commit(t *testing.T, key string, make func(ctx context.Context) []dynamo.Item) error {
	t.Helper()
	h := idempotent.Wrap(func(ctx context.Context, o order) (string, error) {
		return dynamo.Commit(ctx, "done "+o.ID, make(ctx)...)
	}, dynamo.New(p.client, p.records), idempotent.WithOperation("orders"), idempotent.WithKeyPath("id"),
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute}))
	_, err := h.Handle(t.Context(), order{ID: key})
	return err
}

// put commits one message, and returns it as it is in the table.
func (p place) put(t *testing.T, config ...outbox.MessageConfig) item {
	t.Helper()
	id := ""
	require.NoError(t, p.commit(t, rand.Text(), func(ctx context.Context) []dynamo.Item {
		id = idempotent.DerivedKey(ctx, "order-placed")
		return []dynamo.Item{p.box.Message(ctx, "order-placed", map[string]string{"order_id": "o-1"}, config...)}
	}))
	return p.get(t, id)
}

func (p place) get(t *testing.T, id string) item {
	t.Helper()
	out, err := p.client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(p.table), Key: item{"id": S(id)}, ConsistentRead: aws.Bool(true),
	})
	require.NoError(t, err)
	return out.Item
}

// set changes a message behind everybody's back.
func (p place) set(t *testing.T, id, update string, values item) {
	t.Helper()
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(p.table), Key: item{"id": S(id)}, UpdateExpression: aws.String(update),
		ExpressionAttributeValues: values,
	}
	if strings.Contains(update, "#owner") { // a word that DynamoDB reserves
		in.ExpressionAttributeNames = map[string]string{"#owner": "owner"}
	}
	_, err := p.client.UpdateItem(t.Context(), in)
	require.NoError(t, err)
}

func numberOf(t *testing.T, it item, name string) int64 {
	t.Helper()
	n, is := it[name].(*types.AttributeValueMemberN)
	require.True(t, is, "%s is a number", name)
	i, err := strconv.ParseInt(n.Value, 10, 64)
	require.NoError(t, err)
	return i
}

func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func N(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func idOf(it item) string { return it["id"].(*types.AttributeValueMemberS).Value }

// receiver takes messages, and then does what fail says.
type receiver struct {
	mu   sync.Mutex
	got  []outbox.Message
	fail outbox.Deliver
}

var errDown = errors.New("the receiver is down")

// down fails, and never fails for good.
func down(context.Context, outbox.Message) error { return errDown }

func never(context.Context, outbox.Message) error { return outbox.Permanent(errDown) }

func (r *receiver) deliver(ctx context.Context, m outbox.Message) error {
	r.mu.Lock()
	r.got = append(r.got, m)
	r.mu.Unlock()
	if r.fail != nil {
		return r.fail(ctx, m)
	}
	return nil
}

// rig is a place with a receiver, and a relay between them.
type rig struct {
	place
	*receiver
	*reports

	t     *testing.T
	relay *outbox.Relay
}

func newRig(t *testing.T, config ...outbox.Config) *rig {
	t.Helper()
	r := &rig{t: t, place: newPlace(t), receiver: &receiver{}}
	return r.via(r.client, config...)
}

// via is another relay for the same place and receiver.
func (r *rig) via(client outbox.Client, config ...outbox.Config) *rig {
	r.t.Helper()
	other := *r
	other.reports = &reports{}
	c := outbox.Config{}
	if len(config) > 0 {
		c = config[0]
	}
	c.Observers = append(c.Observers, other.take)
	other.relay = outbox.NewRelay(client, r.table, r.deliver, c)
	return &other
}

// stream hands the relay an event with these images, and returns what it asks for again.
func (r *rig) stream(images ...item) (failed []string) {
	r.t.Helper()
	answer, err := r.relay.Stream(r.t.Context(), event(r.table, images...))
	require.NoError(r.t, err)
	return failures(answer)
}

func (r *rig) drain() report.Relay {
	r.t.Helper()
	told, err := r.relay.Drain(r.t.Context())
	require.NoError(r.t, err)
	return told
}

// now is a message as it is in the table now.
func (r *rig) now(it item) item {
	r.t.Helper()
	return r.get(r.t, idOf(it))
}

// with is a client of the place that does more.
func (p place) with(opts ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(p.client.Options(), opts...)
}

// paged has queries answered with one item each.
var paged = dynamotest.Before(func(_ context.Context, in *dynamodb.QueryInput) error {
	in.Limit = aws.Int32(1)
	return nil
})

// downAt refuses one call, which is counted down.
func downAt[In any](left *int) func(*dynamodb.Options) {
	return dynamotest.Before(func(context.Context, *In) error {
		if *left--; *left == 0 {
			return errDown
		}
		return nil
	})
}

// refusing is a client that refuses to write.
func (p place) refusing() *dynamodb.Client {
	return p.with(dynamotest.Before(refuse[dynamodb.UpdateItemInput]))
}

func refuse[In any](context.Context, *In) error { return errRefused }

var errRefused = errors.New("refused")

// event is one of the stream that puts these images.
func event(table string, images ...item) events.DynamoDBEvent {
	var e events.DynamoDBEvent
	for n, image := range images {
		e.Records = append(e.Records, events.DynamoDBEventRecord{
			EventName: "INSERT", EventSource: "aws:dynamodb",
			EventSourceArn: "arn:aws:dynamodb:eu-central-1:123456789012:table/" + table +
				"/stream/2026-01-01T00:00:00.000",
			Change: events.DynamoDBStreamRecord{
				SequenceNumber: number(n), NewImage: imageOf(image), StreamViewType: "NEW_IMAGE",
				ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Now()},
			},
		})
	}
	return e
}

func number(n int) string { return "40000000000000000000000" + string(rune('0'+n)) }

func imageOf(it item) map[string]events.DynamoDBAttributeValue {
	image := map[string]events.DynamoDBAttributeValue{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			image[name] = events.NewStringAttribute(v.Value)
		case *types.AttributeValueMemberN:
			image[name] = events.NewNumberAttribute(v.Value)
		case *types.AttributeValueMemberM:
			image[name] = events.NewMapAttribute(imageOf(v.Value))
		}
	}
	return image
}

// failures are the sequence numbers of an answer.
func failures(answer events.DynamoDBEventResponse) (numbers []string) {
	for _, f := range answer.BatchItemFailures {
		numbers = append(numbers, f.ItemIdentifier)
	}
	return numbers
}

// reports keeps what a relay reports.
type reports struct{ all []report.Relay }

func (r *reports) take(_ context.Context, report report.Relay) { r.all = append(r.all, report) }

func (r *reports) last() report.Relay { return r.all[len(r.all)-1] }
