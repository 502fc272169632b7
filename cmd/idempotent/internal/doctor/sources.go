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
func (p *Patient) sources(ctx context.Context, client *lambda.Client, timeout time.Duration) (findings []Finding) {
	pages := lambda.NewListEventSourceMappingsPaginator(client,
		&lambda.ListEventSourceMappingsInput{FunctionName: aws.String(p.Function)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return append(findings, unseen(checkBatches, err))
		}
		for _, m := range page.EventSourceMappings {
			// arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE
			parts := strings.SplitN(aws.ToString(m.EventSourceArn)+":::::", ":", 6)
			s := source{m, strings.Trim(parts[5], ":")}
			if path := strings.Split(s.name, "/"); len(path) > 1 {
				s.name = path[1] // of table/NAME/stream/LABEL
			}
			switch parts[2] {
			case "sqs":
				findings = append(findings, s.responses("sends its whole batch again"))
				findings = append(findings, p.queue(ctx, s, parts[4], timeout)...)
			case "kinesis", "dynamodb":
				findings = append(findings, s.responses("repeats its whole batch"), s.destination())
			default:
				findings = append(findings,
					s.found(checkBatches, NotChecked, "it is no queue of SQS and no stream of Kinesis or DynamoDB"))
			}
		}
	}
	if len(findings) == 0 {
		return []Finding{{checkBatches, OK, "no queue and no stream calls it"}}
	}
	return findings
}

// source is one queue or stream that calls a function.
type source struct {
	mapping lambdatypes.EventSourceMappingConfiguration
	name    string
}

// found is what came of a check of the source.
func (s source) found(check string, r Result, detail string, args ...any) Finding {
	return Finding{check, r, strings.TrimSuffix(s.name+": "+fmt.Sprintf(detail, args...), ": ")}
}

// responses looks whether Lambda reads which records of a batch have failed. A function that says
// so, as one of package batch does, loses them where Lambda does not read it, also if each batch is
// of one record.
func (s source) responses(whole string) Finding {
	switch {
	case slices.Contains(s.mapping.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures):
		return s.found(checkBatches, OK, "")
	case aws.ToInt32(s.mapping.BatchSize) == 1:
		return s.found(checkBatches, Problem,
			"ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success")
	default:
		return s.found(checkBatches, Problem, "ReportBatchItemFailures is off, so one failed record %s, and failures "+
			"that the function answers with are taken for a success", whole)
	}
}

// queue looks at the queue itself.
func (p *Patient) queue(ctx context.Context, s source, account string, timeout time.Duration) []Finding {
	client := sqs.NewFromConfig(p.Config)
	url, err := client.GetQueueUrl(ctx,
		&sqs.GetQueueUrlInput{QueueName: aws.String(s.name), QueueOwnerAWSAccountId: aws.String(account)})
	if err != nil {
		return []Finding{s.found(checkVisibility, NotChecked, "%s", reason(err))}
	}
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url.QueueUrl,
		AttributeNames: []sqstypes.QueueAttributeName{
			sqstypes.QueueAttributeNameVisibilityTimeout,
			sqstypes.QueueAttributeNameRedrivePolicy,
		},
	})
	if err != nil {
		return []Finding{s.found(checkVisibility, NotChecked, "%s", reason(err))}
	}
	return []Finding{s.visibility(out.Attributes, timeout), s.redrive(out.Attributes)}
}

// visibility compares for how long a message that was received stays invisible with what its batch
// may take.
func (s source) visibility(attributes map[string]string, timeout time.Duration) Finding {
	n, err := strconv.Atoi(attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)])
	if err != nil {
		return s.found(checkVisibility, NotChecked, "its visibility timeout is no number")
	}
	visible, need := time.Duration(n)*time.Second,
		visibilityFactor*timeout+ofSeconds(s.mapping.MaximumBatchingWindowInSeconds)
	if visible < need {
		return s.found(checkVisibility, Problem, "messages are invisible for %s, which has to be %s (6 times the "+
			"timeout and the batching window): they are delivered again while they are handled", seconds(visible),
			seconds(need))
	}
	return s.found(checkVisibility, OK, "%s", seconds(visible))
}

// redrive looks whether a message that always fails ends somewhere, and not too early.
func (s source) redrive(attributes map[string]string) Finding {
	text := attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)]
	if text == "" {
		return s.found(checkRedrive, Problem,
			"there is none: a message that always fails comes again until the queue forgets it, and then it is lost")
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
		return s.found(checkRedrive, Warning, "maxReceiveCount is %d, which has to be %d: throttled invocations and "+
			"keys in progress count, too, so messages get there that nothing is wrong with", receives, fewestReceives)
	default:
		return s.found(checkRedrive, OK, "after %d receives", receives)
	}
}

func (s source) destination() Finding {
	if to := s.mapping.DestinationConfig; to == nil || to.OnFailure == nil ||
		aws.ToString(to.OnFailure.Destination) == "" {
		return s.found(checkDestination, Problem, "there is none: nothing tells which records were given up")
	}
	return s.found(checkDestination, OK, "")
}
