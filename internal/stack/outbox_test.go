package stack_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	"github.com/go-idempotent/idempotent/examples/orders/mail"
	orders "github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/outbox"
)

const (
	relayRole   = "RelayRole"
	drainRole   = "DrainRole"
	outboxIndex = outboxTable + "/index/" + outbox.Index
	streamOf    = "${OutboxTable.StreamArn}"
	failures    = "${RelayFailures.Arn}"
)

// mailing is the template's outbox with messages that were committed, and a mail.
type mailing struct {
	t     *testing.T
	table string
	calls *attempts

	mu sync.Mutex
	// refuses are the bodies that the mail does not take; forGood are those of them that it never will.
	refuses, forGood []string
	delivered        []string
}

func newMailing(t *testing.T) *mailing {
	t.Helper()
	return &mailing{t: t, table: newTableOf(t, stack.Outbox), calls: &attempts{}}
}

func (m *mailing) deliver(_ context.Context, message outbox.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	body := string(message.Body)
	switch {
	case slices.Contains(m.forGood, body):
		return outbox.Permanent(errors.New("never"))
	case slices.Contains(m.refuses, body):
		return errors.New("not now")
	}
	m.delivered = append(m.delivered, body)
	return nil
}

// accept lets the mail take everything from now on.
func (m *mailing) accept() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses, m.forGood = nil, nil
}

// relay is one process, whose calls are noted.
func (m *mailing) relay(opts ...outbox.RelayOption) *outbox.Relay {
	opts = append([]outbox.RelayOption{outbox.WithConcurrency(1)}, opts...)
	return outbox.NewRelay(dynamolocal.Client(dynamolocal.Endpoint(m.t), m.calls.observe), m.table, m.deliver, opts...)
}

// commit commits messages as an order does, each by a delivery of its own.
func (m *mailing) commit(bodies ...any) {
	m.t.Helper()
	records := dynamo.New(dynamolocal.Client(dynamolocal.Endpoint(m.t)), newTable(m.t))
	handler := idempotent.Wrap(func(ctx context.Context, body any) (string, error) {
		return dynamo.Commit(ctx, "", outbox.New(m.table).Message(ctx, orders.PlacedTopic, body))
	}, records, idempotent.WithOperation(ordering), idempotent.WithKey(func(body any) (string, error) { return fmt.Sprint(body), nil }))
	for _, body := range bodies {
		_, err := handler.Handle(m.t.Context(), body)
		require.NoError(m.t, err)
	}
}

// event is what the stream hands over of the messages as they are.
func (m *mailing) event() (event events.DynamoDBEvent) {
	m.t.Helper()
	out, err := dynamolocal.Client(dynamolocal.Endpoint(m.t)).Scan(m.t.Context(), &dynamodb.ScanInput{TableName: aws.String(m.table)})
	require.NoError(m.t, err)
	for i, it := range out.Items {
		image := map[string]events.DynamoDBAttributeValue{}
		for name, v := range it {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				image[name] = events.NewStringAttribute(v.Value)
			case *types.AttributeValueMemberN:
				image[name] = events.NewNumberAttribute(v.Value)
			default:
				require.Fail(m.t, "an attribute that is not known", "%s: %T", name, v)
			}
		}
		event.Records = append(event.Records, events.DynamoDBEventRecord{
			EventName: string(events.DynamoDBOperationTypeInsert),
			Change:    events.DynamoDBStreamRecord{NewImage: image, SequenceNumber: strings.Repeat("1", i+1)},
		})
	}
	return event
}

// needs is what the calls were about since the last question.
func (m *mailing) needs() map[access]bool {
	m.calls.mu.Lock()
	defer m.calls.mu.Unlock()
	all := map[access]bool{}
	for _, a := range m.calls.all {
		call, _ := strings.CutPrefix(a.action, "dynamodb:")
		all[access{call, strings.Replace(a.table, m.table, outboxTable, 1)}] = true
	}
	m.calls.all = nil
	return all
}

// TestTheRelayMayDoWhatADeliveryNeeds plays every way that a message of the stream can go: delivered, failed, put off, parked.
func TestTheRelayMayDoWhatADeliveryNeeds(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.refuses, m.forGood = []string{`"failing"`}, []string{`"poison"`}
	m.commit("fine", "failing", "poison")
	relay, event := m.relay(), m.event()
	reported := 0
	for range 10 {
		answer, err := relay.Stream(t.Context(), event)
		require.NoError(t, err)
		reported += len(answer.BatchItemFailures)
	}
	require.Equal(t, []string{`"fine"`}, m.delivered)
	needs := m.needs()
	require.Equal(t, map[access]bool{{"UpdateItem", outboxTable}: true}, needs)
	// Lambda reads the stream, and writes what it gives up, with the rights of the function.
	for _, call := range []string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"} {
		needs[access{call, streamOf}] = true
	}
	for variant := range variants {
		if hasOrders(variant) {
			requireDelivers(t, variant, relayRole, "${RelayLogGroup.Arn}", needs)
		}
	}

	mapping := mappingOf(t)
	retries := mapping("MaximumRetryAttempts").(int)
	require.Greater(t, reported, 1, "the message that fails is reported some times")
	require.Greater(t, retries, reported, "the retries end before the relay puts the message off")
}

// TestTheDrainMayDoWhatItNeeds plays every way that a message that is due can go.
func TestTheDrainMayDoWhatItNeeds(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.refuses, m.forGood = []string{`"failing"`}, []string{`"poison"`}
	m.commit("fine", "failing", "poison")
	report, err := m.relay(outbox.WithGrace(0)).Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1}, []int{report.Delivered, report.Failed, report.Parked})
	needs := m.needs()
	require.Len(t, needs, 3)
	for variant := range variants {
		if hasOrders(variant) {
			requireDelivers(t, variant, drainRole, "${DrainLogGroup.Arn}", needs)
		}
	}
}

// requireDelivers checks that a role allows what is needed, its logs, its secret and its key, and the queue to the relay, and no more.
func requireDelivers(t *testing.T, variant, role, logs string, needs map[access]bool) {
	t.Helper()
	parameters, s := variants[variant], deployed(t, variants[variant])
	require.Equal(t, s.Resources[chargeRole].At("AssumeRolePolicyDocument"), s.Resources[role].At("AssumeRolePolicyDocument"))
	all := statements(t, s, role)
	require.Equal(t, needs, accesses(t, all), variant)
	secret, others := parameters["MailSecretArn"], map[any][]string{}
	for _, st := range all {
		if st.Resource == parameters["KmsKeyArn"] {
			services := []any{"dynamodb.us-east-1.amazonaws.com", "lambda.us-east-1.amazonaws.com"}
			if secret != "" {
				services = append(services, "secretsmanager.us-east-1.amazonaws.com")
			}
			if hasShipping(variant) {
				services = append(services, "sqs.us-east-1.amazonaws.com")
			}
			require.Equal(t, map[string]map[string]any{"StringEquals": {"kms:ViaService": services}}, st.Condition)
		} else {
			require.Empty(t, st.Condition)
		}
		if !strings.HasPrefix(st.actions()[0], "dynamodb:") {
			require.Empty(t, others[st.Resource], variant)
			others[st.Resource] = st.actions()
		}
	}
	want := map[any][]string{
		logs:                    {"logs:CreateLogStream", "logs:PutLogEvents"},
		parameters["KmsKeyArn"]: {"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"},
	}
	if secret != "" {
		want[secret] = []string{"secretsmanager:GetSecretValue"}
	}
	if hasShipping(variant) {
		want[shippingQueue] = sentTo(t)
	}
	if role == relayRole {
		want[failures] = []string{"sqs:SendMessage"}
	}
	require.Equal(t, want, others, variant)
}

// mappingOf returns the settings of the relay's event source mapping, by name.
func mappingOf(t *testing.T) func(path ...any) any {
	t.Helper()
	function := deployed(t, variants["orders"]).Resources["RelayFunction"]
	require.Equal(t, []string{"Messages"}, slices.Collect(maps.Keys(function.At("Events").(map[string]any))), "nobody else calls it")
	require.Equal(t, "DynamoDB", function.At("Events", "Messages", "Type"))
	return func(path ...any) any {
		return function.At(append([]any{"Events", "Messages", "Properties"}, path...)...)
	}
}

func TestTheStreamIsHandedOverAtOnceAndFailuresOneByOne(t *testing.T) {
	t.Parallel()
	mapping := mappingOf(t)
	require.Equal(t, streamOf, mapping("Stream"))
	require.Equal(t, "TRIM_HORIZON", mapping("StartingPosition"), "a message that was committed while the stack was made leaves, too")
	require.Equal(t, []any{"ReportBatchItemFailures"}, mapping("FunctionResponseTypes"))
	require.Equal(t, true, mapping("BisectBatchOnFunctionError"))
	require.Equal(t, 0, mapping("MaximumBatchingWindowInSeconds"))
	require.Equal(t, map[string]any{"Type": "SQS", "Destination": failures}, mapping("DestinationConfig", "OnFailure"))
	queue := deployed(t, variants["orders"]).Resources["RelayFailures"]
	require.Equal(t, 14*24*60*60, queue.At("MessageRetentionPeriod"), "as long as SQS keeps anything")
	require.Equal(t, true, queue.At("SqsManagedSseEnabled"))
}

func TestTheAlarmsOfTheOutboxLookAtWhatNeedsSomebody(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["orders"])
	watched := []string{}
	for name, a := range s.Of("AWS::CloudWatch::Alarm") {
		if _, everywhere := deployed(t, nil).Resources[name]; everywhere || name == "OrdersAlarm" {
			continue
		}
		require.Equal(t, []any{variants["orders"]["AlarmTopicArn"]}, a.At("AlarmActions"), name)
		require.True(t, strings.HasSuffix(name, "Alarm"), name)
		missing := "notBreaching" // metrics are written when something happens
		for _, m := range alarmed(a) {
			switch {
			case name == "DrainSilentAlarm":
				missing = "breaching" // it is about what is missing
			case slices.Contains([]string{"PendingMessages", "OldestMessage", "ParkedMessages"}, m.name):
				missing = "ignore" // nobody has counted, so nothing is known to have ended
				require.Equal(t, "Maximum", a.At("Statistic"), "%s: a number is counted, events are summed up", name)
			}
			watched = append(watched, m.namespace+"/"+m.name+" "+m.value)
		}
		require.Equal(t, missing, a.At("TreatMissingData"), name)
	}
	require.ElementsMatch(t, []string{
		"Idempotent/OldestMessage ${OutboxTable}", "Idempotent/ParkedMessages ${OutboxTable}", "Idempotent/PendingMessages ${OutboxTable}",
		"Idempotent/MessageUnmarked ${OutboxTable}", "Idempotent/MessageUncounted ${OutboxTable}",
		"AWS/Lambda/Errors " + draining, "AWS/Lambda/Errors " + relaying, "AWS/Lambda/IteratorAge " + relaying,
		"AWS/SQS/ApproximateNumberOfMessagesVisible ${RelayFailures.QueueName}",
	}, watched, "a delivery that fails is tried again, and no reason to wake somebody: MessageFailed has no alarm")
	silent := s.Resources["DrainSilentAlarm"]
	require.Equal(t, []any{"SampleCount", "LessThanThreshold", 1}, []any{silent.At("Statistic"), silent.At("ComparisonOperator"), silent.At("Threshold")})
	require.Greater(t, s.Resources["OldestMessageAlarm"].At("Threshold").(int), int((outbox.DefaultGrace + 5*time.Minute).Seconds()),
		"the drain has tried it")
}

func TestAlarmsAndDashboardOfTheOutboxLookAtMetricsThatAreWritten(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["orders"])
	written := []string{}
	for _, m := range observe.OutboxMetrics() {
		written = append(written, m.Name)
	}
	onDashboard, looked := shown(t, s.Resources["OutboxDashboard"]), []string{}
	for _, m := range onDashboard {
		if m.namespace == namespace {
			looked = append(looked, m.name)
		}
	}
	slices.Sort(looked)
	require.ElementsMatch(t, written, slices.Compact(looked), "the dashboard shows every metric")

	dimensions := map[string][]metric{
		"AWS/DynamoDB": {{dimension: "TableName", value: "${OutboxTable}"}},
		"AWS/Lambda":   {{dimension: "FunctionName", value: relaying}, {dimension: "FunctionName", value: draining}},
		"AWS/SQS":      {{dimension: "QueueName", value: "${RelayFailures.QueueName}"}},
		namespace:      {{dimension: "Outbox", value: "${OutboxTable}"}},
	}
	for name, a := range s.Of("AWS::CloudWatch::Alarm") {
		if _, everywhere := deployed(t, nil).Resources[name]; !everywhere && name != "OrdersAlarm" {
			onDashboard = append(onDashboard, alarmed(a)...)
		}
	}
	for _, m := range onDashboard {
		require.Contains(t, dimensions[m.namespace], metric{dimension: m.dimension, value: m.value}, "%v", m)
		if m.namespace == namespace {
			require.Contains(t, written, m.name)
		}
	}
}

// TestEachMessageHasItsTurnInEachInvocation compares the periods that contain each other.
func TestEachMessageHasItsTurnInEachInvocation(t *testing.T) {
	t.Parallel()
	s, mapping := deployed(t, variants["orders"]), mappingOf(t)
	seconds := func(value any) time.Duration {
		n := value.(int)
		return time.Duration(n) * time.Second
	}
	batch, relay, drain := mapping("BatchSize").(int), s.Resources["RelayFunction"], s.Resources["DrainFunction"]
	turns := (batch + outbox.DefaultConcurrency - 1) / outbox.DefaultConcurrency
	require.Less(t, time.Duration(turns)*mail.Timeout+2*time.Second, seconds(relay.At("Timeout")), "what is kept for marks is a second")

	retries := mapping("MaximumRetryAttempts").(int)
	age := seconds(mapping("MaximumRecordAgeInSeconds"))
	require.Less(t, time.Duration(1+retries)*seconds(relay.At("Timeout")), age, "the age must not end the retries")
	require.Less(t, age, time.Hour, "the drain has it since a minute; the longer the stream holds it, the more is delivered twice")

	require.Equal(t, "rate(1 minute)", drain.At("Events", "EveryMinute", "Properties", "Schedule"))
	require.Len(t, drain.At("Events"), 1, "nobody else calls it")
	require.Less(t, seconds(drain.At("Timeout")), time.Minute, "one ends before the next begins")
	require.Greater(t, seconds(drain.At("Timeout")), 2*mail.Timeout)
	require.Equal(t, 0, drain.At("EventInvokeConfig", "MaximumRetryAttempts"), "the next drain comes anyway")
}

func TestTheFunctionsOfTheOutboxHaveTheirTableAndTheMail(t *testing.T) {
	t.Parallel()
	for variant, want := range map[string]map[string]any{
		"orders":               {"OUTBOX_TABLE": "${OutboxTable}", "MAIL_URL": "https://mail.example", "MAIL_SECRET": "", "QUEUE_URL": ""},
		"orders with a secret": {"OUTBOX_TABLE": "${OutboxTable}", "MAIL_URL": "", "MAIL_SECRET": mailSecret, "QUEUE_URL": ""},
		"shipping":             {"OUTBOX_TABLE": "${OutboxTable}", "MAIL_URL": "", "MAIL_SECRET": "", "QUEUE_URL": "${ShippingMessages}"},
	} {
		s := deployed(t, variants[variant])
		for id, name := range map[string]string{"RelayFunction": relaying, "DrainFunction": draining} {
			function := s.Resources[id]
			require.Equal(t, name, function.At("FunctionName"))
			require.Equal(t, want, function.At("Environment", "Variables"), variant)
			require.Equal(t, variants[variant]["KmsKeyArn"], function.At("KmsKeyArn"))
			require.Equal(t, "/aws/lambda/"+name, function.At("LoggingConfig", "LogGroup"))
		}
		require.Equal(t, map[string]any{"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": variants[variant]["KmsKeyArn"]},
			s.Resources[stack.Outbox].At("SSESpecification"))
	}
	plain := deployed(t, map[string]string{"Orders": "true"})
	require.Nil(t, plain.Resources[stack.Outbox].At("SSESpecification"))
	require.Nil(t, plain.Resources["RelayFunction"].At("KmsKeyArn"))
	require.Len(t, plain.Resources[relayRole].At("Policies"), 3, "there is no key to allow")
	for _, id := range []string{"DrainKeyPolicy", "RelaySecretPolicy", "DrainSecretPolicy"} {
		require.NotContains(t, plain.Resources, id)
	}
}

// TestWhoLooksMayListParkedMessagesAndWhoSettlesMayRedriveThem plays both.
func TestWhoLooksMayListParkedMessagesAndWhoSettlesMayRedriveThem(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.forGood = []string{`"poison"`}
	m.commit("poison")
	_, err := m.relay().Stream(t.Context(), m.event())
	require.NoError(t, err)
	m.needs()

	client := dynamolocal.Client(dynamolocal.Endpoint(t), m.calls.observe)
	var parked []outbox.ParkedMessage
	for p, err := range outbox.Parked(t.Context(), client, m.table) {
		require.NoError(t, err)
		parked = append(parked, p)
	}
	require.Len(t, parked, 1)
	_, err = outbox.Check(t.Context(), client, m.table)
	require.NoError(t, err)
	looks := m.needs()
	looks[access{"DescribeContinuousBackups", outboxTable}] = true // the doctor of the command line tool asks for it
	require.NoError(t, outbox.Redrive(t.Context(), client, m.table, parked[0], act.By, act.Why))
	settles := m.needs()

	about := func(s *stack.Stack, policy string) map[access]bool {
		all := accesses(t, managed(t, s, policy))
		maps.DeleteFunc(all, func(a access, _ bool) bool { return !strings.HasPrefix(a.resource, outboxTable) })
		return all
	}
	for variant := range variants {
		s := deployed(t, variants[variant])
		if hasOrders(variant) {
			require.Equal(t, looks, about(s, "OperatorPolicy"), variant)
			require.Equal(t, settles, about(s, "SettlerPolicy"), variant)
		} else {
			require.Empty(t, about(s, "OperatorPolicy"), variant)
			require.Empty(t, about(s, "SettlerPolicy"), variant)
		}
	}
}
