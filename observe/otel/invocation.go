package otel

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// flushMargin is what a flush leaves of the invocation, flushLimit is the longest that it takes.
const (
	flushMargin = 100 * time.Millisecond
	flushLimit  = 2 * time.Second
)

// Invocation wraps a handler in the span of its invocation, with the attributes faas.*, and flushes
// the providers behind it, within what is left of the invocation: Lambda freezes a process that has
// answered. It is for functions without another instrumentation of their handler. Providers without
// a method ForceFlush are not flushed.
func (o *Observer) Invocation(handler lambda.Handler) lambda.Handler {
	return &invocations{Handler: handler, o: o}
}

type invocations struct {
	lambda.Handler

	o    *Observer
	warm atomic.Bool
}

// Invoke implements [lambda.Handler].
func (i *invocations) Invoke(ctx context.Context, payload []byte) (answer []byte, err error) {
	defer i.o.flush(ctx)
	name := os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
	ctx, span := i.o.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.FaaSColdstart(!i.warm.Swap(true))))
	defer span.End()
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		span.SetAttributes(semconv.FaaSInvocationID(lc.AwsRequestID), semconv.CloudResourceID(lc.InvokedFunctionArn))
	}
	if answer, err = i.Handler.Invoke(ctx, payload); err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorType(err))
	}
	return answer, err
}

// flush sends what the providers hold. A failure goes to the error handler of OpenTelemetry.
func (o *Observer) flush(ctx context.Context) {
	end := time.Now().Add(flushLimit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-flushMargin).Before(end) {
		end = deadline.Add(-flushMargin)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	for _, provider := range []any{o.config.TracerProvider, o.config.MeterProvider} {
		if f, ok := provider.(interface {
			ForceFlush(ctx context.Context) error
		}); ok {
			if err := f.ForceFlush(ctx); err != nil {
				otelapi.Handle(err)
			}
		}
	}
}
