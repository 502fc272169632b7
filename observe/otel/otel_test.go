package otel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe/otel"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// traced has what the exporters of the SDK got.
type traced struct {
	*otel.Observer
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	o, err := otel.New(otel.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
	})
	require.NoError(t, err)
	return &traced{o, spans, reader}
}

// delivery takes the spans that were exported: that of a delivery, and its children by name.
func (tr *traced) delivery(t *testing.T) (delivery tracetest.SpanStub, children map[string]tracetest.SpanStub) {
	t.Helper()
	children = make(map[string]tracetest.SpanStub)
	for _, s := range tr.spans.GetSpans() {
		if name, is := strings.CutPrefix(s.Name, "idempotent "); is {
			require.Empty(t, delivery.Name, "one delivery")
			require.Equal(t, "charge", name)
			delivery = s
		} else {
			children[s.Name] = s
		}
	}
	for name, c := range children {
		require.Equal(t, delivery.SpanContext.SpanID(), c.Parent.SpanID(), name)
	}
	tr.spans.Reset()
	return delivery, children
}

func valueOf(s tracetest.SpanStub, key string) any {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.AsInterface()
		}
	}
	return nil
}

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

func charging(s store.Store, tr *traced, do func(ctx context.Context) (response, error),
	opts ...idempotent.Option,
) func(key string) (response, error) {
	h := idempotent.Wrap(func(ctx context.Context, _ request) (response, error) { return do(ctx) }, s,
		append(opts, idempotent.WithOperation("charge"), idempotent.WithTrace(tr.Trace))...)
	return func(key string) (response, error) {
		r := request{RouteKey: "POST /charges", RawPath: "/charges", Body: `{"card":"4242424242424242"}`}
		r.RequestContext.HTTP.Method, r.RequestContext.APIID = http.MethodPost, "api"
		r.Headers = map[string]string{"idempotency-key": key}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return h.Handle(ctx, r)
	}
}

func created(context.Context) (response, error) {
	return response{StatusCode: 402, Body: `{"secret":"s3cret"}`}, nil
}

// TestAReplayHasOneLink: to the span of the execution whose answer it is. Its status is no error,
// and no span has anything of the request or the answer.
func TestAReplayHasOneLink(t *testing.T) {
	tr := newTraced(t)
	send := charging(memory.New(), tr, func(ctx context.Context) (response, error) {
		if _, err := idempotent.Step(ctx, "reserve", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return response{}, err
		}
		return created(ctx)
	})
	_, err := send("client-key")
	require.NoError(t, err)
	first, children := tr.delivery(t)
	assert.Equal(t, "executed", valueOf(first, "idempotent.outcome"))
	assert.Equal(t, trace.SpanKindServer, first.SpanKind)
	assert.Empty(t, first.Links)
	for _, name := range []string{"claim", "handle", "settle", "step reserve"} {
		assert.Contains(t, children, name)
	}

	_, err = send("client-key")
	require.NoError(t, err)
	again, _ := tr.delivery(t)
	assert.Equal(t, "replayed", valueOf(again, "idempotent.outcome"))
	assert.Equal(t, codes.Unset, again.Status.Code)
	require.Len(t, again.Links, 1)
	assert.Equal(t, first.SpanContext.SpanID(), again.Links[0].SpanContext.SpanID())
	assert.Equal(t, first.SpanContext.TraceID(), again.Links[0].SpanContext.TraceID())
	assert.NotNil(t, valueOf(again, "idempotent.answer.age"))
	text := fmt.Sprintf("%+v %+v %+v", first, children, again)
	for _, secret := range []string{"client-key", "4242", "s3cret"} {
		assert.NotContains(t, text, secret)
	}
}

// TestATakeoverLinksToTheExecutionThatDied, and a duplicate of a running one to that.
func TestATakeoverLinksToTheExecutionThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, s := newTraced(t), memory.New()
		died, dead := make(chan trace.SpanContext, 1), make(chan struct{})
		dying := charging(s, tr, func(ctx context.Context) (response, error) {
			died <- trace.SpanContextFromContext(ctx)
			<-dead
			return response{}, idempotent.ErrLeaseLost
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = dying("k")
		}()
		first := <-died

		send := charging(s, tr, created)
		out, err := send("k")
		require.NoError(t, err)
		require.Equal(t, 409, out.StatusCode)
		busy, _ := tr.delivery(t)
		assert.Equal(t, "in progress", valueOf(busy, "idempotent.outcome"))
		assert.Equal(t, codes.Unset, busy.Status.Code)
		require.Len(t, busy.Links, 1)
		assert.Equal(t, first.SpanID(), busy.Links[0].SpanContext.SpanID())
		assert.Equal(t, "waits for", busy.Links[0].Attributes[0].Value.AsString())

		time.Sleep(time.Hour) // longer than a handler that hangs keeps its claim
		_, err = send("k")
		require.NoError(t, err)
		taker, _ := tr.delivery(t)
		assert.Equal(t, true, valueOf(taker, "idempotent.recovered"))
		require.Len(t, taker.Links, 1)
		assert.Equal(t, first.SpanID(), taker.Links[0].SpanContext.SpanID())
		assert.Equal(t, "takes over", taker.Links[0].Attributes[0].Value.AsString())

		_, err = send("k")
		require.NoError(t, err)
		again, _ := tr.delivery(t)
		require.Len(t, again.Links, 1)
		assert.Equal(t, taker.SpanContext.SpanID(), again.Links[0].SpanContext.SpanID(), "whose answer it is")
		close(dead)
		<-done
	})
}

// TestAFailureIsAnError, by its type and not by its text.
func TestAFailureIsAnError(t *testing.T) {
	tr := newTraced(t)
	_, err := charging(memory.New(), tr, func(context.Context) (response, error) {
		return response{}, errors.New("card 4242424242424242 was declined")
	})("k")
	require.Error(t, err)
	span, _ := tr.delivery(t)
	assert.Equal(t, codes.Error, span.Status.Code)
	assert.Equal(t, "*errors.errorString", valueOf(span, "error.type"))
	assert.NotContains(t, fmt.Sprintf("%+v", span), "4242")
}

// TestMetricsAreRecordedWithinTheSpan: so that exemplars name it. Their buckets fit milliseconds.
func TestMetricsAreRecordedWithinTheSpan(t *testing.T) {
	tr := newTraced(t)
	_, err := charging(memory.New(), tr, created)("k")
	require.NoError(t, err)
	span, _ := tr.delivery(t)
	var all metricdata.ResourceMetrics
	require.NoError(t, tr.reader.Collect(t.Context(), &all))
	found := make(map[string]metricdata.Aggregation)
	for _, m := range all.ScopeMetrics[0].Metrics {
		found[m.Name+" "+m.Unit] = m.Data
	}
	deliveries := found["idempotent.deliveries {delivery}"].(metricdata.Sum[int64]).DataPoints
	require.Len(t, deliveries, 1)
	assert.Equal(t, int64(1), deliveries[0].Value)
	claims := found["idempotent.claim.duration s"].(metricdata.Histogram[float64]).DataPoints
	require.Len(t, claims, 1)
	assert.Less(t, claims[0].Bounds[0], .0011)
	require.NotEmpty(t, claims[0].Exemplars)
	id := span.SpanContext.SpanID()
	assert.Equal(t, id[:], claims[0].Exemplars[0].SpanID)
	assert.Contains(t, found, "idempotent.result.size By")
}

// TestABatchIsASpanWithItsCounts, and its records are below it.
func TestABatchIsASpanWithItsCounts(t *testing.T) {
	tr := newTraced(t)
	handler := idempotent.Wrap(func(_ context.Context, m events.SQSMessage) (string, error) {
		if m.MessageId == "bad" {
			return "", errors.New("secret")
		}
		return "done", nil
	}, memory.New(), idempotent.WithOperation("charge"), idempotent.WithTrace(tr.Trace))
	run := batch.SQS(handler, batch.Config[events.SQSMessage]{Trace: tr.Batch})
	_, err := run(t.Context(),
		events.SQSEvent{Records: []events.SQSMessage{{MessageId: "good", Body: "1"}, {MessageId: "bad", Body: "2"}}})
	require.NoError(t, err)
	var whole tracetest.SpanStub
	deliveries := 0
	for _, s := range tr.spans.GetSpans() {
		if s.Name == "batch charge" {
			whole = s
		}
	}
	for _, s := range tr.spans.GetSpans() {
		if s.Name == "idempotent charge" {
			deliveries++
			assert.Equal(t, whole.SpanContext.SpanID(), s.Parent.SpanID(), "below the batch")
		}
	}
	assert.Equal(t, 2, deliveries)
	assert.Equal(t, trace.SpanKindConsumer, whole.SpanKind)
	assert.Equal(t, int64(1), valueOf(whole, "idempotent.batch.succeeded"))
	assert.Equal(t, int64(1), valueOf(whole, "idempotent.batch.failed"))
	assert.Equal(t, "sqs", valueOf(whole, "idempotent.source"))
	tr.spans.Reset()

	_, end := tr.Relay(t.Context(), report.Relay{Table: "outbox", Source: "drain"})
	end(report.Relay{Table: "outbox", Source: "drain", Delivered: 4, Err: errors.New("secret")})
	assert.Equal(t, codes.Error, tr.spans.GetSpans()[0].Status.Code)
	_, ended := tr.Reconciliation(t.Context(), report.Reconciled{Operation: "charge"})
	ended(report.Reconciled{Operation: "charge", Asked: 1, Completed: 1})
	assert.Equal(t, int64(1), valueOf(tr.spans.GetSpans()[1], "idempotent.reconcile.completed"))
}
