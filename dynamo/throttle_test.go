package dynamo_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

// TestReasonsOfThrottlingAreToldApart: DynamoDB names the limit, and of which table or index.
func TestReasonsOfThrottlingAreToldApart(t *testing.T) {
	t.Parallel()
	const place = "arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency"
	for name, c := range map[string]struct {
		code, reasons string
		what          store.Throttle
		text          string
	}{
		"a hot key": {
			"ThrottlingException", `{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"` + place + `"}`,
			store.ThrottledKey, "TableWriteKeyRangeThroughputExceeded of " + place,
		},
		"the capacity of the table": {
			"ProvisionedThroughputExceededException",
			`{"reason":"TableReadProvisionedThroughputExceeded","resource":"` + place + `"}`,
			store.ThrottledTable, "TableReadProvisionedThroughputExceeded",
		},
		"the bound of a table on demand": {
			"ThrottlingException", `{"reason":"TableWriteMaxOnDemandThroughputExceeded","resource":"` + place + `"}`,
			store.ThrottledTable, "TableWriteMaxOnDemandThroughputExceeded",
		},
		"the quota of the account": {
			"RequestLimitExceeded", `{"reason":"TableWriteAccountLimitExceeded","resource":"` + place + `"}`,
			store.ThrottledAccount, "TableWriteAccountLimitExceeded",
		},
		"a hot key of an index among others": {
			"ThrottlingException", `{"reason":"TableWriteProvisionedThroughputExceeded"},` +
				`{"reason":"IndexWriteKeyRangeThroughputExceeded","resource":"` + place + `/index/attention-index"},` +
				`{"reason":"TableWriteAccountLimitExceeded"}`,
			store.ThrottledKey, "IndexWriteKeyRangeThroughputExceeded of " + place + "/index/attention-index",
		},
		"another reason": {"ThrottlingException", `{"reason":"MoonInTheSeventhHouse"}`, "", "throttled: "},
		"none":           {"ThrottlingException", "", "", "throttled: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := "ThrottlingReasons"
			if c.code == "ThrottlingException" {
				member = "throttlingReasons" // as DynamoDB writes it there
			}
			throttles := reply{
				status: http.StatusBadRequest,
				body: `{"__type":"com.amazonaws.dynamodb.v20120810#` + c.code +
					`","message":"Throughput exceeded","` + member + `":[` + c.reasons + `]}`,
			}
			for op, err := range everyWrite(throttles) {
				require.Equal(t, c.what, store.ThrottleOf(err), op)
				requireStoreError(t, err, op, store.FailureThrottled, true)
				require.ErrorContains(t, err, c.text)
			}
			s, _ := scripted(throttles)
			_, _, err := commitOf(t, s)
			require.Equal(t, c.what, store.ThrottleOf(err))
		})
	}
	require.Empty(t, store.ThrottleOf(context.DeadlineExceeded))
	require.Empty(t, store.ThrottleOf(nil))
}
