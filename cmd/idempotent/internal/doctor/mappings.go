package doctor

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

// mappings looks at the queues and streams that call functions, as at those of a function that is deployed.
func (e *examination) mappings() []Finding {
	findings := []Finding{}
	for _, m := range e.sources {
		id := m.Function
		s := e.subject(id)
		if s == nil {
			id = "a function that is not in the template"
		}
		for _, f := range e.mapping(m, s) {
			f = unsettled(f, m)
			if f.Result == Problem || f.Result == Warning {
				f = exempted(f, s, m)
			}
			f.Detail = id + ": " + f.Detail
			findings = append(findings, f)
		}
	}
	return findings
}

// unsettled is a finding, or that it rests on a setting that only a deployment knows. A batching window can only make a visibility timeout too short; each
// other setting can only make a warning needless.
func unsettled(f Finding, m sam.Source) Finding {
	doubtful := Warning
	if f.Check == checkVisibility {
		doubtful = OK
	}
	for _, name := range settles[f.Check] {
		if f.Result == doubtful && !sam.Known(m.Settings[name]) {
			return Finding{f.Check, NotChecked, m.Named() + ": only a deployment knows its " + name}
		}
	}
	return f
}

// settles are the settings that a check rests on.
var settles = map[string][]string{
	checkBatches:    {"FunctionResponseTypes"},
	checkVisibility: {"MaximumBatchingWindowInSeconds"},
	checkRetries:    {"MaximumRetryAttempts", "MaximumRecordAgeInSeconds"},
	checkBisect:     {"BisectBatchOnFunctionError", "BatchSize"},
}

// exempted is a finding, or that somebody has said why it is none.
func exempted(f Finding, s *subject, m sam.Source) Finding {
	if s == nil {
		return f
	}
	why, exempt := s.says.named("source", s.says.sources, m.ID, m.Named())
	if !exempt {
		return f
	}
	return Finding{f.Check, OK, m.Named() + " is exempt: " + why}
}

func (e *examination) mapping(m sam.Source, s *subject) []Finding {
	of := source{settings(m), "arn:aws:" + m.Service + ":::" + m.Named()}
	if strings.HasPrefix(m.Of, "arn:") {
		of.arn = m.Of
	}
	switch m.Service {
	case serviceSQS:
		findings := []Finding{of.responses(repeatsQueue)}
		switch {
		case m.Queue == nil:
			return append(findings, of.found(checkVisibility, NotChecked, "it is not in the template"))
		case s == nil || s.Timeout == sam.Unknown:
			return append(findings, of.found(checkVisibility, NotChecked, unknownTimeout), of.redrive(attributes(m.Queue)))
		}
		return append(findings, of.visibility(attributes(m.Queue), s.Timeout), of.redrive(attributes(m.Queue)))
	case serviceKinesis, serviceDynamoDB:
		return append([]Finding{of.responses(repeatsStream)}, of.stream()...)
	default:
		return []Finding{of.found(checkBatches, NotChecked, "nobody knows whether it is a queue or a stream")}
	}
}

// settings are those of a mapping as Lambda would tell them. What only a deployment knows is left out.
func settings(m sam.Source) lambdatypes.EventSourceMappingConfiguration {
	number := func(name string) *int32 {
		if n, ok := sam.Number(m.Settings[name]); ok {
			return aws.Int32(int32(n)) //nolint:gosec // Lambda allows no number that does not fit
		}
		return nil
	}
	c := lambdatypes.EventSourceMappingConfiguration{
		BatchSize: number("BatchSize"), MaximumBatchingWindowInSeconds: number("MaximumBatchingWindowInSeconds"),
		MaximumRetryAttempts: number("MaximumRetryAttempts"), MaximumRecordAgeInSeconds: number("MaximumRecordAgeInSeconds"),
	}
	responses, _ := m.Settings["FunctionResponseTypes"].([]any)
	for _, r := range responses {
		if name, is := r.(string); is {
			c.FunctionResponseTypes = append(c.FunctionResponseTypes, lambdatypes.FunctionResponseType(name))
		}
	}
	r := sam.Resource{Properties: m.Settings}
	c.BisectBatchOnFunctionError = aws.Bool(r.Text("BisectBatchOnFunctionError") == "true")
	if to := r.Text("DestinationConfig", "OnFailure", "Destination"); to != "" {
		c.DestinationConfig = &lambdatypes.DestinationConfig{OnFailure: &lambdatypes.OnFailure{Destination: &to}}
	}
	return c
}

// usualVisibility is the visibility timeout of a queue that names none, in seconds.
const usualVisibility = "30"

// attributes are those of a queue as SQS would tell them.
func attributes(q *sam.Resource) map[string]string {
	a := map[string]string{string(sqstypes.QueueAttributeNameVisibilityTimeout): usualVisibility}
	if visible := q.Text("VisibilityTimeout"); visible != "" {
		a[string(sqstypes.QueueAttributeNameVisibilityTimeout)] = visible
	}
	if policy := q.At("RedrivePolicy"); policy != nil {
		text, err := json.Marshal(policy)
		if err != nil {
			text = []byte("?") // which is no policy that can be read
		}
		a[string(sqstypes.QueueAttributeNameRedrivePolicy)] = string(text)
	}
	return a
}
