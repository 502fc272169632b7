package deploy_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
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
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	s.records = "deploy-test-" + rand.Text()
	s.orders, s.messages = s.records+"-orders", s.records+"-messages"
	require.NoError(t, dynamo.CreateTable(t.Context(), client, s.records))
	require.NoError(t, outbox.CreateTable(t.Context(), client, s.messages))
	require.NoError(t, dynamolocal.CreateTable(t.Context(), client, s.orders, "order_id"))
	dynamotest.DropAfter(t, client, s.records, s.orders, s.messages)
	s.resources = map[string]string{s.records: "Table", s.orders: "OrdersTable", s.messages: "OutboxTable"}
	var err error
	s.proxy, err = wire.Start(dynamotest.Endpoint(t))
	require.NoError(t, err)
	t.Cleanup(s.proxy.Close)
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

// allowed is what the template allows a function: each action on each resource, and what it may be
// done with.
func allowed(t *testing.T, function string) (all []string) {
	t.Helper()
	for _, s := range readTemplate(t, read(t, ordersTemplate))[function].statements() {
		of := fmt.Sprint(s.condition) // which no call has
		switch {
		case s.condition == nil:
			of = ""
		case assert.ObjectsAreEqual(keysOf("${AWS::StackName}-orders"), s.condition):
			of = ofOperation
		case assert.ObjectsAreEqual(transacted(), s.condition):
			of = inTransaction
		}
		for _, action := range s.actions {
			for _, resource := range s.resources {
				all = append(all, action+" "+resource+of)
			}
		}
	}
	return all
}

const ofOperation, inTransaction = " of its operation", " in a transaction"

// done is what the calls since the last question were to IAM, in the words of allowed, each once.
// The items of a transaction are decided one by one, each as the action that it would be by itself,
// see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html.
func (s *shop) done() []string {
	s.t.Helper()
	type written struct {
		TableName, IndexName string
		Key, Item            struct{ ID struct{ S string } }
	}
	seen := map[string]bool{}
	add := func(action string, w written, of string) {
		resource := s.resources[w.TableName] + ".Arn"
		if w.IndexName != "" {
			resource = "${" + resource + "}/index/" + w.IndexName
		}
		if strings.HasPrefix(w.Key.ID.S+w.Item.ID.S, operation+"#") {
			of = ofOperation
		}
		seen["dynamodb:"+action+" "+resource+of] = true
	}
	for _, x := range s.proxy.Exchanges() {
		var call struct {
			written

			RequestItems  map[string][]struct{ PutRequest written }
			TransactItems []map[string]written
		}
		require.NoError(s.t, json.Unmarshal(x.Body, &call))
		for _, item := range call.TransactItems {
			for kind, w := range item {
				add(kind+"Item", w, inTransaction)
			}
		}
		for table, writes := range call.RequestItems {
			for _, w := range writes {
				w.PutRequest.TableName = table
				add(x.Operation, w.PutRequest, "")
			}
		}
		if call.TransactItems == nil && call.RequestItems == nil {
			add(x.Operation, call.written, "")
		}
	}
	s.proxy.Forget()
	return slices.Collect(maps.Keys(seen))
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
	done := s.done()
	assert.Subset(t, allowed(t, "OrdersFunction"), done)
	for _, table := range []string{"OrdersTable", "OutboxTable"} {
		assert.Contains(t, done, "dynamodb:PutItem "+table+".Arn"+inTransaction)
	}
}

// The relay needs what it may do, and no more, whatever becomes of a message.
func TestTheRelayMayDoWhatADeliveryNeeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	relay, event := s.commit("fine", "failing", "poison"), s.event()
	s.done()
	reported := 0
	for range 10 {
		answer, err := relay.Stream(t.Context(), event)
		require.NoError(t, err)
		reported += len(answer.BatchItemFailures)
	}
	relayed := readTemplate(t, read(t, ordersTemplate))["RelayFunction"].Properties
	require.Greater(t, reported, 1, "the message that fails is reported some times")
	require.Greater(t, at(relayed, "Events", "Messages", "Properties", "MaximumRetryAttempts"), reported,
		"the retries end before the relay puts the message off")
	assert.ElementsMatch(t, allowed(t, "RelayFunction"), s.done())
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
	found, large := map[string]resolution{}, make([]byte, 500_000) // which nothing makes smaller
	rand.Read(large)
	for key, finding := range map[string]resolution{
		"executed": idempotent.Executed("o_1"), "large": idempotent.Executed(fmt.Sprintf("%x", large)),
		"untouched": idempotent.Untouched[string](), "unknown": idempotent.StillUnknown[string](),
		"away": idempotent.Executed("away"),
	} {
		_, err := unknown.Handle(t.Context(), key)
		require.Error(t, err)
		d, err := unknown.Describe(t.Context(), key)
		require.NoError(t, err)
		found[d.RecordKey] = finding
	}
	s.done()

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
	assert.ElementsMatch(t, allowed(t, "DrainFunction"), s.done())
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
	out, err := dynamolocal.Client(dynamotest.Endpoint(s.t)).Scan(s.t.Context(),
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
