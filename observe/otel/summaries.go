package otel

import (
	"context"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-idempotent/idempotent/report"
)

// Batch begins the span of a batch, below which its records are. At its end it gets the counts, and a
// metric counts records by outcome. It is for the field Trace of batch.Config.
func (o *Observer) Batch(ctx context.Context, r report.Batch) (context.Context, func(report.Batch)) {
	kind := trace.SpanKindInternal
	if !within(ctx) {
		kind = trace.SpanKindConsumer
	}
	ctx, span := o.tracer.Start(ctx, "batch "+r.Operation, trace.WithSpanKind(kind))
	return ctx, func(r report.Batch) {
		o.says(ctx, span, "batch", r.Err, reflect.ValueOf(r))
		span.End()
	}
}

// Relay does so with the messages of an outbox. It is an observer of package outbox.
func (o *Observer) Relay(ctx context.Context, r report.Relay) {
	o.summary(ctx, "relay "+r.Table, "relay", 0, r.Err, reflect.ValueOf(r))
}

// Reconciliation does so with the records of a reconciliation. It is an observer of package operate.
func (o *Observer) Reconciliation(ctx context.Context, r report.Reconciled) {
	o.summary(ctx, "reconcile "+r.Operation, "reconcile", r.Took, r.Err, reflect.ValueOf(r))
}

// summary writes the counts and the names of a report, by the names that they have in a log.
func (o *Observer) summary(ctx context.Context, name, kind string, took time.Duration, err error, r reflect.Value) {
	now := time.Now()
	ctx, span := o.tracer.Start(ctx, name, trace.WithTimestamp(now.Add(-took)))
	o.says(ctx, span, kind, err, r)
	span.End(trace.WithTimestamp(now))
}

// says puts the counts of a report on its span and into the metrics.
func (o *Observer) says(ctx context.Context, span trace.Span, kind string, err error, r reflect.Value) {
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
}
