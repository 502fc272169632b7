package queuepump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// maxPayload is what an event may have, 6 MB, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html#invocation-eventsourcemapping-batching.
const maxPayload = 6 << 20

// message is one that was received, as an event has it.
type message struct {
	id, receiptHandle, group string
	text                     json.RawMessage
}

const eventBegin, eventEnd = `{"Records":[`, `]}`

// payloadOf is the event that hands messages over, see https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#example-standard-queue-message-event.
func payloadOf(messages []message) []byte {
	var b bytes.Buffer
	b.WriteString(eventBegin)
	for i, m := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m.text)
	}
	b.WriteString(eventEnd)
	return b.Bytes()
}

// cut returns how many of the messages the next event has, and whether it has no room for more.
func cut(messages []message, batchSize int) (n int, full bool) {
	size := len(eventBegin) + len(eventEnd)
	for n < len(messages) && n < batchSize {
		size += len(messages[n].text) + len(",")
		if size > maxPayload && n > 0 {
			return n, true
		}
		n++
	}
	return n, n == batchSize
}

func newMessage(m types.Message, queueARN string) (message, error) {
	e := events.SQSMessage{
		MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
		Md5OfBody: aws.ToString(m.MD5OfBody), Md5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes), Attributes: m.Attributes,
		MessageAttributes: make(map[string]events.SQSMessageAttribute, len(m.MessageAttributes)),
		EventSourceARN:    queueARN, EventSource: "aws:sqs", AWSRegion: regionOf(queueARN),
	}
	for name, v := range m.MessageAttributes {
		// The lists are not used, see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_MessageAttributeValue.html.
		e.MessageAttributes[name] = events.SQSMessageAttribute{
			StringValue: v.StringValue, BinaryValue: v.BinaryValue, DataType: aws.ToString(v.DataType),
			StringListValues: []string{}, BinaryListValues: [][]byte{},
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return message{}, fmt.Errorf("queuepump: message %s: %w", e.MessageId, err)
	}
	return message{e.MessageId, e.ReceiptHandle, m.Attributes["MessageGroupId"], text}, nil
}

// regionOf is the fourth part of an ARN, see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html.
func regionOf(arn string) string {
	const region = 3
	if parts := strings.Split(arn, ":"); len(parts) > region {
		return parts[region]
	}
	return ""
}
