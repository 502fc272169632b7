package dynamo_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/internal/testkit/multiregion"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// strongTable makes a table as one with multi-Region strong consistency is made: without time to
// live.
func strongTable(t *testing.T, opts ...dynamo.Config) (table string) {
	t.Helper()
	in := dynamo.TableDefinition("dynamo-test-"+rand.Text(), opts...)
	makeTable(t, dynamolocal.Client(dynamotest.Endpoint(t)), in, "")
	return *in.TableName
}

// region is a client in a Region.
func region(t *testing.T, strong *multiregion.Strong, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return dynamolocal.Client(dynamotest.Endpoint(t), append(optFns, strong.Client)...)
}

// repeatsConflicts is an option of a client: the SDK repeats no write that is refused for another
// Region.
func repeatsConflicts(o *dynamodb.Options) {
	o.Retryer = retry.AddWithErrorCodes(retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.RateLimiter = 0, ratelimit.None // however many meet another Region
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
	}), (*types.ReplicatedWriteConflictException)(nil).ErrorCode())
}

// every is a conflict at each n-th write.
func every(n int) func(int, string) bool {
	return func(write int, _ string) bool { return write%n == 0 }
}

// TestStoreWithMultiRegionStrongConsistency: the contract holds on such a table, also where a third
// of the writes meets another Region, as long as somebody repeats those. The suite takes an error
// for a failure, so here the client does; in a handler the core does.
func TestStoreWithMultiRegionStrongConsistency(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long, and the others see as much of each guard")
	}
	t.Parallel()
	strong := &multiregion.Strong{Conflict: every(3)}
	s := dynamo.New(region(t, strong, repeatsConflicts, dynamotest.Unhurried), strongTable(t))
	storetest.Run(t, storetest.Features{}, func(tb testing.TB) store.Store {
		only(tb, "Claim", "Swap", "Delete", "Parts", "Race")
		return s
	})
	assert.Greater(t, strong.Conflicts(), 300)
	t.Logf("%d of %d writes met another Region", strong.Conflicts(), len(strong.Writes()))
}

// TestLargeResultsWithMultiRegionStrongConsistency: parts are written by batches, which meet
// another Region, too.
func TestLargeResultsWithMultiRegionStrongConsistency(t *testing.T) {
	t.Parallel()
	for write := 1; write <= 3; write++ { // eight parts are three batches
		strong := &multiregion.Strong{Conflict: func(n int, call string) bool {
			return n == write &&
				call == "BatchWriteItem"
		}}
		s := dynamo.New(region(t, strong), strongTable(t))
		r := completion(record("charge#1"), pattern(3<<20))
		mustClaim(t, s, r, claimTime)
		assert.Equal(t, r.Result, resultOf(t, s, mustGet(t, s, r.Key)))
		assert.Equal(t, 1, strong.Conflicts())
	}
}

// TestDeletionWithMultiRegionStrongConsistency is what time to live is elsewhere.
func TestDeletionWithMultiRegionStrongConsistency(t *testing.T) {
	t.Parallel()
	strong := &multiregion.Strong{Conflict: every(3)}
	table := strongTable(t)
	client, quiet := region(t, strong), dynamo.New(dynamolocal.Client(dynamotest.Endpoint(t)), table)
	for i := range 60 {
		held(t, quiet, expiredRecord(fmt.Sprint("charge#", i)))
	}
	live := record("charge#live")
	live.Expiry = over.Add(time.Hour)
	held(t, quiet, large("charge#large"), live)
	deleted := 0
	for pass := 0; deleted < 64; pass++ { // what another Region writes at the moment is left to the next pass
		require.Less(t, pass, 10)
		done := deletes(t, dynamo.New(client, table), over)
		require.Equal(t, 65-deleted, done.deleted+done.kept)
		deleted += done.deleted
	}
	assert.Equal(t, []string{live.Key}, listed(t, quiet, store.Query{}))
	assert.Positive(t, strong.Conflicts())
}

// TestCheckWithMultiRegionStrongConsistency: such a table is right without time to live, and
// somebody has to delete what has expired.
func TestCheckWithMultiRegionStrongConsistency(t *testing.T) {
	t.Parallel()
	strong := new(multiregion.Strong)
	table := strongTable(t)
	client := region(t, strong)
	s := dynamo.New(client, table)
	require.NoError(t, s.Check(t.Context()))
	require.Equal(t, []string{
		`table "` + table + `": it has multi-Region strong consistency, and so no time to live: what has expired stays until DeleteExpired deletes it`,
	}, adviceOf(t, s))

	assert.Len(t, problemsOf(t, s.Check(t.Context(), table)), 2, "of a handler that commits")
	other := dynamo.New(dynamolocal.Client(dynamotest.Endpoint(t)), table)
	assert.Contains(t, problemsOf(t, other.Check(t.Context()))[0], "time to live is", "of any other table")
	_, err := client.UpdateTimeToLive(t.Context(), dynamo.TimeToLiveDefinition(table))
	require.Error(t, err)
	err = dynamo.CreateTable(t.Context(), client, table)
	require.ErrorContains(t, err, "time to live")
	_, err = client.TransactWriteItems(t.Context(),
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: aws.String(table), Item: item{"id": S("1")}}},
		}})
	require.Error(t, err)
}
