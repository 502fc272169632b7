package e2e_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// occupied is a warehouse whose table has another order by the id of this cart, which was ordered
// before and whose record is gone.
func occupied(t *testing.T) (w *warehouse, c cart, key map[string]types.AttributeValue) {
	t.Helper()
	w, c = newWarehouse(t, 1), newCart(t)
	require.Equal(t, http.StatusCreated, w.post(c).status)
	id, err := attributevalue.Marshal(w.rows()[0].OrderID)
	require.NoError(t, err)
	key = map[string]types.AttributeValue{"order_id": id}
	_, err = w.dynamo.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(w.orders), Item: key})
	require.NoError(t, err)
	_, err = w.dynamo.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: aws.String(w.table),
		Key:       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: w.record().ID}},
	})
	require.NoError(t, err)
	w.proxy.Forget()
	return w, c, key
}

func TestAnOrderWhoseIDIsTakenIsAStoredConflict(t *testing.T) {
	t.Parallel()
	w, c, _ := occupied(t)
	first := w.post(c)
	require.Equal(t, http.StatusConflict, first.status, first)
	assert.Contains(t, first.body, "another order")
	again := w.post(c)
	assert.True(t, again.replayed(), again)
	assert.Equal(t, first.body, again.body)
	assert.Equal(t, "COMPLETED", w.record().Status)
	assert.Len(t, w.rows(), 1)
	assert.Empty(t, w.rows()[0].SKU, "the row is as it was")
	for _, x := range w.proxy.Exchanges() {
		if x.Operation == commit {
			assert.True(t, x.Refused(), string(x.Reply))
		}
	}
}
