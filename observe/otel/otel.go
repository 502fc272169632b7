// Package otel writes claims, replays and crashes into the traces and metrics of OpenTelemetry.
//
//	o, err := otel.New()
//	...
//	client := dynamodb.NewFromConfig(cfg, o.Client)
//	handler := idempotent.Wrap(charge, dynamo.New(client, table), idempotent.WithTrace(o.Trace))
//	lambda.Start(o.Invocation(handler)) // if nothing else makes the span of the invocation
//
// Each delivery is a span, with the spans of its claim, wait, handler, settlement, steps and
// commits below it. A replay has one link: to the span of the execution whose answer it is, which
// may be days old and in another trace. A takeover links to the execution that died, and a delivery
// that waits to the one it waits for. For that the record keeps the trace context of its execution
// (55 bytes).
//
// A replay is no error, whatever its status, nor is a refused claim. Spans and metrics hold no key
// of a client, no payload, no caller and no text of an error.
//
// The package needs the API of OpenTelemetry alone. Exporters are the business of the program.
package otel

import (
	"context"
	"errors"
	"time"

	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

// scope is the name of the instrumentation.
const scope = "github.com/go-idempotent/idempotent/observe/otel"

// Config is how to trace. Its zero value works.
type Config struct {
	// TracerProvider and MeterProvider are the global ones if they are nil.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
}

// Observer traces and measures. It comes from [New] and is safe for concurrent use.
type Observer struct {
	config  Config
	tracer  trace.Tracer
	metrics *metrics
}

// New returns an observer. The error is one of the meter, which refuses an instrument.
func New(config ...Config) (*Observer, error) {
	if len(config) > 1 {
		return nil, errors.New("otel.New: more than one Config")
	}
	var c Config
	if len(config) == 1 {
		c = config[0]
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otelapi.GetTracerProvider()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otelapi.GetMeterProvider()
	}
	m, err := newMetrics(c.MeterProvider.Meter(scope))
	if err != nil {
		return nil, err
	}
	return &Observer{config: c, tracer: c.TracerProvider.Tracer(scope), metrics: m}, nil
}

// The attributes of spans and metrics. docs/observability.md has what they mean.
const (
	operationKey  = attribute.Key("idempotent.operation")
	outcomeKey    = attribute.Key("idempotent.outcome")
	settlementKey = attribute.Key("idempotent.settlement")
	reasonKey     = attribute.Key("idempotent.reason")
	recordKey     = attribute.Key("idempotent.record")
	attemptKey    = attribute.Key("idempotent.attempt")
	recoveredKey  = attribute.Key("idempotent.recovered")
	ageKey        = attribute.Key("idempotent.answer.age")
	sizeKey       = attribute.Key("idempotent.result.size")
	linkKey       = attribute.Key("idempotent.link")
	stepKey       = attribute.Key("idempotent.step")
	endKey        = attribute.Key("idempotent.end")
	itemsKey      = attribute.Key("idempotent.commit.items")
)

// Trace begins the span of a delivery. It is for [idempotent.WithTrace].
func (o *Observer) Trace(ctx context.Context, r report.Delivery) idempotent.Trace {
	kind := trace.SpanKindInternal
	if !within(ctx) {
		switch r.Trigger {
		case "http":
			kind = trace.SpanKindServer
		case "message":
			kind = trace.SpanKindConsumer
		case "call":
		}
	}
	ctx, span := o.tracer.Start(ctx, "idempotent "+r.Operation, trace.WithSpanKind(kind), trace.WithTimestamp(r.Start),
		trace.WithAttributes(operationKey.String(r.Operation)))
	return idempotent.Trace{
		Context: ctx, Parent: parentOf(ctx),
		End: func(r report.Delivery) {
			o.deliver(ctx, span, r)
			span.End(trace.WithTimestamp(r.Start.Add(r.Took)))
			o.metrics.deliver(ctx, r)
		},
	}
}

// within reports whether a span of this process is above.
func within(ctx context.Context) bool {
	above := trace.SpanContextFromContext(ctx)
	return above.IsValid() && !above.IsRemote()
}

// parentOf is the header traceparent of the span in ctx, empty if there is none.
func parentOf(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// deliver says on the span of a delivery what has become of it.
func (o *Observer) deliver(ctx context.Context, span trace.Span, r report.Delivery) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(outcomeKey.String(string(r.Outcome)))
	set := func(present bool, kv attribute.KeyValue) {
		if present {
			span.SetAttributes(kv)
		}
	}
	set(r.Route != "", semconv.HTTPRoute(r.Route))
	set(r.RecordKey != "", recordKey.String(r.RecordKey))
	set(r.Settlement != "", settlementKey.String(string(r.Settlement)))
	set(r.Reason != "", reasonKey.String(r.Reason))
	set(r.Attempt > 0, attemptKey.Int(r.Attempt))
	set(r.Recovered, recoveredKey.Bool(true))
	set(r.ResultBytes > 0, sizeKey.Int(r.ResultBytes))
	set(!r.Created.IsZero(), ageKey.Float64(r.Start.Sub(r.Created).Seconds()))
	link(ctx, span, r)
	if failed(r) {
		span.SetStatus(codes.Error, string(r.Outcome))
		span.SetAttributes(semconv.ErrorType(r.Err))
	}
	o.phase(ctx, "claim", r.Claim)
	o.phase(ctx, "wait", r.Wait)
	o.phase(ctx, "handle", r.Handle)
	o.phase(ctx, "settle", r.Settle)
	for _, s := range r.Steps {
		o.child(ctx, "step "+s.Name, s.Start, s.Took+s.Recording, s.Err, stepKey.String(s.Name),
			endKey.String(string(s.End)))
	}
	for _, c := range r.Commits {
		o.child(ctx, "commit", c.Start, c.Took, c.Err, endKey.String(string(c.End)), itemsKey.Int(c.Items))
	}
}

// link names the other execution that this delivery has to do with, if somebody traced it.
func link(ctx context.Context, span trace.Span, r report.Delivery) {
	// what cannot be read must not become a link of the span to itself
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	of := propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": r.Trace})
	other := trace.SpanContextFromContext(of)
	if !other.IsValid() {
		return
	}
	why := "waits for"
	switch {
	case r.Outcome == report.Replayed:
		why = "answer of"
	case r.Attempt > 0:
		why = "takes over"
	}
	span.AddLink(trace.Link{SpanContext: other, Attributes: []attribute.KeyValue{linkKey.String(why)}})
}

// failed reports whether somebody has to look at a delivery. What the client did wrong, what is
// executed elsewhere and what is replayed are no errors.
func failed(r report.Delivery) bool {
	switch r.Outcome {
	case report.Executed, report.Resolved, report.Unprotected, report.Disabled:
		return r.Err != nil
	case report.Replayed, report.MissingKey, report.InvalidKey, report.Mismatch, report.Stale, report.MissingTenant,
		report.InProgress:
		return false
	default:
		return true
	}
}

func (o *Observer) phase(ctx context.Context, name string, p report.Phase) {
	if !p.Start.IsZero() {
		o.child(ctx, name, p.Start, p.Took, nil)
	}
}

// child writes a span of something that has ended.
func (o *Observer) child(ctx context.Context, name string, start time.Time, took time.Duration, err error,
	about ...attribute.KeyValue,
) {
	_, span := o.tracer.Start(ctx, name, trace.WithTimestamp(start), trace.WithAttributes(about...))
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorType(err))
	}
	span.End(trace.WithTimestamp(start.Add(took)))
}
