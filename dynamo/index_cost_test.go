package dynamo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// indexMeter is a client that adds up what DynamoDB says that writes consume in the index.
func indexMeter(t *testing.T, writes *float64) *dynamodb.Client {
	t.Helper()
	return dynamolocal.Client(dynamolocal.Endpoint(t), between(func(_ context.Context, in any,
		send func() (any, error),
	) (any, error) {
		askForUnits(in, types.ReturnConsumedCapacityIndexes)
		out, err := send()
		for _, c := range consumedBy(out) {
			index := c.GlobalSecondaryIndexes[dynamo.AttentionIndex]
			*writes += aws.ToFloat64(index.CapacityUnits)
		}
		return out, err
	}))
}

// TestAnExecutionWritesTheIndexTwice plays three steps and five renewals between a claim and its
// result.
func TestAnExecutionWritesTheIndexTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy life.Policy
		writes float64
	}{
		"a handler that executes again": {life.Policy{}, 0},
		"a handler that refuses":        {life.Policy{RefuseCrashed: true}, 2},
		"a handler with a resolver":     {life.Policy{Resolves: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var writes float64
			s := dynamo.New(indexMeter(t, &writes), newTable(t))
			now := time.Now()
			p := c.policy
			p.Retention, p.UnknownRetention = time.Hour, 30*24*time.Hour
			by := life.Claimant{
				Policy: p, Key: "charge#1", Owner: "owner",
				Lease: life.LeaseEnd(now.Add(30 * time.Second)),
			}
			begin := by.Meets(store.Record{}, now)
			mustClaim(t, s, begin.Next, now)
			mine := begin.Next
			seen := life.Unleased(mine)
			for n := range 5 {
				now = now.Add(10 * time.Second)
				renewed := p.Renewed(mine, now.Add(30*time.Second), now)
				mustSwap(t, s, life.Unleased(mine), renewed)
				if n < 3 {
					step := store.Step{
						Kind: store.StepValue, Seal: store.Seal("owner", []byte(`1`)),
						Result: []byte(`1`),
					}
					stepped := p.Stepped(seen, renewed.Lease, fmt.Sprint("step", n), step, now.Add(time.Hour))
					mustSwap(t, s, seen, stepped)
					seen.Steps = map[string]store.Step{fmt.Sprint("step", n): step}
				}
			}
			require.Equal(t, c.writes/2, writes, "before the result")
			ended := life.Unleased(mine)
			ended.Steps = map[string]store.Step{"step0": {}, "step1": {}, "step2": {}}
			mustSwap(t, s, ended, p.Completed(mine, "", []byte(`{"paid":true}`), now))
			require.Equal(t, c.writes, writes)
		})
	}
}
