package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set": nil,
		"has an empty name":            {"IDEMPOTENCY_TABLE=t", "REFUSE=charge,,mail"},
		"GRACE=":                       {"IDEMPOTENCY_TABLE=t", "GRACE=soon"},
		"READ_RATE=":                   {"IDEMPOTENCY_TABLE=t", "READ_RATE=many"},
		"WRITE_RATE=":                  {"IDEMPOTENCY_TABLE=t", "WRITE_RATE=few"},
		"DRY_RUN=":                     {"IDEMPOTENCY_TABLE=t", "DRY_RUN=perhaps"},
		"DELETE_EXPIRED=":              {"IDEMPOTENCY_TABLE=t", "DELETE_EXPIRED=perhaps"},
	} {
		deployed.RequireRefused(t, binary, says, append(environment, "AWS_LAMBDA_LOG_FORMAT=JSON")...)
	}
}

// TestTheBinarySweeps runs the function as Lambda does, on a table with a record that crashed, one that runs and one that has expired.
func TestTheBinarySweeps(t *testing.T) {
	t.Parallel()
	endpoint := dynamolocal.Endpoint(t)
	client := dynamolocal.Client(endpoint)
	table := "sweep-" + time.Now().Format("150405.000000")
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	records, now := dynamo.New(client, table), time.Now()
	for key, lease := range map[string]time.Duration{"charge#crashed": -time.Hour, "charge#runs": time.Hour, "charge#gone": -3 * time.Hour} {
		r := store.Record{
			Key: key, Status: store.StatusInProgress, Owner: "owner-1", Lease: now.Add(lease).Truncate(time.Millisecond),
			Expiry: now.Add(lease + 90*time.Minute).Truncate(time.Second), Attempt: 1,
		}
		_, claimed, err := records.Claim(t.Context(), r, now.AddDate(0, 0, -1))
		require.NoError(t, err)
		require.True(t, claimed)
	}
	sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
		Bootstrap: deployed.Build(t),
		Environment: []string{
			"IDEMPOTENCY_TABLE=" + table, "REFUSE=charge, mail", "DELETE_EXPIRED=true", "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
			"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		},
	})
	answer, err := sandbox.Invoke(t.Context(), []byte(`{"detail-type":"Scheduled Event"}`), time.Minute)
	require.NoError(t, sandbox.Close())
	require.NoError(t, err, sandbox.Logs())
	require.Contains(t, string(answer), `"done":true`)
	require.Contains(t, sandbox.Logs(), `"SweepBecameUnknown":1`)
	require.Contains(t, sandbox.Logs(), `"SweepDeleted":1`)

	o := operate.New(records)
	for key, state := range map[string]operate.State{"charge#crashed": operate.StateUnknown, "charge#runs": operate.StateInProgress} {
		shown, err := o.Inspect(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, state, shown.State, key)
	}
	_, err = o.Inspect(context.WithoutCancel(t.Context()), "charge#gone")
	require.ErrorIs(t, err, operate.ErrNotFound)
}
