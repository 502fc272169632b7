package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The checks of a queue that calls the function.
const (
	checkVisibility = "queue: visibility timeout"
	checkRedrive    = "queue: dead-letter queue"
)

// What AWS recommends: how many timeouts of the function a message has to stay invisible at least, and how often it is received at least before it
// goes to the dead-letter queue. See https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html.
const (
	visibilityFactor = 6
	fewestReceives   = 5
)

// queue looks at the queue itself.
func (p *Patient) queue(ctx context.Context, s source, timeout time.Duration) []Finding {
	attributes, err := p.attributes(ctx, s.arn)
	if err != nil {
		return []Finding{s.found(checkVisibility, NotChecked, reason(err)), s.found(checkRedrive, NotChecked, reason(err))}
	}
	return []Finding{s.visibility(attributes, timeout), s.redrive(attributes)}
}

// attributes are those of a queue that are looked at, by name.
func (p *Patient) attributes(ctx context.Context, arn string) (map[string]string, error) {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 {
		return nil, fmt.Errorf("%q is no ARN of a queue", arn)
	}
	url, err := p.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(parts[5]), QueueOwnerAWSAccountId: aws.String(parts[4])})
	if err != nil {
		return nil, err
	}
	out, err := p.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       url.QueueUrl,
		AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameVisibilityTimeout, sqstypes.QueueAttributeNameRedrivePolicy},
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// visibility compares for how long a message that was received stays invisible with what its batch may take.
func (s source) visibility(attributes map[string]string, timeout time.Duration) Finding {
	n, err := strconv.Atoi(attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)])
	if err != nil {
		return s.found(checkVisibility, NotChecked, "its visibility timeout is no number")
	}
	visible, need := time.Duration(n)*time.Second, visibilityFactor*timeout+ofSeconds(s.mapping.MaximumBatchingWindowInSeconds)
	if visible < need {
		return s.found(checkVisibility, Problem, fmt.Sprintf("messages are invisible for %s, which has to be %s (6 times the timeout and the "+
			"batching window): they are delivered again while they are handled", seconds(visible), seconds(need)))
	}
	return s.found(checkVisibility, OK, seconds(visible))
}

// redrive looks whether a message that always fails ends somewhere, and not too early.
func (s source) redrive(attributes map[string]string) Finding {
	text := attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)]
	if text == "" {
		return s.found(checkRedrive, Warning, "there is none: a message that always fails comes again until the queue forgets it, and then it is lost")
	}
	var policy struct {
		MaxReceiveCount json.Number // a number, or a text with one
	}
	err := json.Unmarshal([]byte(text), &policy)
	receives, notANumber := policy.MaxReceiveCount.Int64()
	switch {
	case err != nil || notANumber != nil:
		return s.found(checkRedrive, NotChecked, "its redrive policy cannot be read")
	case receives < fewestReceives:
		return s.found(checkRedrive, Warning, fmt.Sprintf("maxReceiveCount is %d, which has to be %d: throttled invocations and keys in progress count, too, "+
			"so messages get there that nothing is wrong with", receives, fewestReceives))
	default:
		return s.found(checkRedrive, OK, fmt.Sprintf("after %d receives", receives))
	}
}
