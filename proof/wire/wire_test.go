package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-idempotent/idempotent/proof/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is a client of the SDK, a proxy and a server that counts.
type line struct {
	*wire.Proxy
	t      *testing.T
	client *dynamodb.Client
	served atomic.Int64
	bodies chan map[string]json.RawMessage // what the server has seen
}

// newLine makes a client that sends every call once.
func newLine(t *testing.T, rule wire.Rule) *line {
	t.Helper()
	l := &line{t: t, bodies: make(chan map[string]json.RawMessage, 10)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			return
		}
		l.bodies <- body
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprintf(w, `{"Attributes":{"n":{"N":"%d"}}}`, l.served.Add(1))
	}))
	t.Cleanup(server.Close)
	var err error
	l.Proxy, err = wire.Start(server.URL, rule)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	l.client = l.newClient(1)
	return l
}

func (l *line) newClient(attempts int) *dynamodb.Client {
	h := awshttp.NewBuildableClient().WithTransportOptions(
		func(tr *http.Transport) { l.t.Cleanup(tr.CloseIdleConnections) })
	return dynamodb.New(dynamodb.Options{
		Region:           "us-east-1",
		BaseEndpoint:     aws.String(l.URL()),
		Credentials:      credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:       h,
		RetryMaxAttempts: attempts,
	})
}

// put writes and returns the number that the server gave the write.
func (l *line) put(ctx context.Context) (string, error) {
	out, err := l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("table"),
		Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "k"}},
	})
	if err != nil {
		return "", err
	}
	return out.Attributes["n"].(*types.AttributeValueMemberN).Value, nil
}

// mustPut writes within the life of the test.
func (l *line) mustPut() string {
	l.t.Helper()
	n, err := l.put(l.t.Context())
	require.NoError(l.t, err)
	return n
}

// putting writes in the background.
func (l *line) putting(ctx context.Context) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := l.put(ctx)
		result <- err
	}()
	return result
}

// giveUp writes, and gives up when the request has arrived and was forwarded that often.
func (l *line) giveUp(forwarded int) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	result := l.putting(ctx)
	require.Eventually(l.t, func() bool {
		all := l.Exchanges()
		return len(all) > 0 && all[len(all)-1].Forwarded == forwarded
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(l.t, <-result, context.Canceled)
}

func (l *line) last() wire.Exchange {
	l.t.Helper()
	all := l.Exchanges()
	require.NotEmpty(l.t, all)
	return all[len(all)-1]
}

func TestEveryRequestIsForwardedAndRecorded(t *testing.T) {
	t.Parallel()
	l := newLine(t, nil)
	assert.Equal(t, "1", l.mustPut())
	assert.Equal(t, "2", l.mustPut())

	x := l.last()
	assert.Equal(t, []any{2, 2, "PutItem", "pass"}, []any{x.Number, x.Nth, x.Operation, x.Fault})
	assert.Equal(t, []int{1, http.StatusOK, http.StatusOK}, []int{x.Forwarded, x.Status, x.Answered})
	assert.Contains(t, x.Header.Get("X-Amz-Target"), "PutItem")
	assert.Contains(t, string(x.Body), `"id":{"S":"k"}`)
	assert.JSONEq(t, `{"Attributes":{"n":{"N":"2"}}}`, string(x.Reply))
	assert.Equal(t, []string{"PutItem", "PutItem"}, l.Operations())
	assert.Empty(t, l.Faults())

	l.Forget()
	assert.Empty(t, l.Operations())
}

// Each fault of one request: what the client gets, and how often the server sees the request. The
// next request passes.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault wire.Fault
		// says is a part of the error, answered the status that the client gets.
		says             string
		answered, served int
	}{
		{wire.LoseRequest(), "EOF", 0, 0},
		{wire.LoseReply(), "EOF", 0, 1},
		{wire.TruncateReply(), "EOF", 0, 1},
		{wire.Throttle(), "ProvisionedThroughputExceededException", 400, 0},
		{wire.Conflict(), "TransactionConflictException", 400, 0},
		{wire.InternalError(), "InternalServerError", 500, 0},
		{wire.InternalErrorAfter(), "InternalServerError", 500, 1},
		{wire.Duplicate(), "", 200, 2},
		{wire.Cancel(0, "ThrottlingError"), "", 200, 1}, // it is no transaction
	} {
		t.Run(tc.fault.Name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, wire.On("PutItem", 1, tc.fault))
			n, err := l.put(t.Context())
			if tc.says == "" {
				require.NoError(t, err)
				assert.Equal(t, "1", n, "the first reply")
			} else {
				require.ErrorContains(t, err, tc.says)
			}
			assert.Equal(t, []string{tc.fault.Name}, l.Faults())
			assert.Equal(t, []int{tc.answered, tc.served}, []int{l.last().Answered, l.last().Forwarded})
			assert.EqualValues(t, tc.served, l.served.Load())
			l.mustPut()
		})
	}
}

func TestABlackHoleLastsUntilTheClientGivesUp(t *testing.T) {
	t.Parallel()
	for served, fault := range []wire.Fault{wire.SwallowRequest(), wire.SwallowReply()} {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, wire.At(1, fault))
			l.giveUp(served)
			assert.EqualValues(t, served, l.served.Load())
			assert.Zero(t, l.last().Answered)
			l.mustPut()
		})
	}
}

// transact writes two items together.
func (l *line) transact(ctx context.Context) error {
	put := func(id string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String("table"),
			Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		}}
	}
	_, err := l.client.TransactWriteItems(ctx,
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put("k"), put("l")}})
	return err
}

func TestATransactionIsCancelledBecauseOfAnItem(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(1, wire.Cancel(1, "ThrottlingError")))
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, l.transact(t.Context()), &cancelled)
	require.Len(t, cancelled.CancellationReasons, 2)
	for i, code := range []string{"None", "ThrottlingError"} {
		assert.Equal(t, code, *cancelled.CancellationReasons[i].Code)
	}
	assert.Equal(t, []string{"cancel, ThrottlingError"}, l.Faults())
	assert.Zero(t, l.served.Load())
	l.SetRule(wire.Always(wire.Cancel(2, "ThrottlingError")))
	require.NoError(t, l.transact(t.Context()), "it has no third item")
}

func TestATransactionCanLoseItsToken(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(2, wire.Forget(wire.Pass())))
	for range 2 {
		require.NoError(t, l.transact(t.Context()))
	}
	with, without := <-l.bodies, <-l.bodies
	assert.Contains(t, with, "ClientRequestToken")
	assert.NotContains(t, without, "ClientRequestToken")
	assert.JSONEq(t, string(with["TransactItems"]), string(without["TransactItems"]))
	assert.Equal(t, []string{"forget token, pass"}, l.Faults())
	assert.Contains(t, string(l.last().Body), "ClientRequestToken", "what the client has sent")
}

func TestARepetitionComesWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	gate := wire.NewGate()
	l := newLine(t, wire.At(1, wire.Repeat(gate.Wait)))
	assert.Equal(t, "1", l.mustPut())
	<-gate.Arrived()
	assert.Equal(t, "2", l.mustPut(), "another write comes between")
	gate.Open()
	require.Eventually(t, func() bool { return l.served.Load() == 3 }, time.Minute, time.Millisecond)
}

func TestADelayedRequestReachesTheServerAfterTheClientGaveUp(t *testing.T) {
	t.Parallel()
	gate := wire.NewGate()
	l := newLine(t, wire.At(1, wire.DelayRequest(gate.Wait)))
	l.giveUp(0)
	assert.Zero(t, l.served.Load())
	gate.Open()
	require.Eventually(t, func() bool { return l.last().Forwarded == 1 }, time.Minute, time.Millisecond)
	assert.Equal(t, int64(1), l.served.Load())
}

func TestAFaultCanBeHeld(t *testing.T) {
	t.Parallel()
	gate := wire.NewGate()
	l := newLine(t, wire.From(2, wire.Hold(gate.Wait, wire.LoseRequest())))
	l.mustPut()
	result := l.putting(t.Context())
	<-gate.Arrived()
	assert.Empty(t, result)
	gate.Open()
	gate.Open() // again
	require.ErrorContains(t, <-result, "EOF")
	assert.Equal(t, int64(1), l.served.Load())
	assert.Equal(t, []string{"hold, lose request"}, l.Faults())
}

func TestADelayedReplyComesLater(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	l := newLine(t, wire.Always(wire.DelayReply(wire.For(delay))))
	started := time.Now()
	l.mustPut()
	assert.GreaterOrEqual(t, time.Since(started), delay)
}

func TestWhatFollowsComesBehindTheReply(t *testing.T) {
	t.Parallel()
	replied, followed := make(chan struct{}), make(chan struct{})
	l := newLine(t, wire.Always(wire.Follow(func(context.Context) {
		<-replied // the client has its answer while this waits
		close(followed)
	})))
	l.mustPut()
	close(replied)
	<-followed
}

func TestAProxyRefusesConnectionsAndAcceptsThemAgain(t *testing.T) {
	t.Parallel()
	l := newLine(t, nil)
	l.mustPut()
	url := l.URL()
	require.NoError(t, l.Refuse())
	require.NoError(t, l.Refuse(), "again")
	l.client = l.newClient(1) // one that has no connection to lose
	_, err := l.put(t.Context())
	require.ErrorContains(t, err, "connection refused")
	assert.Len(t, l.Exchanges(), 1, "it sees nothing")

	require.NoError(t, l.Accept())
	require.NoError(t, l.Accept(), "again")
	assert.Equal(t, url, l.URL())
	l.mustPut()
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	t.Parallel()
	gate := wire.NewGate()
	l := newLine(t, wire.Always(wire.DelayRequest(gate.Wait)))
	result := l.putting(t.Context())
	<-gate.Arrived()
	require.NoError(t, l.Close())
	require.Error(t, <-result)
	require.NoError(t, l.Accept())
	_, err := l.put(t.Context())
	require.Error(t, err, "a closed proxy stays closed")
	assert.Zero(t, l.served.Load())
}
