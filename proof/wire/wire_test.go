package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	served *atomic.Int64
}

// newLine makes a client that sends every call once.
func newLine(t *testing.T, rule wire.Rule) *line {
	t.Helper()
	served := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprintf(w, `{"Attributes":{"n":{"N":"%d"}}}`, served.Add(1))
	}))
	t.Cleanup(server.Close)
	proxy, err := wire.Start(server.URL, rule)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	l := &line{Proxy: proxy, t: t, served: served}
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

// giveUp writes, and gives up when the request has arrived and was forwarded that often.
func (l *line) giveUp(forwarded int) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := l.put(ctx)
		result <- err
	}()
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
	assert.Equal(t, 2, x.Number)
	assert.Equal(t, 2, x.Nth)
	assert.Equal(t, "PutItem", x.Operation)
	assert.Equal(t, "k", x.Key("id"))
	assert.Empty(t, x.Key("other"))
	assert.Equal(t, "pass", x.Fault)
	assert.Equal(t, 1, x.Forwarded)
	assert.Equal(t, http.StatusOK, x.Status)
	assert.Equal(t, http.StatusOK, x.Answered)
	assert.JSONEq(t, `{"Attributes":{"n":{"N":"2"}}}`, string(x.Reply))
	assert.Equal(t, []string{"PutItem", "PutItem"}, l.Operations())
	assert.Empty(t, l.Faults())

	l.Forget()
	assert.Empty(t, l.Operations())
}

func TestFaultsThatBreakTheConnection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault wire.Fault
		// served tells whether the server sees the request.
		served int64
	}{
		{wire.LoseRequest(), 0},
		{wire.LoseReply(), 1},
		{wire.TruncateReply(), 1},
	} {
		t.Run(tc.fault.Name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, wire.At(1, tc.fault))
			_, err := l.put(t.Context())
			require.ErrorContains(t, err, "EOF")
			assert.Equal(t, tc.served, l.served.Load())
			assert.Equal(t, []string{tc.fault.Name}, l.Faults())
			assert.Zero(t, l.last().Answered)
			assert.Equal(t, int(tc.served), l.last().Forwarded)
			l.mustPut()
		})
	}
}

func TestABlackHoleLastsUntilTheClientGivesUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault  wire.Fault
		served int // how often the server sees the request
	}{
		{wire.SwallowRequest(), 0},
		{wire.SwallowReply(), 1},
	} {
		t.Run(tc.fault.Name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, wire.At(1, tc.fault))
			l.giveUp(tc.served)
			assert.EqualValues(t, tc.served, l.served.Load())
			assert.Zero(t, l.last().Answered)
			l.mustPut()
		})
	}
}

func TestErrorsOfTheServiceAreUnderstoodByTheSDK(t *testing.T) {
	t.Parallel()
	throttled, failed := new(types.ProvisionedThroughputExceededException), new(types.InternalServerError)
	for _, tc := range []struct {
		fault  wire.Fault
		as     any
		served int64
	}{
		{wire.Throttle(), &throttled, 0},
		{wire.InternalError(), &failed, 0},
		{wire.InternalErrorAfter(), &failed, 1},
	} {
		t.Run(tc.fault.Name, func(t *testing.T) { // one after the other: they share what they decode into
			l := newLine(t, wire.On("PutItem", 1, tc.fault))
			_, err := l.put(t.Context())
			require.ErrorAs(t, err, tc.as)
			assert.Equal(t, tc.served, l.served.Load())
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
	l := newLine(t, func(r wire.Request) wire.Fault {
		if r.Nth == 1 {
			return wire.Cancel(1, "ThrottlingError")
		}
		return wire.Conflict()
	})
	var cancelled *types.TransactionCanceledException
	for _, codes := range [][]string{{"None", "ThrottlingError"}, {"TransactionConflict", "None"}} {
		require.ErrorAs(t, l.transact(t.Context()), &cancelled)
		require.Len(t, cancelled.CancellationReasons, len(codes))
		for i, code := range codes {
			assert.Equal(t, code, *cancelled.CancellationReasons[i].Code)
		}
	}
	assert.Equal(t, []string{"cancel, ThrottlingError", "conflict"}, l.Faults())
	assert.Equal(t, "k", l.last().Key("id"), "of the first item")
	assert.Zero(t, l.served.Load())
	l.SetRule(wire.Always(wire.Cancel(2, "ThrottlingError")))
	require.NoError(t, l.transact(t.Context()), "it has no third item")
	l.mustPut()
}

func TestAWriteBesideATransactionConflicts(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(1, wire.Conflict()))
	_, err := l.put(t.Context())
	var conflict *types.TransactionConflictException
	require.ErrorAs(t, err, &conflict)
	assert.Zero(t, l.served.Load())
	l.mustPut()
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
	l.client = l.newClient(1)
	for range 2 {
		require.NoError(t, l.transact(t.Context()))
	}
	with, without := <-bodies, <-bodies
	assert.Contains(t, with, "ClientRequestToken")
	assert.NotContains(t, without, "ClientRequestToken")
	assert.JSONEq(t, string(with["TransactItems"]), string(without["TransactItems"]))
	assert.Equal(t, []string{"forget token, pass"}, proxy.Faults())
	assert.Contains(t, string(proxy.Exchanges()[1].Body), "ClientRequestToken", "what the client has sent")
}

func TestADuplicateIsServedTwiceAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(1, wire.Duplicate()))
	assert.Equal(t, "1", l.mustPut(), "the first reply")
	assert.Equal(t, int64(2), l.served.Load())
	assert.Equal(t, 2, l.last().Forwarded)
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
	result := make(chan error, 1)
	go func() {
		_, err := l.put(t.Context())
		result <- err
	}()
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
	result := make(chan error, 1)
	go func() {
		_, err := l.put(t.Context())
		result <- err
	}()
	<-gate.Arrived()
	require.NoError(t, l.Close())
	require.Error(t, <-result)
	require.NoError(t, l.Accept())
	_, err := l.put(t.Context())
	require.Error(t, err, "a closed proxy stays closed")
	assert.Zero(t, l.served.Load())
}
