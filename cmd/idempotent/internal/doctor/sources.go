package doctor

import (
	"context"
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

// visibilityFactor is how many timeouts of the function a message has to stay invisible at least. See
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html.
const visibilityFactor = 6

// sources looks at the queues and streams that call the function.
func (p *Patient) sources(ctx context.Context, timeout time.Duration) []Finding {
	pages := lambda.NewListEventSourceMappingsPaginator(p.Lambda, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(p.Function)})
	var findings []Finding
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return append(findings, unseen(checkBatches, err))
		}
		for _, m := range page.EventSourceMappings {
			findings = append(findings, p.source(ctx, m, timeout))
		}
	}
	if len(findings) == 0 {
		return []Finding{{checkBatches, OK, "no queue and no stream calls it"}}
	}
	return findings
}

func (p *Patient) source(ctx context.Context, m lambdatypes.EventSourceMappingConfiguration, timeout time.Duration) Finding {
	arn := aws.ToString(m.EventSourceArn)
	f := Finding{checkBatches, OK, arn[strings.LastIndexAny(arn, ":/")+1:]}
	partial := slices.Contains(m.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures)
	if !partial && aws.ToInt32(m.BatchSize) != 1 {
		f.Result = Warning
		f.Detail += ": ReportBatchItemFailures is off, so one failed record sends its whole batch again"
	}
	if !strings.Contains(arn, ":sqs:") {
		return f
	}
	visible, err := p.visibility(ctx, arn)
	need := visibilityFactor*timeout + ofSeconds(m.MaximumBatchingWindowInSeconds)
	switch {
	case err != nil && f.Result == OK:
		return Finding{checkBatches, NotChecked, f.Detail + ": its visibility timeout: " + reason(err)}
	case err != nil:
		f.Detail += "; its visibility timeout was not checked: " + reason(err)
	case visible < need:
		f.Result = Problem
		f.Detail += fmt.Sprintf(": messages are invisible for %s, which has to be %s (6 times the timeout and the batching window): "+
			"they are delivered again while they are handled", seconds(visible), seconds(need))
	}
	return f
}

// visibility returns for how long a message that was received stays invisible.
func (p *Patient) visibility(ctx context.Context, arn string) (time.Duration, error) {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 {
		return 0, fmt.Errorf("%q is no ARN of a queue", arn)
	}
	url, err := p.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(parts[5]), QueueOwnerAWSAccountId: aws.String(parts[4])})
	if err != nil {
		return 0, err
	}
	out, err := p.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameVisibilityTimeout},
	})
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out.Attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)])
	return time.Duration(n) * time.Second, err
}
