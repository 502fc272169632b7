package otel

import (
	"context"
	"reflect"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-idempotent/idempotent/report"
)

// Batch begins the span of a batch, below which the deliveries of its records are. At its end it gets
// the counts, and a metric counts records by what became of them. It is for Config.Trace of package
// batch.
func (o *Observer) Batch(ctx context.Context, r report.Batch) (context.Context, func(report.Batch)) {
	ctx, span := o.tracer.Start(ctx, "batch "+r.Operation, kindOf(ctx, trace.SpanKindConsumer))
	return ctx, func(r report.Batch) { o.sum(ctx, span, "batch", r.Err, reflect.ValueOf(r)) }
}

// Relay does so for the messages of an outbox. It is for Config.Trace of package outbox.
func (o *Observer) Relay(ctx context.Context, r report.Relay) (context.Context, func(report.Relay)) {
	ctx, span := o.tracer.Start(ctx, "relay "+r.Table, kindOf(ctx, trace.SpanKindConsumer))
	return ctx, func(r report.Relay) { o.sum(ctx, span, "relay", r.Err, reflect.ValueOf(r)) }
}

// Reconciliation does so for the records of a reconciliation. It is for ReconcileConfig.Trace of
// package operate.
func (o *Observer) Reconciliation(ctx context.Context, r report.Reconciled) (context.Context, func(report.Reconciled)) {
	ctx, span := o.tracer.Start(ctx, "reconcile "+r.Operation, kindOf(ctx, trace.SpanKindInternal))
	return ctx, func(r report.Reconciled) { o.sum(ctx, span, "reconcile", r.Err, reflect.ValueOf(r)) }
}

// kindOf is the kind of a span, if no span of this process is above.
func kindOf(ctx context.Context, kind trace.SpanKind) trace.SpanStartOption {
	if within(ctx) {
		kind = trace.SpanKindInternal
	}
	return trace.WithSpanKind(kind)
}

// sum ends a span with the counts and the names of a report, by the names that they have in a log.
func (o *Observer) sum(ctx context.Context, span trace.Span, kind string, err error, r reflect.Value) {
	var of []attribute.KeyValue
	for field, v := range r.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("log"), ",")
		if v.Kind() == reflect.String && tag != "" {
			of = append(of, attribute.String("idempotent."+tag, v.String()))
		}
	}
	span.SetAttributes(of...)
	for field, v := range r.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("log"), ",")
		if v.Kind() != reflect.Int || tag == "" || v.Int() == 0 {
			continue
		}
		span.SetAttributes(attribute.Int64("idempotent."+kind+"."+tag, v.Int()))
		o.metrics.count(ctx, kind, tag, v.Int(), of)
	}
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorType(err))
	}
	span.End()
}
