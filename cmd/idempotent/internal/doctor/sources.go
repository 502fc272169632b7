package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The checks of the queues and streams that call a function. See
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html,
// https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html.
const (
	checkVisibility  = "queue: visibility timeout"
	checkRedrive     = "queue: dead-letter queue"
	checkDestination = "stream: on-failure destination"
)

// What AWS recommends: how many timeouts of the function a message has to stay invisible at least,
// and how often it is received at least before it goes to the dead-letter queue.
const (
	visibilityFactor = 6
	fewestReceives   = 5
)

// sources looks at the queues and streams that call the function.
func (p *Patient) sources(ctx context.Context, client *lambda.Client, timeout time.Duration) {
	before := len(p.Findings)
	pages := lambda.NewListEventSourceMappingsPaginator(client,
		&lambda.ListEventSourceMappingsInput{FunctionName: aws.String(p.Function)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			p.unseen(checkBatches, err)
			return
		}
		for _, m := range page.EventSourceMappings {
			// arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE
			parts := strings.SplitN(aws.ToString(m.EventSourceArn)+":::::", ":", 6)
			s := source{p, m, strings.Trim(parts[5], ":")}
			if path := strings.Split(s.name, "/"); len(path) > 1 {
				s.name = path[1] // of table/NAME/stream/LABEL
			}
			switch parts[2] {
			case "sqs":
				s.responses("sends its whole batch again")
				s.queue(ctx, parts[4], timeout)
			case "kinesis", "dynamodb":
				s.responses("repeats its whole batch")
				s.destination()
			default:
				s.found(checkBatches, NotChecked, "it is no queue of SQS and no stream of Kinesis or DynamoDB")
			}
		}
	}
	if len(p.Findings) == before {
		p.Found(checkBatches, OK, "no queue and no stream calls it")
	}
}

// source is one queue or stream that calls a function.
type source struct {
	*Patient

	mapping lambdatypes.EventSourceMappingConfiguration
	name    string
}

// found adds what came of a check of the source.
func (s source) found(check string, r Result, detail string, args ...any) {
	s.Found(check, r, "%s", strings.TrimSuffix(s.name+": "+fmt.Sprintf(detail, args...), ": "))
}

// responses looks whether Lambda reads which records of a batch have failed. A function that says
// so, as one of package batch does, loses them where Lambda does not read it, also if each batch is
// of one record.
func (s source) responses(whole string) {
	switch {
	case slices.Contains(s.mapping.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures):
		s.found(checkBatches, OK, "")
	case aws.ToInt32(s.mapping.BatchSize) == 1:
		s.found(checkBatches, Problem,
			"ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success")
	default:
		s.found(checkBatches, Problem, "ReportBatchItemFailures is off, so one failed record %s, and failures "+
			"that the function answers with are taken for a success", whole)
	}
}

// queue looks at the queue itself.
func (s source) queue(ctx context.Context, account string, timeout time.Duration) {
	client := sqs.NewFromConfig(s.Config)
	url, err := client.GetQueueUrl(ctx,
		&sqs.GetQueueUrlInput{QueueName: aws.String(s.name), QueueOwnerAWSAccountId: aws.String(account)})
	if err != nil {
		s.found(checkVisibility, NotChecked, "%s", reason(err))
		return
	}
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url.QueueUrl,
		AttributeNames: []sqstypes.QueueAttributeName{
			sqstypes.QueueAttributeNameVisibilityTimeout,
			sqstypes.QueueAttributeNameRedrivePolicy,
		},
	})
	if err != nil {
		s.found(checkVisibility, NotChecked, "%s", reason(err))
		return
	}
	s.visibility(out.Attributes, timeout)
	s.redrive(out.Attributes)
}

// visibility compares for how long a message that was received stays invisible with what its batch
// may take.
func (s source) visibility(attributes map[string]string, timeout time.Duration) {
	n, err := strconv.Atoi(attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)])
	visible := time.Duration(n) * time.Second
	switch need := visibilityFactor*timeout + ofSeconds(s.mapping.MaximumBatchingWindowInSeconds); {
	case err != nil:
		s.found(checkVisibility, NotChecked, "its visibility timeout is no number")
	case visible < need:
		s.found(checkVisibility, Problem, "messages are invisible for %s, which has to be %s (6 times the timeout and "+
			"the batching window): they are delivered again while they are handled", seconds(visible), seconds(need))
	default:
		s.found(checkVisibility, OK, "%s", seconds(visible))
	}
}

// redrive looks whether a message that always fails ends somewhere, and not too early.
func (s source) redrive(attributes map[string]string) {
	text := attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)]
	var policy struct {
		MaxReceiveCount json.Number // a number, or a text with one
	}
	err := json.Unmarshal([]byte(text), &policy)
	receives, notANumber := policy.MaxReceiveCount.Int64()
	switch {
	case text == "":
		s.found(checkRedrive, Problem,
			"there is none: a message that always fails comes again until the queue forgets it, and then it is lost")
	case err != nil || notANumber != nil:
		s.found(checkRedrive, NotChecked, "its redrive policy cannot be read")
	case receives < fewestReceives:
		s.found(checkRedrive, Warning, "maxReceiveCount is %d, which has to be %d: throttled invocations and "+
			"keys in progress count, too, so messages get there that nothing is wrong with", receives, fewestReceives)
	default:
		s.found(checkRedrive, OK, "after %d receives", receives)
	}
}

func (s source) destination() {
	if to := s.mapping.DestinationConfig; to == nil || to.OnFailure == nil ||
		aws.ToString(to.OnFailure.Destination) == "" {
		s.found(checkDestination, Problem, "there is none: nothing tells which records were given up")
	} else {
		s.found(checkDestination, OK, "")
	}
}
