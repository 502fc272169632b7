package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/go-idempotent/idempotent/report"
)

// metrics are the instruments. They are recorded within the span, so that exemplars name it.
type metrics struct {
	deliveries                  metric.Int64Counter
	claim, wait, handle, settle metric.Float64Histogram
	size                        metric.Int64Histogram
	counts                      map[string]metric.Int64Counter
}

// buckets are in seconds. A call of DynamoDB takes milliseconds, and a handler up to minutes.
var buckets = metric.WithExplicitBucketBoundaries(
	.001, .002, .004, .006, .008, .01, .015, .02, .03, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900)

// sizes are in bytes. From 400 KB on a result is in parts.
var sizes = metric.WithExplicitBucketBoundaries(256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 6<<20)

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := &metrics{counts: make(map[string]metric.Int64Counter)}
	var all error
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		all = errors.Join(all, err)
		return c
	}
	duration := func(name, about string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), buckets)
		all = errors.Join(all, err)
		return h
	}
	m.deliveries = counter("idempotent.deliveries", "{delivery}", "Deliveries by what became of them.")
	m.claim = duration("idempotent.claim.duration", "How long the claim of a record took.")
	m.wait = duration("idempotent.wait.duration", "How long a delivery waited for a running execution.")
	m.handle = duration("idempotent.handler.duration", "How long the handler ran.")
	m.settle = duration("idempotent.settle.duration", "How long storing the answer, or releasing the record, took.")
	var err error
	m.size, err = meter.Int64Histogram("idempotent.result.size", metric.WithUnit("By"),
		metric.WithDescription("The size of results that were stored or replayed."), sizes)
	all = errors.Join(all, err)
	for kind, unit := range map[string]string{"batch": "{record}", "relay": "{message}", "reconcile": "{record}"} {
		m.counts[kind] = counter("idempotent."+kind+".ended", unit, "What became of each, by outcome.")
	}
	return m, all
}

func (m *metrics) deliver(ctx context.Context, r report.Delivery) {
	of := []attribute.KeyValue{operationKey.String(r.Operation), outcomeKey.String(string(r.Outcome))}
	if r.Settlement != "" {
		of = append(of, settlementKey.String(string(r.Settlement)))
	}
	if failed(r) && r.Err != nil {
		of = append(of, semconv.ErrorType(r.Err))
	}
	m.deliveries.Add(ctx, 1, metric.WithAttributes(of...))
	about := metric.WithAttributes(of[0])
	record := func(h metric.Float64Histogram, start time.Time, took time.Duration) {
		if !start.IsZero() {
			h.Record(ctx, took.Seconds(), about)
		}
	}
	record(m.claim, r.Claim.Start, r.Claim.Took)
	record(m.wait, r.Wait.Start, r.Wait.Took)
	record(m.handle, r.Handle.Start, r.Handle.Took)
	record(m.settle, r.Settle.Start, r.Settle.Took)
	if r.ResultBytes > 0 {
		m.size.Record(ctx, int64(r.ResultBytes), about)
	}
}

// count adds to what became of the records of a batch, or of messages.
func (m *metrics) count(ctx context.Context, kind, outcome string, n int64, of []attribute.KeyValue) {
	m.counts[kind].Add(ctx, n, metric.WithAttributes(of...), metric.WithAttributes(outcomeKey.String(outcome)))
}
