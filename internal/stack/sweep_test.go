package stack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// TestTheFunctionThatSweepsMayDoWhatItNeeds sweeps a table with a crashed execution, twice.
func TestTheFunctionThatSweepsMayDoWhatItNeeds(t *testing.T) {
	t.Parallel()
	calls := &recorder{}
	table, endpoint := newTable(t), dynamolocal.Endpoint(t)
	now := time.Now().Truncate(time.Millisecond)
	for _, key := range []string{operation + "#crashed", ordering + "#crashed"} {
		_, claimed, err := dynamo.New(dynamolocal.Client(endpoint), table).Claim(t.Context(), store.Record{
			Key: key, Status: store.StatusInProgress, Owner: "A", Lease: now.Add(-time.Hour), Expiry: now.Add(time.Hour).Truncate(time.Second), Attempt: 1,
		}, now.Add(-2*time.Hour))
		require.NoError(t, err)
		require.True(t, claimed)
	}
	sweeper := operate.Sweep(dynamo.New(dynamolocal.Client(endpoint, calls.observe), table), operate.SweepConfig{
		Policies: map[string]idempotent.CrashPolicy{operation: idempotent.Refuse},
	})
	for _, unknown := range []int{1, 0} {
		swept, err := sweeper.Run(t.Context())
		require.NoError(t, err)
		require.True(t, swept.Done)
		require.Equal(t, unknown, swept.Operations[operation].BecameUnknown, "%+v", swept)
		require.Zero(t, swept.Operations[ordering].BecameUnknown)
	}
	s := deployed(t, variants["reconciled"])
	require.Equal(t, operation, s.Resources["SweepFunction"].At("Environment", "Variables", "REFUSE"))
	require.Equal(t, calls.accessed(), accesses(t, statements(t, s, sweepRole)))
	keyed := slices.DeleteFunc(onDynamoDB(t, s, sweepRole), func(st statement) bool { return st.Condition == nil })
	require.Len(t, keyed, 1)
	require.Equal(t, "false", keyed[0].Condition["Null"]["dynamodb:LeadingKeys"], "without keys ForAllValues holds")
	patterns := keyed[0].Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].([]any)
	require.Len(t, patterns, 2, "its own, and those of the one function there is")
	for _, key := range calls.keys {
		if key == "(no key)" || key == ordering+"#crashed" { // a scan; a function that is not in this stack
			continue
		}
		require.True(t, slices.ContainsFunc(patterns, func(p any) bool { return like(t, p.(string), key) }), key)
	}
	for _, st := range statements(t, s, sweepRole) {
		require.Contains(t, []any{onlyTable, "${SweepLogGroup.Arn}", variants["reconciled"]["KmsKeyArn"]}, st.Resource)
	}
}
