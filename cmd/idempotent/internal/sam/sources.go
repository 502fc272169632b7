package sam

import (
	"strings"
)

// serviceSQS is that of queues, as their ARNs name it.
const serviceSQS = "sqs"

// Source is a queue or a stream that calls a function.
type Source struct {
	// ID is that of the event of a function, or of a mapping.
	ID string
	// Function is the id of the function, empty if it is none of the template's.
	Function string
	// Service is sqs, kinesis or dynamodb, or empty if nobody knows.
	Service string
	// Of names the queue or the stream.
	Of string
	// Queue is the queue, if it is in the template.
	Queue *Resource
	// Settings are those of the mapping.
	Settings map[string]any
}

// Sources are the queues and streams that call functions.
func (t *Template) Sources() []Source {
	sources := []Source{}
	for _, f := range t.Of(typeFunction) {
		events, _ := f.At("Events").(map[string]any)
		for _, name := range sorted(events) {
			settings, _ := at(events[name], "Properties").(map[string]any)
			kind := text(at(events[name], "Type"))
			property, is := map[string]string{"SQS": "Queue", "Kinesis": "Stream", "DynamoDB": "Stream"}[kind]
			if !is {
				continue
			}
			s := Source{ID: name, Function: f.ID, Service: strings.ToLower(kind), Of: text(settings[property]), Settings: settings}
			sources = append(sources, t.withQueue(s))
		}
	}
	for _, m := range t.Of("AWS::Lambda::EventSourceMapping") {
		s := Source{ID: m.ID, Of: m.Text("EventSourceArn"), Settings: m.Properties}
		s.Function = t.function(m.Text("FunctionName"))
		s.Service = t.service(m)
		sources = append(sources, t.withQueue(s))
	}
	return sources
}

func (t *Template) withQueue(s Source) Source {
	if s.Service != serviceSQS {
		return s
	}
	for _, q := range t.Of("AWS::SQS::Queue") {
		if q.Is(s.Of) {
			s.Queue = &q
		}
	}
	return s
}

// service is what a mapping reads from: its ARN says it, or the type of the resource that it names. Of these services, only a queue has no position
// from which it is read.
func (t *Template) service(mapping Resource) string {
	arn := mapping.Text("EventSourceArn")
	if parts := strings.SplitN(arn, ":", 4); len(parts) == 4 && parts[0] == "arn" {
		return parts[2]
	}
	switch t.Resources[plain(arn)].Type {
	case "AWS::SQS::Queue":
		return serviceSQS
	case "AWS::Kinesis::Stream", "AWS::Kinesis::StreamConsumer":
		return "kinesis"
	case "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Serverless::SimpleTable":
		return "dynamodb"
	}
	if arn != "" && mapping.At("StartingPosition") == nil && mapping.At("Queues") == nil {
		return serviceSQS
	}
	return ""
}

// Named is what the source is called: the id of a resource, or a name.
func (s Source) Named() string {
	name := s.Of
	if match := reference.FindStringSubmatch(s.Of); match != nil && strings.HasPrefix(s.Of, match[0]) {
		return match[1]
	}
	return name
}
