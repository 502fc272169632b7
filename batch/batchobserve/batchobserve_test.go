package batchobserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchobserve"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
)

// filled is a report in which every field says something.
func filled(t *testing.T) batch.Report {
	t.Helper()
	r := batch.Report{
		Operation: "ship", Source: "sqs", Took: time.Second, Err: errors.New("no id"),
		Problems: []batch.Problem{{ID: "id-1", Outcome: batch.InProgress, Receives: 2, Again: true, Err: errors.New("running"), FunctionErr: errors.New("denied")}},
	}
	for _, of := range []any{&r, &r.Problems[0]} {
		v := reflect.ValueOf(of).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Int {
				f.SetInt(int64(i + 100))
			}
			require.False(t, v.Field(i).IsZero(), "the test fills in %s", v.Type().Field(i).Name)
		}
	}
	return r
}

// A count that package batch adds must not get lost on the way.
func TestEveryFieldOfAReportIsTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	report := filled(t)
	batchobserve.Slog(slog.New(slog.NewJSONHandler(&out, nil)))(t.Context(), report)
	var problem, invocation map[string]any
	lines := json.NewDecoder(&out)
	require.NoError(t, lines.Decode(&problem))
	require.NoError(t, lines.Decode(&invocation))
	v := reflect.ValueOf(report)
	counts := 0
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int {
			counts++
			assert.Contains(t, values(invocation), float64(v.Field(i).Int()), v.Type().Field(i).Name)
		}
	}
	assert.Equal(t, 10, counts)
	assert.Subset(t, values(invocation), []any{"ship", "sqs", float64(time.Second), "no id"})
	assert.Subset(t, values(problem), []any{"ship", "sqs", "id-1", "in progress", float64(report.Problems[0].Receives), true, "running", "denied"})
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
	batchobserve.EMF(&out, observe.WithDimension("Stage", "prod"))(t.Context(), filled(t))
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	for _, m := range observe.BatchMetrics() {
		assert.NotZero(t, line[m.Name], m.Name)
	}
	assert.Equal(t, []any{"ship", "prod"}, []any{line["Operation"], line["Stage"]})
}

type order struct {
	ID string `json:"id"`
}

func ship(_ context.Context, o order, _ events.SQSMessage) (string, error) {
	switch o.ID {
	case "gone":
		return "", idempotent.Terminal(errors.New("it is sold out"))
	case "late":
		return "", idempotent.NotExecuted(errors.New("no lorry"))
	case "odd":
		panic("the order of mrs. smith")
	default:
		return "shipped", nil
	}
}

// What the observers write holds neither bodies nor what clients have chosen as their keys.
func TestABatchTakesTheObservers(t *testing.T) {
	t.Parallel()
	var metrics, log bytes.Buffer
	handler := idempotent.Wrap(batch.JSON(ship), memory.New(), idempotent.WithOperation("ship"),
		idempotent.WithKey(func(m events.SQSMessage) (string, error) { return m.Attributes["key"], nil }))
	serve := batch.SQS(handler, batch.WithConcurrency(1),
		batch.WithTerminal(func(context.Context, events.SQSMessage, error) error { return errors.New("the table is full") }),
		batch.WithObserver(batchobserve.EMF(&metrics)), batch.WithObserver(batchobserve.Slog(slog.New(slog.NewJSONHandler(&log, nil)))))
	var event events.SQSEvent
	for id, body := range map[string]string{
		"id-1": `{"id":"1","to":"smith"}`, "id-2": `{"id":"gone","to":"smith"}`, "id-3": `{"id":"late","to":"smith"}`, "id-4": `{"id":"odd","to":"smith"}`,
		"id-5": `{"id":smith}`,
	} {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: id, Body: body, EventSource: "aws:sqs",
			Attributes: map[string]string{"ApproximateReceiveCount": "3", "key": "smith-" + id},
		})
	}
	_, err := serve(t.Context(), event)
	require.NoError(t, err)

	var line map[string]any
	require.NoError(t, json.Unmarshal(metrics.Bytes(), &line))
	delete(line, "_aws")
	assert.Equal(t, map[string]any{
		"Operation": "ship", "source": "sqs", "BatchRecordSucceeded": 1.0, "BatchRecordTerminal": 1.0, "BatchRecordPoison": 1.0, "BatchRecordFailed": 1.0,
		"BatchRecordPanicked": 1.0, "BatchRecordAgain": 4.0, "BatchFunctionFailed": 1.0,
	}, line)
	told := linesByID(t, &log)
	require.Len(t, told, 5)
	assert.Subset(t, told["id-2"], map[string]any{
		"level": "ERROR", "outcome": "terminal", "again": true, "receives": 3.0, "error": "it is sold out", "function_error": "the table is full",
	})
	assert.Subset(t, told["id-3"], map[string]any{"level": "WARN", "outcome": "failed", "error": "no lorry", "error_type": "errors.errorString"})
	assert.Subset(t, told["id-4"], map[string]any{"level": "ERROR", "outcome": "panicked", "error_type": "batch.PanicError"})
	assert.Equal(t, "it panicked with a value of type string", told["id-4"]["error"].(map[string]any)["message"])
	assert.Contains(t, told["id-4"]["error"].(map[string]any)["stack"], "batchobserve_test.ship")
	assert.Subset(t, told["id-5"], map[string]any{"level": "ERROR", "outcome": "poison", "error_type": "batch.BodyError"})
	assert.Subset(t, told[""], map[string]any{"msg": "batch", "level": "INFO", "records": 5.0, "again": 4.0})
	assert.NotContains(t, strings.ToLower(metrics.String()+log.String()), "smith")
}

// linesByID are the lines of a log by the records that they are about.
func linesByID(t *testing.T, log *bytes.Buffer) map[string]map[string]any {
	t.Helper()
	told := map[string]map[string]any{}
	for lines := json.NewDecoder(log); lines.More(); {
		var line map[string]any
		require.NoError(t, lines.Decode(&line))
		id, _ := line["id"].(string)
		told[id] = line
	}
	return told
}

func TestAWrongOptionPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		_, is := recover().(*idempotent.ConfigError)
		assert.True(t, is)
	}()
	batchobserve.EMF(nil)
}
