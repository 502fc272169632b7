package otel

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/metrics/smithyotelmetrics"
	"github.com/aws/smithy-go/tracing"
	"github.com/aws/smithy-go/tracing/smithyoteltracing"
)

// Client gives the spans and metrics of DynamoDB's client to the same providers. It is an option of
// dynamodb.NewFromConfig. A claim that DynamoDB refuses is no error of the client's span: that is
// how a duplicate is found.
func (o *Observer) Client(options *dynamodb.Options) {
	options.TracerProvider = calm{smithyoteltracing.Adapt(o.config.TracerProvider)}
	options.MeterProvider = smithyotelmetrics.Adapt(o.config.MeterProvider)
}

// refused is the code of a condition that does not hold.
const refused = "ConditionalCheckFailedException"

// calm is a provider of spans to which a refused condition is no error.
type calm struct{ tracing.TracerProvider }

func (c calm) Tracer(scope string, opts ...tracing.TracerOption) tracing.Tracer {
	return calmTracer{c.TracerProvider.Tracer(scope, opts...)}
}

type calmTracer struct{ tracing.Tracer }

func (t calmTracer) StartSpan(ctx context.Context, name string, opts ...tracing.SpanOption) (context.Context,
	tracing.Span,
) {
	ctx, span := t.Tracer.StartSpan(ctx, name, opts...)
	return ctx, &calmSpan{Span: span}
}

// calmSpan holds back what the client says about an error, until the client has said which one it
// is.
type calmSpan struct {
	tracing.Span

	held map[string]any
	calm bool
}

func (s *calmSpan) SetProperty(k, v any) {
	name, _ := k.(string)
	switch name {
	case "exception.type", "exception.message", "api.error_message", "api.error_fault", "error":
		if s.held == nil {
			s.held = make(map[string]any)
		}
		s.held[name] = v
	case "api.error_code":
		s.calm = v == refused
		s.Span.SetProperty(k, v)
	default:
		s.Span.SetProperty(k, v)
	}
}

func (s *calmSpan) SetStatus(status tracing.SpanStatus) {
	if s.calm && status == tracing.SpanStatusError {
		s.Span.SetProperty("error", false)
		return
	}
	for name, v := range s.held {
		if name != "exception.message" && name != "api.error_message" { // they may quote keys
			s.Span.SetProperty(name, v)
		}
	}
	s.Span.SetStatus(status)
}
