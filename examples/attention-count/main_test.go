package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/operate"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set": {"OPERATIONS=charge"},
		"OPERATIONS is not set":        {"IDEMPOTENCY_TABLE=table"},
		`table "a b"`:                  {"IDEMPOTENCY_TABLE=a b", "OPERATIONS=charge"},
	} {
		deployed.RequireRefused(t, binary, says, append(environment, "AWS_LAMBDA_LOG_FORMAT=JSON")...)
	}
}

// metric is what CloudWatch reads from a line.
type metric struct {
	Operation       string
	OpenAttention   *float64
	OldestAttention *float64
}

// metricsIn are the lines of metrics in a log, by operation.
func metricsIn(log string) map[string]metric {
	found := map[string]metric{}
	for line := range strings.Lines(log) {
		var m metric
		if json.Unmarshal([]byte(line), &m) == nil && m.OpenAttention != nil {
			found[m.Operation] = m
		}
	}
	return found
}

// TestTheBinaryCountsWhatIsOpen runs the function as Lambda does, on a table with records that a handler has left, before and after
// somebody has settled one.
func TestTheBinaryCountsWhatIsOpen(t *testing.T) {
	t.Parallel()
	endpoint := dynamolocal.Endpoint(t)
	client := dynamolocal.Client(endpoint)
	table := "attention-count-" + time.Now().Format("150405.000000")
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	records := dynamo.New(client, table)
	charges := leaveOpen(t, records, "charge", 12)
	leaveOpen(t, records, "other", 1)

	binary := deployed.Build(t)
	count := func() map[string]metric {
		sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
			Bootstrap: binary,
			Environment: []string{
				"IDEMPOTENCY_TABLE=" + table, "OPERATIONS=charge,idle", "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
				"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
			},
		})
		_, err := sandbox.Invoke(t.Context(), []byte(`{"detail-type":"Scheduled Event"}`), 20*time.Second)
		require.NoError(t, sandbox.Close())
		require.NoError(t, err, sandbox.Logs())
		return metricsIn(sandbox.Logs())
	}
	found := count()
	require.Len(t, found, 2, "one line for each operation")
	require.InDelta(t, 12, *found["charge"].OpenAttention, 0)
	require.Positive(t, *found["charge"].OldestAttention)
	require.InDelta(t, 0, *found["idle"].OpenAttention, 0)
	require.InDelta(t, 0, *found["idle"].OldestAttention, 0)

	o := operate.New(records)
	shown, err := o.Inspect(t.Context(), charges[3])
	require.NoError(t, err)
	_, err = o.Settle(t.Context(), shown, operate.Executed([]byte(`"ch_1"`)), operate.Act{By: "dana", Why: "the provider has the charge"})
	require.NoError(t, err)
	require.InDelta(t, 11, *count()["charge"].OpenAttention, 0)
}

// An alarm on the errors of the function has to go off.
func TestACountWithoutATableFailsAsAnInvocation(t *testing.T) {
	t.Parallel()
	endpoint := dynamolocal.Endpoint(t)
	sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
		Bootstrap: deployed.Build(t),
		Environment: []string{
			"IDEMPOTENCY_TABLE=there-is-none", "OPERATIONS=charge", "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
			"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		},
	})
	_, err := sandbox.Invoke(t.Context(), []byte(`{}`), 20*time.Second)
	require.NoError(t, sandbox.Close())
	require.ErrorContains(t, err, "count charge: ")
	require.Empty(t, metricsIn(sandbox.Logs()))
}
