package deploy_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// operation is the name of the function of the orders in a stack with the name stackName.
const (
	stackName = "shop"
	operation = stackName + "-orders"
)

// shop has the three tables of the orders' template.
type shop struct {
	t                         *testing.T
	records, orders, messages string
	// resources are the names that the template has for the tables.
	resources map[string]string
	// proxy sees the calls of the client.
	proxy  *wire.Proxy
	client *dynamodb.Client
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t}
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	s.records = "deploy-test-" + rand.Text()
	s.orders, s.messages = s.records+"-orders", s.records+"-messages"
	require.NoError(t, dynamo.CreateTable(t.Context(), client, s.records))
	require.NoError(t, outbox.CreateTable(t.Context(), client, s.messages))
	require.NoError(t, dynamolocal.CreateTable(t.Context(), client, s.orders, "order_id"))
	dynamolocal.DropAfter(t, client, s.records, s.orders, s.messages)
	s.resources = map[string]string{s.records: "Table", s.orders: "OrdersTable", s.messages: "OutboxTable"}
	var err error
	s.proxy, err = wire.Start(dynamolocal.Endpoint(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.proxy.Close()) })
	s.client = dynamolocal.Client(s.proxy.URL())
	return s
}

func (s *shop) wrap(handler func(context.Context, string) (string, error),
	opts ...idempotent.Option,
) *idempotent.Handler[string, string] {
	return idempotent.Wrap(handler, dynamo.New(s.client, s.records), append(opts,
		idempotent.WithOperation(operation),
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute}),
		idempotent.WithKey(func(key string) (string, error) { return key, nil }))...)
}

// order takes an order as the function does: a step, then a row and a message in one transaction.
func (s *shop) order(ctx context.Context, key string) (string, error) {
	_, err := idempotent.Step(ctx, "reserve", func(context.Context) (string, error) { return "rs_1", nil })
	if err != nil {
		return "", err
	}
	row := map[string]string{"order_id": key}
	return dynamo.Commit(ctx, key,
		dynamo.Put(s.orders, row, dynamo.IfAbsent("order_id")),
		outbox.New(s.messages).Message(ctx, "order-placed", key))
}

// policy is what the template allows a function.
func policy(t *testing.T, function string) []statement {
	t.Helper()
	all := readTemplate(t, ordersTemplate)[function].statements()
	require.NotEmpty(t, all)
	return all
}

// An order needs what its function may do, and its items in a transaction only.
func TestTheOrdersMayDoWhatAnOrderNeeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	handler := s.wrap(s.order)
	for range 2 {
		_, err := handler.Handle(t.Context(), "k")
		require.NoError(t, err)
	}
	all := s.attempts()
	requireMayDo(t, policy(t, "OrdersFunction"), all, false)
	puts := 0
	for _, a := range all {
		if a.resource != "Table.Arn" {
			puts++
			a.enclosing = ""
			for _, st := range policy(t, "OrdersFunction") {
				require.False(t, st.allows(t, a), "outside of a transaction: %+v", a)
			}
		}
	}
	require.Equal(t, 2, puts, "one item is the order, and one its message")
}

// The relay needs what it may do, and no more, whatever becomes of a message.
func TestTheRelayMayDoWhatADeliveryNeeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	relay, event := s.commit("fine", "failing", "poison"), s.event()
	s.attempts()
	reported := 0
	for range 10 {
		answer, err := relay.Stream(t.Context(), event)
		require.NoError(t, err)
		reported += len(answer.BatchItemFailures)
	}
	mapping := at(readTemplate(t, ordersTemplate)["RelayFunction"].Properties, "Events",
		"Messages", "Properties")
	require.Greater(t, reported, 1, "the message that fails is reported some times")
	require.Greater(t, at(mapping, "MaximumRetryAttempts"), reported,
		"the retries end before the relay puts the message off")
	requireMayDo(t, policy(t, "RelayFunction"), s.attempts(), true)
}

// The drain needs what it may do, and no more: it delivers, asks about orders of which nobody
// knows, and counts.
func TestTheDrainMayDoWhatItNeeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	relay := s.commit("fine", "failing", "poison")
	unknown := s.wrap(func(context.Context, string) (string, error) {
		return "", idempotent.Uncertain(errors.New("no answer"))
	}, idempotent.WithEffects(idempotent.Unrepeatable))
	type resolution = idempotent.Resolution[string]
	found := map[string]resolution{}
	for key, finding := range map[string]resolution{
		"executed": idempotent.Executed("o_1"), "large": idempotent.Executed(bulky(1_000_000)),
		"untouched": idempotent.Untouched[string](), "unknown": idempotent.StillUnknown[string](),
		"away": idempotent.Executed("away"),
	} {
		_, err := unknown.Handle(t.Context(), key)
		require.Error(t, err)
		d, err := unknown.Describe(t.Context(), key)
		require.NoError(t, err)
		found[d.RecordKey] = finding
	}
	s.attempts()

	told, err := relay.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1}, []int{told.Delivered, told.Failed, told.GivenUp})
	away := idempotent.Executed("away")
	reconciler := operate.Reconcile(unknown, func(ctx context.Context, x idempotent.Execution) (resolution, error) {
		_, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &s.orders,
			Key: map[string]types.AttributeValue{
				"order_id": &types.AttributeValueMemberS{Value: x.DerivedKey("order")},
			},
		})
		require.NoError(t, err)
		if finding := found[x.RecordKey]; finding != away {
			return finding, nil
		}
		return away, errors.New("away")
	})
	asked, err := reconciler.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{5, 2, 1, 2},
		[]int{asked.Asked, asked.Completed, asked.Released, asked.Scheduled}, "%+v", asked)
	for _, err := range operate.New(dynamo.New(s.client, s.records)).List(t.Context(),
		operate.Query{Operation: operation}) {
		require.NoError(t, err)
	}
	requireMayDo(t, policy(t, "DrainFunction"), s.attempts(), true)
}

// commit commits messages, each with an order, and returns a relay to which the deliverer is what
// they say.
func (s *shop) commit(bodies ...string) *outbox.Relay {
	s.t.Helper()
	handler := s.wrap(s.order)
	for _, body := range bodies {
		_, err := handler.Handle(s.t.Context(), body)
		require.NoError(s.t, err)
	}
	return outbox.NewRelay(s.client, s.messages, func(_ context.Context, m outbox.Message) error {
		switch {
		case strings.Contains(string(m.Body), "poison"):
			return outbox.Permanent(errors.New("never"))
		case strings.Contains(string(m.Body), "failing"):
			return errors.New("not now")
		}
		return nil
	}, outbox.Config{NoStream: true, Concurrency: 1})
}

// event is what the stream hands over of the messages as they are.
func (s *shop) event() (event events.DynamoDBEvent) {
	s.t.Helper()
	out, err := dynamolocal.Client(dynamolocal.Endpoint(s.t)).Scan(s.t.Context(),
		&dynamodb.ScanInput{TableName: &s.messages})
	require.NoError(s.t, err)
	for n, item := range out.Items {
		image, err := attributevalue.MarshalMapJSON(item)
		require.NoError(s.t, err)
		record := events.DynamoDBEventRecord{EventName: string(events.DynamoDBOperationTypeInsert)}
		record.Change.SequenceNumber = fmt.Sprint(n + 1)
		require.NoError(s.t, json.Unmarshal(image, &record.Change.NewImage))
		event.Records = append(event.Records, record)
	}
	return event
}

// bulky is a text of a size that cannot be compressed.
func bulky(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(rand.Text())
	}
	return b.String()[:size]
}
