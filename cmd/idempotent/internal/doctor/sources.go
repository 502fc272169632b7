package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

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
			findings = append(findings, p.source(ctx, source{m, aws.ToString(m.EventSourceArn)}, timeout)...)
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
	arn     string
}

func (p *Patient) source(ctx context.Context, s source, timeout time.Duration) []Finding {
	switch s.service() {
	case serviceSQS:
		return append([]Finding{s.responses(repeatsQueue)}, p.queue(ctx, s, timeout)...)
	case serviceKinesis, serviceDynamoDB:
		return append([]Finding{s.responses(repeatsStream)}, s.stream()...)
	default:
		return []Finding{{checkBatches, NotChecked, s.name() + ": it is no queue of SQS and no stream of Kinesis or DynamoDB"}}
	}
}

// The services that a function gets batches from, as their ARNs name them.
const (
	serviceSQS      = "sqs"
	serviceKinesis  = "kinesis"
	serviceDynamoDB = "dynamodb"
)

// What one failed record does where Lambda does not read which one it was.
const (
	repeatsQueue  = "sends its whole batch again"
	repeatsStream = "repeats its whole batch"
)

// service is that of the ARN: arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE.
func (s source) service() string {
	parts := strings.SplitN(s.arn, ":", 6)
	if len(parts) != 6 {
		return ""
	}
	return parts[2]
}

// name is the name of the queue, the stream or the table in the ARN, of which some have more behind it: table/NAME/stream/LABEL.
func (s source) name() string {
	parts := strings.SplitN(s.arn, ":", 6)
	resource := parts[len(parts)-1]
	if path := strings.Split(resource, "/"); len(path) > 1 {
		resource = path[1]
	}
	if resource == "" {
		return "a source without an ARN"
	}
	return resource
}

// found is what came of a check of the source.
func (s source) found(check string, r Result, detail string) Finding {
	if detail == "" {
		return Finding{check, r, s.name()}
	}
	return Finding{check, r, s.name() + ": " + detail}
}

// responses looks whether Lambda reads which records of a batch have failed. A function that says so, as one of package batch does, loses them
// where Lambda does not read it, also if each batch is of one record.
func (s source) responses(whole string) Finding {
	partial := slices.Contains(s.mapping.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures)
	switch {
	case partial:
		return s.found(checkBatches, OK, "")
	case aws.ToInt32(s.mapping.BatchSize) == 1:
		return s.found(checkBatches, Warning, "ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success")
	default:
		return s.found(checkBatches, Warning, fmt.Sprintf("ReportBatchItemFailures is off, so one failed record %s, "+
			"and failures that the function answers with are taken for a success", whole))
	}
}
