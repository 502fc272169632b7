package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

func TestACancelledTransactionTellsItsReasons(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.Always(wire.Cancel("None", "TransactionConflict")))
	_, err := l.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{}, {}}})
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
	require.Len(t, cancelled.CancellationReasons, 2)
	assert.Equal(t, "None", *cancelled.CancellationReasons[0].Code)
	assert.Nil(t, cancelled.CancellationReasons[0].Message)
	assert.Equal(t, "TransactionConflict", *cancelled.CancellationReasons[1].Code)
	assert.Contains(t, cancelled.ErrorMessage(), "[None, TransactionConflict]")
	assert.Equal(t, []string{"cancel None, TransactionConflict"}, l.Faults())
	assert.Zero(t, l.served.Load())
}

func TestACallThatMeetsATransactionIsToldSo(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(1, wire.Conflict()))
	_, err := l.put(t.Context())
	var conflict *types.TransactionConflictException
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, "injected by the proxy", aws.ToString(conflict.Message))
	assert.Zero(t, l.served.Load())
}

func TestATransactionCanLoseItsToken(t *testing.T) {
	t.Parallel()
	bodies := make(chan map[string]json.RawMessage, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		bodies <- body
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	proxy, err := wire.Start(server.URL, wire.At(2, wire.Forget(wire.Pass())))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	l := &line{Proxy: proxy, t: t}
	client := l.newClient(1)
	for range 2 {
		_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{}}})
		require.NoError(t, err)
	}
	with, without := <-bodies, <-bodies
	assert.Contains(t, with, "ClientRequestToken")
	assert.NotContains(t, without, "ClientRequestToken")
	assert.JSONEq(t, string(with["TransactItems"]), string(without["TransactItems"]))
	assert.Equal(t, []string{"forget token, pass"}, proxy.Faults())
	assert.Contains(t, string(proxy.Exchanges()[1].Body), "ClientRequestToken", "what the client has sent")
}
