package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchsqs"
	"github.com/go-idempotent/idempotent/dynamo"
	orders "github.com/go-idempotent/idempotent/examples/orders/order"
	ship "github.com/go-idempotent/idempotent/examples/orders/shipping"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxsqs"
)

const (
	shippingRole  = "ShippingRole"
	shippingQueue = "${ShippingMessages.Arn}"
)

// TestTheShippingIsThereOnlyIfItIsAskedFor: without it the messages go to the mail.
func TestTheShippingIsThereOnlyIfItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		s := deployed(t, parameters)
		for id := range s.Resources {
			ofShipping := strings.HasPrefix(id, "Shipping") || slices.Contains([]string{"RelayQueuePolicy", "DrainQueuePolicy"}, id)
			require.False(t, ofShipping && !hasShipping(name), "%s: %s", name, id)
		}
		for output, value := range map[string]string{
			"ShippingFunctionName": shipping, "ShippingQueueUrl": "${ShippingMessages}", "ShippingFailuresUrl": "${ShippingFailures}",
		} {
			require.Equal(t, hasShipping(name), s.Outputs[output] == value, "%s: %s", name, output)
		}
	}
}

// queueCalls notes the calls of SQS, and does what a queue does.
type queueCalls struct {
	mu   sync.Mutex
	made []string
}

func (q *queueCalls) note(action string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.made = append(q.made, "sqs:"+action)
}

func (q *queueCalls) SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	q.note("SendMessage")
	return &sqs.SendMessageOutput{}, nil
}

// ChangeMessageVisibilityBatch is a call of the action sqs:ChangeMessageVisibility:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html.
func (q *queueCalls) ChangeMessageVisibilityBatch(
	context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	q.note("ChangeMessageVisibility")
	return &sqs.ChangeMessageVisibilityBatchOutput{Successful: []types.ChangeMessageVisibilityBatchResultEntry{{}}}, nil
}

// sentTo is what the relay and the drain need to send.
func sentTo(t *testing.T) []string {
	t.Helper()
	calls := &queueCalls{}
	for _, name := range []string{"shipping", "shipping.fifo"} {
		deliver := outboxsqs.To(calls, "https://sqs.us-east-1.amazonaws.com/123456789012/"+name)
		require.NoError(t, deliver(t.Context(), outbox.Message{ID: "m", Topic: orders.PlacedTopic, Body: json.RawMessage("{}")}))
	}
	return slices.Compact(calls.made)
}

// placed is the message of a sample event.
func placed(t *testing.T, file string) events.SQSMessage {
	t.Helper()
	text, err := os.ReadFile("../../examples/orders/consumer/events/" + file)
	require.NoError(t, err)
	var event events.SQSEvent
	require.NoError(t, json.Unmarshal(text, &event))
	return event.Records[0]
}

// slow is a service that ships when it is told to.
type slow struct {
	began, goOn chan struct{}
}

// ServeHTTP implements [http.Handler].
func (s slow) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.began <- struct{}{}
	<-s.goOn
	fmt.Fprint(w, `{"id":"sh_1"}`)
}

// TestTheConsumerMayDoWhatAShipmentNeeds plays a message that is shipped, one that another invocation has, and one that comes again.
func TestTheConsumerMayDoWhatAShipmentNeeds(t *testing.T) {
	t.Parallel()
	calls, queue, service := &recorder{}, &queueCalls{}, slow{make(chan struct{}, 1), make(chan struct{})}
	records := dynamo.New(dynamolocal.Client(dynamolocal.Endpoint(t), calls.observe), newTable(t))
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	there, err := ship.NewService(server.URL)
	require.NoError(t, err)
	consumer := batch.SQS(ship.Wrap(there, records, shipping),
		batch.WithVisibility(batchsqs.Visibility(queue, "https://sqs.us-east-1.amazonaws.com/123456789012/"+shipping)))
	event := events.SQSEvent{Records: []events.SQSMessage{placed(t, "placed.json")}}
	failed := func(ctx context.Context) int {
		answer, err := consumer(ctx, event)
		assert.NoError(t, err)
		return len(answer.BatchItemFailures)
	}
	var running sync.WaitGroup
	running.Go(func() { assert.Zero(t, failed(t.Context())) })
	<-service.began
	require.Equal(t, 1, failed(t.Context()))
	close(service.goOn)
	running.Wait()
	require.Zero(t, failed(t.Context()))

	// Lambda receives and deletes with the rights of the function.
	needs := append(slices.Clone(queue.made), "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")
	for variant := range variants {
		if !hasShipping(variant) {
			continue
		}
		s := deployed(t, variants[variant])
		for _, call := range calls.called() {
			require.Contains(t, onTable(t, s, shippingRole).actions(), "dynamodb:"+call)
		}
		require.Equal(t, onTable(t, s, chargeRole).actions(), onTable(t, s, shippingRole).actions(), "large results take the others")
		require.Equal(t, shipping+"#*", keysOfRole(t, s, shippingRole))
		for _, key := range calls.keys {
			require.True(t, like(t, keysOfRole(t, s, shippingRole), key), key)
		}
		requireShips(t, variant, needs)
	}
}

// requireShips checks that the role of the consumer allows its queue, its records, its logs, its secret and its key, and no more.
func requireShips(t *testing.T, variant string, queue []string) {
	t.Helper()
	parameters, s := variants[variant], deployed(t, variants[variant])
	require.Equal(t, s.Resources[chargeRole].At("AssumeRolePolicyDocument"), s.Resources[shippingRole].At("AssumeRolePolicyDocument"))
	want := map[any][]string{
		onlyTable:                 onTable(t, s, chargeRole).actions(),
		shippingQueue:             queue,
		"${ShippingLogGroup.Arn}": {"logs:CreateLogStream", "logs:PutLogEvents"},
		parameters["KmsKeyArn"]:   {"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"},
	}
	services := []any{"dynamodb.us-east-1.amazonaws.com", "lambda.us-east-1.amazonaws.com"}
	if secret := parameters["ShipSecretArn"]; secret != "" {
		want[secret] = []string{"secretsmanager:GetSecretValue"}
		services = append(services, "secretsmanager.us-east-1.amazonaws.com")
	}
	may := map[any][]string{}
	for _, st := range statements(t, s, shippingRole) {
		require.Empty(t, may[st.Resource], variant)
		may[st.Resource] = st.actions()
		switch st.Resource {
		case onlyTable:
		case parameters["KmsKeyArn"]:
			require.Equal(t, map[string]map[string]any{"StringEquals": {"kms:ViaService": append(services, "sqs.us-east-1.amazonaws.com")}}, st.Condition)
		default:
			require.Empty(t, st.Condition, variant)
		}
	}
	require.Equal(t, want, may, variant)
}

func TestTheConsumerHasItsQueueAndItsService(t *testing.T) {
	t.Parallel()
	for variant, want := range map[string]map[string]any{
		"shipping":          {"SHIP_URL": "https://ship.example", "SHIP_SECRET": ""},
		"shipping in order": {"SHIP_URL": "", "SHIP_SECRET": shipSecret},
	} {
		want["IDEMPOTENCY_TABLE"], want["QUEUE_URL"] = "${Table}", "${ShippingMessages}"
		s := deployed(t, variants[variant])
		function := s.Resources["ShippingFunction"]
		require.Equal(t, want, function.At("Environment", "Variables"), variant)
		require.Equal(t, shipping, function.At("FunctionName"))
		require.Equal(t, "/aws/lambda/"+shipping, function.At("LoggingConfig", "LogGroup"))
		require.Equal(t, variants[variant]["KmsKeyArn"], function.At("KmsKeyArn"))
		require.Len(t, function.At("Events"), 1, "nobody else calls it")
		require.Equal(t, shippingQueue, function.At("Events", "Placed", "Properties", "Queue"))
		require.Equal(t, operation+","+ordering+","+shipping, s.Resources["AttentionFunction"].At("Environment", "Variables", "OPERATIONS"))
		for _, queue := range []string{"ShippingMessages", "ShippingFailures"} {
			require.Equal(t, variants[variant]["KmsKeyArn"], s.Resources[queue].At("KmsMasterKeyId"))
			require.Nil(t, s.Resources[queue].At("SqsManagedSseEnabled"), "it has another key")
		}
	}
	plain := deployed(t, map[string]string{"Orders": "true", "ShippingQueue": "standard"})
	for _, queue := range []string{"ShippingMessages", "ShippingFailures"} {
		require.Equal(t, true, plain.Resources[queue].At("SqsManagedSseEnabled"))
		require.Nil(t, plain.Resources[queue].At("KmsMasterKeyId"))
	}
	require.Len(t, plain.Resources[shippingRole].At("Policies"), 3, "there is no key to allow")
}

// TestAShipmentFitsIntoAnInvocationAndItsRecordOutlivesItsMessage compares the periods that contain each other.
func TestAShipmentFitsIntoAnInvocationAndItsRecordOutlivesItsMessage(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["shipping"])
	seconds := func(resource string, path ...any) time.Duration {
		return time.Duration(number(s.Resources[resource].At(path...))) * time.Second
	}
	execution := idempotent.DefaultClaimBudget + ship.Timeout + idempotent.DefaultClaimBudget
	require.Less(t, execution+batch.DefaultReserve, seconds("ShippingFunction", "Timeout"))
	batchSize := number(s.Resources["ShippingFunction"].At("Events", "Placed", "Properties", "BatchSize"))
	require.LessOrEqual(t, batchSize, batch.DefaultConcurrency, "each message of a batch has its turn at once")
	kept := seconds("ShippingMessages", "MessageRetentionPeriod") + seconds("ShippingFailures", "MessageRetentionPeriod")
	require.Greater(t, ship.Retention, kept)
}

func TestTheAlarmsOfTheShippingLookAtWhatNeedsSomebody(t *testing.T) {
	t.Parallel()
	s, watched := deployed(t, variants["shipping"]), []string{}
	for name, a := range s.Of("AWS::CloudWatch::Alarm") {
		if !strings.HasPrefix(name, "Shipping") {
			continue
		}
		require.Equal(t, []any{variants["shipping"]["AlarmTopicArn"]}, a.At("AlarmActions"), name)
		require.Equal(t, "notBreaching", a.At("TreatMissingData"), name)
		for _, m := range alarmed(a) {
			watched = append(watched, m.namespace+"/"+m.name+" "+m.value)
		}
	}
	for i, m := range alarmed(s.Resources["ShippingAlarm"]) {
		require.Contains(t, expressionOf(s.Resources["ShippingAlarm"]), fmt.Sprintf("FILL(%v, ", s.Resources["ShippingAlarm"].At("Metrics", i, "Id")), m.name)
	}
	require.ElementsMatch(t, []string{
		"AWS/SQS/ApproximateAgeOfOldestMessage ${ShippingMessages.QueueName}",
		"AWS/SQS/ApproximateNumberOfMessagesVisible ${ShippingFailures.QueueName}",
		"Idempotent/Takeover " + shipping, "Idempotent/BecameUnknown " + shipping, "Idempotent/Unreadable " + shipping,
		"Idempotent/StoreError " + shipping, "Idempotent/OpenAttention " + shipping,
		"Idempotent/BatchRecordTerminal " + shipping,
		"AWS/Lambda/Errors " + shipping, "AWS/Lambda/Throttles " + shipping,
	}, watched)
}

func TestTheDashboardOfTheShippingLooksAtMetricsThatAreWritten(t *testing.T) {
	t.Parallel()
	written := []string{}
	for _, m := range append(observe.Metrics(), observe.BatchMetrics()...) {
		written = append(written, m.Name)
	}
	dimensions := map[string][]metric{
		"AWS/Lambda": {{dimension: "FunctionName", value: shipping}},
		"AWS/SQS": {
			{dimension: "QueueName", value: "${ShippingMessages.QueueName}"}, {dimension: "QueueName", value: "${ShippingFailures.QueueName}"},
		},
		namespace: {{dimension: "Operation", value: shipping}},
	}
	on := shown(t, deployed(t, variants["shipping"]).Resources["ShippingDashboard"])
	for _, m := range observe.BatchMetrics() {
		require.Contains(t, on, metric{namespace, m.Name, "Operation", shipping}, "the dashboard shows every metric of a batch")
	}
	for _, m := range on {
		require.Contains(t, dimensions[m.namespace], metric{dimension: m.dimension, value: m.value}, "%v", m)
		if m.namespace == namespace {
			require.Contains(t, written, m.name)
		}
	}
}

// TestWhoLooksMayLookAtTheQueueAndWhoSettlesMaySettleShipments: the doctor of the command line tool asks what calls the function.
func TestWhoLooksMayLookAtTheQueueAndWhoSettlesMaySettleShipments(t *testing.T) {
	t.Parallel()
	about := func(s *stack.Stack) (found []string) {
		for _, st := range managed(t, s, "OperatorPolicy") {
			for _, action := range st.actions() {
				if strings.HasPrefix(action, "sqs:") || action == "lambda:ListEventSourceMappings" {
					found = append(found, fmt.Sprint(action, " ", st.Resource))
				}
			}
		}
		return found
	}
	for variant := range variants {
		s := deployed(t, variants[variant])
		keys := managed(t, s, "SettlerPolicy")[0].Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
		if !hasShipping(variant) {
			require.Empty(t, about(s), variant)
			require.NotContains(t, keys, shipping+"#*", variant)
			continue
		}
		const queues = "[${ShippingMessages.Arn} ${ShippingFailures.Arn}]"
		require.Equal(t, []string{"lambda:ListEventSourceMappings *", "sqs:GetQueueAttributes " + queues, "sqs:GetQueueUrl " + queues}, about(s), variant)
		require.Contains(t, keys, keysOfRole(t, s, shippingRole), variant)
	}
}
