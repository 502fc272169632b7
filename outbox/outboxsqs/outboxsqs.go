// Package outboxsqs delivers the messages of an outbox to a queue of Amazon SQS:
//
//	relay := outbox.NewRelay(client, table, outboxsqs.To(sqs.NewFromConfig(cfg), os.Getenv("QUEUE_URL")))
//
// It needs the IAM action sqs:SendMessage.
//
// The body is that of the message. The message attributes, all of type String, are
//
//   - Idempotency-Key: the id of the message. It is the same whenever the message is delivered
//   - topic
//   - tenant, if the message has one
//   - each attribute of the message, by its name. SQS takes ten in all
//
// The system attribute AWSTraceHeader is the trace header of the message, if it has one.
//
// A queue whose URL ends in .fifo is a FIFO queue. There the deduplication id is the id of the
// message, so that SQS drops what comes again within five minutes. The group is that of the
// message, or one of its own, so that it waits for no other. On a standard queue a group makes it a
// fair one: many messages of one group do not hold up those of the others.
//
// A message may come more than once. So the consumer acts once on the key that comes with it. Its
// default, m.MessageId, is another one whenever the relay delivers the message again:
//
//	mail := idempotent.Wrap(batch.JSON(sendMail), store, // func(context.Context, Mail, events.SQSMessage) (struct{}, error)
//		idempotent.WithOperation("mail"),
//		idempotent.WithKeyPath(`messageAttributes."Idempotency-Key".stringValue`))
//	lambda.Start(batch.SQS(mail))
//
// What SQS can never take is an [outbox.Permanent] error: too many attributes, an attribute or a
// group that SQS does not allow, and what SQS says is too large for the queue or has characters
// that it does not take. A queue takes 1 MiB by default, which no item of DynamoDB reaches. Every
// other error is tried again, also that of a queue which is not there.
package outboxsqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/outbox"
)

// Client is what is needed of an [*sqs.Client]. It has to be safe for concurrent use.
type Client interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput,
		optFns ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

type queue struct {
	client Client
	url    string
	fifo   bool
}

// To returns a function that delivers messages to the queue with this URL, for [outbox.NewRelay],
// which bounds each delivery, with all that the client tries. The function is safe for concurrent
// use. An error of it wraps that of the client.
//
// To sends nothing. It panics with a [*store.ConfigError] that names every problem.
func To(client Client, queueURL string) outbox.Deliver {
	p := setup.Of("outboxsqs.To")
	q := &queue{client: client, url: queueURL, fifo: p.Queue(client, queueURL)}
	p.Panic()
	return q.deliver
}

func (q *queue) deliver(ctx context.Context, m outbox.Message) error {
	in, err := q.inputOf(m)
	if err != nil {
		return outbox.Permanent(fmt.Errorf("outboxsqs: %w", err))
	}
	_, err = q.client.SendMessage(ctx, in)
	switch {
	case err == nil:
		return nil
	case hopeless(err):
		return outbox.Permanent(fmt.Errorf("outboxsqs: the queue can never take the message as it is: %w", err))
	default:
		return fmt.Errorf("outboxsqs: send a message: %w", err)
	}
}

func (q *queue) inputOf(m outbox.Message) (*sqs.SendMessageInput, error) {
	attributes, err := attributesOf(m)
	if err != nil {
		return nil, err
	}
	in := &sqs.SendMessageInput{
		QueueUrl: aws.String(q.url), MessageAttributes: attributes,
		MessageBody: aws.String(escape.Replace(string(m.Body))),
	}
	if traceHeader.MatchString(m.Trace) { // a message does not fail because of its trace
		const name = string(types.MessageSystemAttributeNameForSendsAWSTraceHeader)
		trace := types.MessageSystemAttributeValue(textOf(m.Trace))
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{name: trace}
	}
	group := m.Group
	if q.fifo {
		in.MessageDeduplicationId = aws.String(m.ID)
		group = cmp.Or(group, m.ID)
	}
	if !isGroup(group) {
		return nil, errors.New("the group of the message is not one of SQS: 1 to 128 letters, digits and " +
			"punctuation characters of ASCII")
	}
	if group != "" {
		in.MessageGroupId = aws.String(group)
	}
	return in, nil
}

// hopeless reports whether SQS refuses a message for what is in it. That the queue is not there, or
// that its key of KMS is disabled, may change. So may what else is an InvalidParameterValue, the
// code of a message that is too large:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
func hopeless(err error) bool {
	if _, is := errors.AsType[*types.InvalidMessageContents](err); is {
		return true
	}
	api, is := errors.AsType[smithy.APIError](err)
	return is && strings.HasPrefix(api.ErrorCode(), "InvalidParameterValue") &&
		strings.Contains(api.ErrorMessage(), "must be shorter than")
}

const (
	attributeKey    = "Idempotency-Key"
	attributeTopic  = "topic"
	attributeTenant = "tenant"
)

// The limits of SQS:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
const (
	maxAttributes = 10
	maxName       = 256
	maxGroup      = 128
)

// attributesOf returns the attributes of a message. An error never has a value of one.
func attributesOf(m outbox.Message) (map[string]types.MessageAttributeValue, error) {
	all := make(map[string]types.MessageAttributeValue, len(m.Attributes)+3)
	for _, own := range [...]struct{ name, value string }{
		{attributeKey, m.ID}, {attributeTopic, m.Topic}, {attributeTenant, m.Tenant},
	} {
		if own.name == attributeTenant && own.value == "" {
			continue
		}
		if problem := unusable(own.value); problem != "" {
			return nil, fmt.Errorf("the attribute %s of the message %s", own.name, problem)
		}
		all[own.name] = textOf(own.value)
	}
	if own, sum := len(all), len(all)+len(m.Attributes); sum > maxAttributes {
		return nil, fmt.Errorf("the message has %d attributes, and with the %d that every message has that is %d, "+
			"more than the %d that SQS takes", len(m.Attributes), own, sum, maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		value := m.Attributes[name]
		problem := unusable(value)
		switch {
		case !isName(name):
			problem = "has a name that SQS does not take"
		case slices.Contains([]string{attributeKey, attributeTopic, attributeTenant}, name):
			problem = "has the name of one that every message has"
		case problem != "":
			problem = "has a value that " + problem
		}
		if problem != "" {
			return nil, fmt.Errorf("the attribute %q of the message %s", name, problem)
		}
		all[name] = textOf(value)
	}
	return all, nil
}

func textOf(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(s)}
}

var attributeName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func isName(s string) bool {
	lower := strings.ToLower(s)
	return attributeName.MatchString(s) && len(s) <= maxName && !strings.HasPrefix(lower, "aws.") &&
		!strings.HasPrefix(lower, "amazon.")
}

// unusable says why SQS does not take the value of an attribute, empty if it does.
func unusable(value string) string {
	switch {
	case value == "":
		return "is empty"
	case strings.ContainsFunc(value, refused):
		return "has a character that SQS does not take"
	default:
		return ""
	}
}

// refused reports whether a character is none of XML 1.0, which are those that SQS takes.
func refused(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF'
}

// escape spells the two characters that JSON takes and SQS does not in a way that both take. In
// JSON they only occur within strings.
var escape = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)

func isGroup(s string) bool {
	return len(s) <= maxGroup && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// traceHeader is one as X-Ray writes it. SQS refuses a message with another one.
var traceHeader = regexp.MustCompile(
	`^([A-Za-z]+=[!-:<-~]*;)*Root=1-[0-9a-f]{8}-[0-9a-f]{24}(;[A-Za-z]+=[!-:<-~]*)*;?$`)
