package outboxsqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxsqs"
)

const (
	id       = "7d2cf2a8-64b7-5d3f-9d0c-2f6f2a3c8f10"
	standard = "https://sqs.eu-central-1.amazonaws.com/123456789012/mail"
	fifo     = standard + ".fifo"
	traced   = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a:0"
)

// message is one with everything.
func message() outbox.Message {
	return outbox.Message{
		ID: id, Topic: "order-placed", Body: json.RawMessage(`{"order_id":"o-1","email":"secret@example.com"}`),
		Attributes: map[string]string{"Region": "eu"}, Group: "customer-1", Tenant: "acme", Trace: traced,
	}
}

// client keeps what it is sent.
type client struct {
	sent []*sqs.SendMessageInput
	err  error
}

func (c *client) SendMessage(_ context.Context, in *sqs.SendMessageInput,
	_ ...func(*sqs.Options),
) (*sqs.SendMessageOutput, error) {
	c.sent = append(c.sent, in)
	return &sqs.SendMessageOutput{}, c.err
}

// sentTo delivers a message and returns what was sent.
func sentTo(t *testing.T, url string, m outbox.Message) *sqs.SendMessageInput {
	t.Helper()
	c := &client{}
	require.NoError(t, outboxsqs.To(c, url)(t.Context(), m))
	require.Len(t, c.sent, 1)
	return c.sent[0]
}

func text(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(s)}
}

func isPermanent(err error) bool {
	_, is := errors.AsType[*relay.PermanentError](err)
	return is
}

func TestAMessageCarriesItsIDAsKey(t *testing.T) {
	t.Parallel()
	assert.Equal(t, &sqs.SendMessageInput{
		QueueUrl: aws.String(standard), MessageBody: aws.String(`{"order_id":"o-1","email":"secret@example.com"}`),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"Idempotency-Key": text(id), "topic": text("order-placed"), "tenant": text("acme"), "Region": text("eu"),
		},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(traced)},
		},
		MessageGroupId: aws.String("customer-1"),
	}, sentTo(t, standard, message()))
	assert.Equal(t, &sqs.SendMessageInput{
		QueueUrl: aws.String(standard), MessageBody: aws.String("1"),
		MessageAttributes: map[string]types.MessageAttributeValue{"Idempotency-Key": text(id), "topic": text("größe")},
	}, sentTo(t, standard, outbox.Message{ID: id, Topic: "größe", Body: json.RawMessage("1")}))
}

func TestAFIFOQueueDropsRepetitionsAndKeepsGroups(t *testing.T) {
	t.Parallel()
	alone := message()
	alone.Group = ""
	for name, tc := range map[string]struct {
		url           string
		m             outbox.Message
		dedup, groups *string
	}{
		"standard":           {standard, alone, nil, nil},
		"fair queue":         {standard, message(), nil, aws.String("customer-1")},
		"fifo":               {fifo, message(), aws.String(id), aws.String("customer-1")},
		"without a group":    {fifo, alone, aws.String(id), aws.String(id)},
		"fifo in the middle": {strings.Replace(fifo, "mail.fifo", "a.fifo-mail", 1), alone, nil, nil},
	} {
		got := sentTo(t, tc.url, tc.m)
		assert.Equal(t, tc.dedup, got.MessageDeduplicationId, name)
		assert.Equal(t, tc.groups, got.MessageGroupId, name)
	}
}

func TestATraceThatIsNoneIsLeftOut(t *testing.T) {
	t.Parallel()
	root := "Root=1-5759e988-bd862e3fe1be46a994272793"
	for trace, sent := range map[string]bool{
		root: true, "Self=1-67891234-12456789abcdef012345678;" + root + ";a=": true, root + ";Sampled=0;": true,
		"": false, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": false, root + ";ö=1": false,
		root + "\n": false, root + ";x": false,
	} {
		m := message()
		m.Trace = trace
		assert.Equal(t, sent, sentTo(t, standard, m).MessageSystemAttributes != nil, trace)
	}
}

// JSON has two characters that SQS refuses.
func TestABodyIsSpelledSoThatSQSTakesIt(t *testing.T) {
	t.Parallel()
	m := message()
	m.Body = json.RawMessage("{\"a\\\\\uFFFF\":\"\uFFFEx\uFFFD\u007f\U0001F600\"}")
	got := aws.ToString(sentTo(t, standard, m).MessageBody)
	assert.Equal(t, "{\"a\\\\\\uffff\":\"\\ufffex\uFFFD\u007f\U0001F600\"}", got)
	assert.JSONEq(t, string(m.Body), got)
}

func TestWhatSQSNeverTakesIsPermanent(t *testing.T) {
	t.Parallel()
	attribute := func(name, value string) func(*outbox.Message) {
		return func(m *outbox.Message) { m.Attributes = map[string]string{name: value} }
	}
	group := func(group string) func(*outbox.Message) {
		return func(m *outbox.Message) { m.Group = group }
	}
	const ours = " of the message has the name of one that every message has"
	for name, tc := range map[string]struct {
		change func(*outbox.Message)
		want   string
	}{
		"empty name":     {attribute("", "v1secret"), `the attribute "" of the message has a name that SQS does not take`},
		"space":          {attribute("a b", "v1secret"), `"a b" of the message has a name`},
		"reserved":       {attribute("aws.x", "v1secret"), "has a name"},
		"reserved too":   {attribute("AMAZON.x", "v1secret"), "has a name"},
		"period first":   {attribute(".x", "v1secret"), "has a name"},
		"period last":    {attribute("x.", "v1secret"), "has a name"},
		"periods":        {attribute("x..y", "v1secret"), "has a name"},
		"long name":      {attribute(strings.Repeat("x", 257), "v1secret"), "has a name"},
		"our key":        {attribute("Idempotency-Key", "v1secret"), `the attribute "Idempotency-Key"` + ours},
		"our topic":      {attribute("topic", "v1secret"), "has the name of one"},
		"our tenant":     {attribute("tenant", "v1secret"), "has the name of one"},
		"empty value":    {attribute("a", ""), `the attribute "a" of the message has a value that is empty`},
		"control value":  {attribute("a", "v1secret\x00"), "has a value that has a character that SQS does not take"},
		"refused value":  {attribute("a", "v1secret\uFFFE"), "has a character that SQS does not take"},
		"topic":          {func(m *outbox.Message) { m.Topic = "v1secret\x01" }, "the attribute topic of the message has a character"},
		"id":             {func(m *outbox.Message) { m.ID = "" }, "the attribute Idempotency-Key of the message is empty"},
		"group, space":   {group("v1secret x"), "the group of the message is not one of SQS"},
		"group, foreign": {group("v1secretö"), "the group of the message is not one of SQS"},
		"group, long":    {group(strings.Repeat("v1secret", 17)), "the group of the message is not one of SQS"},
	} {
		m, c := message(), &client{}
		tc.change(&m)
		err := outboxsqs.To(c, fifo)(t.Context(), m)
		require.ErrorContains(t, err, tc.want, name)
		assert.True(t, isPermanent(err), name)
		assert.NotContains(t, err.Error(), "v1secret", name)
		assert.Empty(t, c.sent, name)
	}
	for _, fine := range []string{"a.b", "x_y-z.1", "awsx", strings.Repeat("x", 256)} {
		m := message()
		m.Attributes = map[string]string{fine: "a\t\r\n\u00f6"}
		assert.Equal(t, text("a\t\r\n\u00f6"), sentTo(t, standard, m).MessageAttributes[fine])
	}
	m := message()
	m.Group = strings.Repeat("x", 128)
	assert.Equal(t, m.Group, *sentTo(t, fifo, m).MessageGroupId)
}

func TestAQueueTakesTenAttributes(t *testing.T) {
	t.Parallel()
	c := &client{}
	deliver := outboxsqs.To(c, standard)
	for _, tc := range []struct {
		tenant string
		n      int
		want   string
	}{
		{"acme", 7, ""},
		{"acme", 8, "outboxsqs: the message has 8 attributes, and with the 3 that every message has that is 11, " +
			"more than the 10 that SQS takes"},
		{"", 8, ""},
		{"", 9, "outboxsqs: the message has 9 attributes, and with the 2 that every message has that is 11, more " +
			"than the 10 that SQS takes"},
	} {
		m := message()
		m.Tenant, m.Attributes = tc.tenant, map[string]string{}
		for i := range tc.n {
			m.Attributes[fmt.Sprint("a", i)] = "v"
		}
		err := deliver(t.Context(), m)
		if tc.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tc.want)
		assert.True(t, isPermanent(err))
	}
	require.Len(t, c.sent, 2)
	assert.Len(t, c.sent[0].MessageAttributes, 10)
	assert.Len(t, c.sent[1].MessageAttributes, 10)
}

func TestOnlyWhatCanNeverSucceedIsPermanent(t *testing.T) {
	t.Parallel()
	generic := func(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }
	const tooLarge = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
	for name, tc := range map[string]struct {
		err       error
		permanent bool
	}{
		"too large":         {generic("InvalidParameterValue", tooLarge), true},
		"by its other name": {generic("InvalidParameterValueException", tooLarge), true},
		"contents":          {&types.InvalidMessageContents{}, true},
		"another parameter": {generic("InvalidParameterValue",
			"Value 1 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0"), false},
		"text of another": {generic("InternalError", tooLarge), false},
		"no queue":        {&types.QueueDoesNotExist{}, false},
		"throttled":       {&types.RequestThrottled{}, false},
		"key of KMS":      {&types.KmsDisabled{}, false},
		"not allowed":     {generic("AccessDenied", "not authorized to perform: sqs:sendmessage"), false},
		"not supported":   {&types.UnsupportedOperation{}, false},
		// one message is no batch: whoever has made one can send it alone
		"a batch of others":  {&types.BatchRequestTooLong{}, false},
		"connection refused": {errors.New("connection refused"), false},
		"cancelled":          {context.Canceled, false},
	} {
		failed := fmt.Errorf("operation error SQS: SendMessage, %w", tc.err)
		err := outboxsqs.To(&client{err: failed}, standard)(t.Context(), message())
		require.ErrorIs(t, err, tc.err, name)
		assert.Equal(t, tc.permanent, isPermanent(err), name)
		for _, secret := range []string{id, "o-1", "secret@", "order-placed", "acme", "customer-1"} {
			assert.NotContains(t, err.Error(), secret, name)
		}
	}
}

// answering is a transport that answers as SQS does.
type answering struct{ query, body string }

func (a answering) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 400,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Query-Error": {a.query}},
		Body:       io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// The texts are those that SQS sends, with the codes of its older protocol in a header of their
// own.
func TestTheClientOfTheSDKTellsWhatCanNeverSucceed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answering
		permanent bool
	}{
		"too large": {answering{
			"InvalidParameterValue;Sender",
			`{"__type":"com.amazon.coral.service#InvalidParameterValueException",` +
				`"message":"One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."}`,
		}, true},
		"contents": {answering{
			"InvalidMessageContents;Sender",
			`{"__type":"com.amazonaws.sqs#InvalidMessageContents","message":"Invalid characters"}`,
		}, true},
		"no queue": {answering{
			"AWS.SimpleQueueService.NonExistentQueue;Sender",
			`{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}`,
		}, false},
		"throttled": {answering{"", `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow down"}`}, false},
	} {
		c := sqs.New(sqs.Options{
			Region: "eu-central-1", HTTPClient: tc.answering, RetryMaxAttempts: 1,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
			}),
		})
		err := outboxsqs.To(c, standard)(t.Context(), message())
		require.Error(t, err, name)
		assert.Equal(t, tc.permanent, isPermanent(err), "%s: %v", name, err)
	}
}

func TestAWrongConfigurationIsNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		"outboxsqs.To: the client is nil",
		"outboxsqs.To: the URL of the queue is not one of the form " +
			"https://sqs.<Region>.amazonaws.com/<account>/<name>; a name or an ARN is none",
	}, configtest.ProblemsOf(t, func() { outboxsqs.To(nil, "mail.fifo") }))
}

// The consumer of the package's documentation.
func TestAConsumerActsOnceHoweverOftenAMessageComes(t *testing.T) {
	t.Parallel()
	mailed := 0
	mail := idempotent.Wrap(func(context.Context, events.SQSMessage) (struct{}, error) {
		mailed++
		return struct{}{}, nil
	}, memory.New(), idempotent.WithOperation("mail"),
		idempotent.WithKeyPath(`messageAttributes."Idempotency-Key".stringValue`))
	again := message()
	again.Trace, again.Tries = "", 3
	for i, m := range []outbox.Message{message(), again} {
		sent := sentTo(t, standard, m)
		received := events.SQSMessage{
			MessageId: fmt.Sprint("message-", i), Body: *sent.MessageBody,
			MessageAttributes: map[string]events.SQSMessageAttribute{},
		}
		for name, value := range sent.MessageAttributes {
			received.MessageAttributes[name] = events.SQSMessageAttribute{
				DataType: *value.DataType, StringValue: value.StringValue,
			}
		}
		_, err := mail.Handle(t.Context(), received)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, mailed)
	_, err := mail.Handle(t.Context(), events.SQSMessage{Body: "1"})
	assert.ErrorIs(t, err, idempotent.ErrMissingKey)
}
