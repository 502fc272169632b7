package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/memory"
)

// TestSampleEvents sends every file of events to the handler that it is for, in an order in which they make sense.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	ledger, store, seen := payments.NewLedger(), memory.New(), map[string]idempotent.Event{}
	last := idempotent.Event{}
	observer := idempotent.WithObserver(func(_ context.Context, e idempotent.Event) { last = e })
	http := idempotent.Wrap(charge.Handler(ledger), store, observer)
	others := map[string]lambda.Handler{"rest.json": idempotent.Wrap(charge.REST(charge.Handler(ledger)), store, observer)}

	for _, c := range []struct {
		file    string
		status  int
		outcome idempotent.Outcome
	}{
		{"charge.json", 201, idempotent.OutcomeExecuted},
		{"charge.json", 201, idempotent.OutcomeReplayed},
		{"mismatch.json", 422, idempotent.OutcomeMismatch},
		{"declined.json", 402, idempotent.OutcomeExecuted},
		{"declined.json", 402, idempotent.OutcomeReplayed},
		{"no-key.json", 400, idempotent.OutcomeMissingKey},
		{"jwt.json", 201, idempotent.OutcomeExecuted}, // another caller: the same key is another one
		{"jwt.json", 201, idempotent.OutcomeReplayed},
		{"signed.json", 201, idempotent.OutcomeExecuted},
		{"signed.json", 201, idempotent.OutcomeReplayed},
		{"rest.json", 201, idempotent.OutcomeExecuted},
		{"rest.json", 201, idempotent.OutcomeReplayed},
	} {
		payload, err := os.ReadFile(filepath.Join("events", c.file))
		require.NoError(t, err)
		var handler lambda.Handler = http
		if other, is := others[c.file]; is {
			handler = other
		}
		out, err := handler.Invoke(t.Context(), payload)
		require.NoError(t, err, c.file)
		var response struct{ StatusCode int }
		require.NoError(t, json.Unmarshal(out, &response))
		require.Equal(t, c.status, response.StatusCode, "%s: %s", c.file, out)
		require.Equal(t, c.outcome, last.Outcome, c.file)
		seen[c.file] = last
	}
	require.Equal(t, 4, ledger.Count())

	files, err := filepath.Glob("events/*.json")
	require.NoError(t, err)
	require.Len(t, seen, len(files), "each file is sent")
}
