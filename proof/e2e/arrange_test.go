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
	gate := s.gate("PutItem", wire.DelayReply)
	s.killDuring(s.reach(gate, o))
	gate.Open()
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

// gate gives the first request of an operation a fault that waits at a gate, until the test ends at
// the latest.
func (s *deployment) gate(operation string, fault func(wire.Until) wire.Fault) *wire.Gate {
	gate := wire.NewGate()
	s.t.Cleanup(gate.Open)
	s.proxy.SetRule(wire.On(operation, 1, fault(gate.Wait)))
	return gate
}

// lost is a request that is lost at a gate.
func lost(until wire.Until) wire.Fault { return wire.Hold(until, wire.LoseRequest()) }

// reach sends an order, and waits until somebody is at the gate.
func (s *deployment) reach(gate *wire.Gate, o purchase) (first <-chan answer) {
	s.t.Helper()
	first = s.begin(o)
	arrived(s.t, gate)
	return first
}

// killDuring kills the function while a client waits for its answer, and returns what that gets.
func (s *deployment) killDuring(first <-chan answer) answer {
	s.t.Helper()
	s.kill()
	a := <-first
	require.NotNil(s.t, a.failure, a)
	return a
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
