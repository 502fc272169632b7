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

// Batch begins the span of a batch, below which the deliveries of its records are. At its end it
// gets the counts, and a metric counts records by what became of them. It is for Config.Trace of
// package batch.
func (o *Observer) Batch(ctx context.Context, r report.Batch) (context.Context, func(report.Batch)) {
	ctx, span := o.summary(ctx, "batch "+r.Operation, trace.SpanKindConsumer)
	return ctx, func(r report.Batch) { o.sum(ctx, span, "batch", r.Err, reflect.ValueOf(r)) }
}

// Relay does so for the messages of an outbox. It is for Config.Trace of package outbox.
func (o *Observer) Relay(ctx context.Context, r report.Relay) (context.Context, func(report.Relay)) {
	ctx, span := o.summary(ctx, "relay "+r.Table, trace.SpanKindConsumer)
	return ctx, func(r report.Relay) { o.sum(ctx, span, "relay", r.Err, reflect.ValueOf(r)) }
}

// Reconciliation does so for the records of a reconciliation. It is for ReconcileConfig.Trace of
// package operate.
func (o *Observer) Reconciliation(ctx context.Context, r report.Reconciled) (context.Context, func(report.Reconciled)) {
	ctx, span := o.summary(ctx, "reconcile "+r.Operation, trace.SpanKindInternal)
	return ctx, func(r report.Reconciled) { o.sum(ctx, span, "reconcile", r.Err, reflect.ValueOf(r)) }
}

// summary begins a span, of this kind if no span of this process is above.
func (o *Observer) summary(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	if within(ctx) {
		kind = trace.SpanKindInternal
	}
	return o.tracer.Start(ctx, name, trace.WithSpanKind(kind)) //nolint:spancheck // sum ends it
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
