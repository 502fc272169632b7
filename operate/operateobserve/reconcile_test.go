package operateobserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/operate/operateobserve"
)

// reconciled is a report in which every field says something.
func reconciled(t *testing.T) operate.Reconciliation {
	t.Helper()
	r := operate.Reconciliation{
		Operation: "charge", NotBegun: true, Took: time.Second, Err: errors.New("no index"),
		Problems: []operate.ReconcileProblem{{RecordKey: "charge#a", Outcome: idempotent.ReconcileParked, Tries: 2, Err: errors.New("down")}},
	}
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Int {
			f.SetInt(int64(i + 100))
		}
		require.False(t, v.Field(i).IsZero(), "the test fills in %s", v.Type().Field(i).Name)
	}
	return r
}

// A count that package operate adds must not get lost on the way.
func TestEveryFieldOfAReconciliationIsTold(t *testing.T) {
	t.Parallel()
	var log, metrics bytes.Buffer
	operateobserve.Both(
		operateobserve.ReconcileSlog(slog.New(slog.NewJSONHandler(&log, nil))), operateobserve.ReconcileEMF(&metrics),
	)(t.Context(), reconciled(t))
	var problem, run, line map[string]any
	lines := json.NewDecoder(&log)
	require.NoError(t, lines.Decode(&problem))
	require.NoError(t, lines.Decode(&run))
	v := reflect.ValueOf(reconciled(t))
	counts := 0
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int {
			counts++
			assert.Contains(t, values(run), float64(v.Field(i).Int()), v.Type().Field(i).Name)
		}
	}
	assert.Equal(t, 11, counts)
	assert.Subset(t, values(run), []any{"charge", true, float64(time.Second), "no index"})
	assert.Subset(t, values(problem), []any{"charge", "charge#a", "parked", 2.0, "down"})
	require.NoError(t, json.Unmarshal(metrics.Bytes(), &line))
	for _, m := range observe.ReconcileMetrics() {
		assert.NotZero(t, line[m.Name], m.Name)
	}
}

func values(m map[string]any) (all []any) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

func TestAReconcilerTellsItsObservers(t *testing.T) {
	t.Parallel()
	h := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil }, memory.New(),
		idempotent.WithOperation("charge"), idempotent.WithKey(func(s string) (string, error) { return s, nil }))
	resolver := func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
		return idempotent.StillUnknown[string](), nil
	}
	var metrics, log bytes.Buffer
	_, err := operate.Reconcile(h, resolver, operate.ReconcileConfig{
		Observe: operateobserve.Both(
			operateobserve.ReconcileEMF(&metrics),
			operateobserve.ReconcileSlog(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		),
	}).Run(t.Context())
	require.NoError(t, err)
	assert.Contains(t, metrics.String(), `"Operation":"charge"`)
	assert.Contains(t, log.String(), "msg=reconcile operation=charge")
}
