package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/memory"
)

// TestSampleEvents sends every file of events to the handler.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	counted := counting.New()
	services, err := order.Connect(func(name string) (*downstream.Client, error) { return downstream.Within(name, counted), nil })
	require.NoError(t, err)
	handler := idempotent.Wrap(order.Handler(services, order.Tables{}), memory.New())
	statuses := map[string]int{"order.json": 201, "declined.json": 402}
	for file, status := range statuses {
		payload, err := os.ReadFile(filepath.Join("events", file))
		require.NoError(t, err)
		for range 2 {
			out, err := handler.Invoke(t.Context(), payload)
			require.NoError(t, err, file)
			var response struct{ StatusCode int }
			require.NoError(t, json.Unmarshal(out, &response))
			require.Equal(t, status, response.StatusCode, "%s: %s", file, out)
		}
	}
	require.Equal(t, 2, counted.Done(counting.Reservation))
	require.Equal(t, 1, counted.Done(counting.Charge))
	files, err := filepath.Glob("events/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(statuses), "each file is sent")
}
