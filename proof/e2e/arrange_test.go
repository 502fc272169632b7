package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// crash sends an order and kills the function when it has claimed its key.
func (s *deployment) crash(o purchase) {
	s.t.Helper()
	gate := s.holdReply("PutItem")
	first := s.begin(o)
	arrived(s.t, gate)
	s.kill()
	gate.Open()
	require.NotNil(s.t, (<-first).failure)
	s.proxy.SetRule(nil)
	s.proxy.Forget()
}

// endLease ends the lease of the record now, instead of waiting for it.
func (s *deployment) endLease() {
	s.t.Helper()
	s.set("in_progress_expiration = :past", "attribute_exists(in_progress_expiration)")
}

// set changes the record, past the library.
func (s *deployment) set(change, condition string) {
	s.t.Helper()
	_, err := s.dynamo.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: aws.String(s.table),
		Key: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: s.record().ID},
		},
		ConditionExpression:       aws.String(condition),
		UpdateExpression:          aws.String("SET " + change),
		ExpressionAttributeValues: map[string]types.AttributeValue{":past": &types.AttributeValueMemberN{Value: "1"}},
	})
	require.NoError(s.t, err)
}

// holdReply holds the reply to the first request of an operation at a gate.
func (s *deployment) holdReply(operation string) *wire.Gate {
	gate := wire.NewGate()
	s.proxy.SetRule(wire.On(operation, 1, wire.DelayReply(gate.Wait)))
	return gate
}

// hold holds the first request of an operation at a gate, where it is lost.
func (s *deployment) hold(operation string) *wire.Gate {
	gate := wire.NewGate()
	s.proxy.SetRule(wire.On(operation, 1, wire.Hold(gate.Wait, wire.LoseRequest())))
	return gate
}

// arrived waits until somebody is at the gate, and gives up where nobody comes: the delivery may
// have failed before.
func arrived(t *testing.T, gate *wire.Gate) {
	t.Helper()
	select {
	case <-gate.Arrived():
	case <-time.After(20 * time.Second):
		require.FailNow(t, "nobody came to the gate")
	}
}

// await waits for an exchange.
func (s *deployment) await(wanted func(wire.Exchange) bool) (found wire.Exchange) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		for _, x := range s.proxy.Exchanges() {
			if wanted(x) {
				found = x
				return true
			}
		}
		return false
	}, 20*time.Second, 5*time.Millisecond)
	return found
}
