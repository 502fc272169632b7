package outboxobserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxobserve"
)

// filled is a report in which every field says something.
func filled(t *testing.T) outbox.Report {
	t.Helper()
	r := outbox.Report{
		Table: "messages", Source: outbox.FromDrain, Slowest: time.Second, Err: errors.New("no index"), Left: &outbox.Left{},
		Problems: []outbox.Problem{{ID: "id-1", Topic: "order-placed", Outcome: "failed", Tries: 2, Err: errors.New("down")}},
	}
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Int {
			f.SetInt(int64(i + 100))
		}
		require.False(t, v.Field(i).IsZero(), "the test fills in %s", v.Type().Field(i).Name)
	}
	*r.Left = outbox.Left{Pending: 1, Oldest: time.Minute, Parked: 2, Partial: true}
	return r
}

// A count that package outbox adds must not get lost on the way.
func TestEveryFieldOfAReportIsTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	outboxobserve.Slog(slog.New(slog.NewJSONHandler(&out, nil)))(t.Context(), filled(t))
	var problem, invocation map[string]any
	lines := json.NewDecoder(&out)
	require.NoError(t, lines.Decode(&problem))
	require.NoError(t, lines.Decode(&invocation))
	v := reflect.ValueOf(filled(t))
	counts := 0
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int {
			counts++
			assert.Contains(t, values(invocation), float64(v.Field(i).Int()), v.Type().Field(i).Name)
		}
	}
	assert.Equal(t, 10, counts)
	assert.Subset(t, values(invocation), []any{"messages", "drain", float64(time.Second), "no index"})
	assert.Equal(t, map[string]any{"pending": 1.0, "oldest": float64(time.Minute), "parked": 2.0, "partial": true}, invocation["left"])
	assert.Subset(t, values(problem), []any{"messages", "drain", "id-1", "order-placed", "failed", 2.0, "down"})
}

func values(m map[string]any) (all []any) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

func TestEveryMetricOfAReportIsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	outboxobserve.EMF(&out, observe.WithDimension("Stage", "prod"))(t.Context(), filled(t))
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	for _, m := range observe.OutboxMetrics() {
		assert.NotZero(t, line[m.Name], m.Name)
	}
	assert.Equal(t, []any{"messages", "prod"}, []any{line["Outbox"], line["Stage"]})
	out.Reset()
	outboxobserve.EMF(&out)(t.Context(), outbox.Report{Table: "messages", Source: outbox.FromStream, Delivered: 1})
	assert.NotContains(t, out.String(), "PendingMessages", "nobody has looked at what is left")
}

// client is not called for an event that has no message.
type client struct{ outbox.Client }

func (client) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	panic("not called")
}

func TestARelayTakesTheObservers(t *testing.T) {
	t.Parallel()
	var metrics, log bytes.Buffer
	relay := outbox.NewRelay(client{}, "messages", func(context.Context, outbox.Message) error { return nil },
		outbox.WithObserver(outboxobserve.EMF(&metrics)), outbox.WithObserver(outboxobserve.Slog(slog.New(slog.NewTextHandler(&log, nil)))))
	_, err := relay.Stream(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{EventName: "INSERT"}}})
	require.NoError(t, err)
	assert.Contains(t, metrics.String(), `"MessageForeign":1`)
	assert.Contains(t, log.String(), "source=stream foreign=1")
}

func TestAWrongOptionPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		_, is := recover().(*idempotent.ConfigError)
		assert.True(t, is)
	}()
	outboxobserve.EMF(nil)
}
