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

// line is a client of the SDK that sends every call once, a proxy and a server that counts.
type line struct {
	*wire.Proxy
	t      *testing.T
	client *dynamodb.Client
	served atomic.Int64
	bodies chan map[string]json.RawMessage // what the server has seen
}

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
	l.Proxy, err = wire.Start(server.URL)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	l.SetRule(rule)
	l.client = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(l.URL()), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(
			func(tr *http.Transport) { t.Cleanup(tr.CloseIdleConnections) }),
	})
	return l
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

// passes writes, and is the number of the write.
func (l *line) passes(number string) {
	l.t.Helper()
	n, err := l.put(l.t.Context())
	require.NoError(l.t, err)
	assert.Equal(l.t, number, n)
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

// forwarded waits until the last request was forwarded so often.
func (l *line) forwarded(times int) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		all := l.Exchanges()
		return len(all) > 0 && all[len(all)-1].Forwarded == times
	}, time.Minute, time.Millisecond)
	assert.EqualValues(l.t, times, l.served.Load())
}

func TestEveryRequestIsForwardedAndRecorded(t *testing.T) {
	t.Parallel()
	l := newLine(t, nil)
	l.passes("1")
	l.passes("2")
	x := l.Exchanges()[1]
	assert.Equal(t, []any{2, 2, "PutItem", "pass"}, []any{x.Number, x.Nth, x.Operation, x.Fault})
	assert.Equal(t, []int{1, http.StatusOK, http.StatusOK}, []int{x.Forwarded, x.Status, x.Answered})
	assert.Contains(t, x.Header.Get("X-Amz-Target"), "PutItem")
	assert.Contains(t, string(x.Body), `"id":{"S":"k"}`)
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
			l.forwarded(tc.served)
			assert.Equal(t, tc.answered, l.Exchanges()[0].Answered)
			l.passes(fmt.Sprint(tc.served + 1))
		})
	}
}

// transact writes two items together.
func (l *line) transact() error {
	put := func(id string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String("table"),
			Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		}}
	}
	_, err := l.client.TransactWriteItems(l.t.Context(),
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put("k"), put("l")}})
	return err
}

func TestATransactionIsCancelledBecauseOfAnItem(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(1, wire.Cancel(1, "ThrottlingError")))
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, l.transact(), &cancelled)
	require.Len(t, cancelled.CancellationReasons, 2)
	for i, code := range []string{"None", "ThrottlingError"} {
		assert.Equal(t, code, *cancelled.CancellationReasons[i].Code)
	}
	assert.Equal(t, []string{"cancel, ThrottlingError"}, l.Faults())
	assert.Zero(t, l.served.Load())
	l.SetRule(wire.At(1, wire.Cancel(2, "ThrottlingError")))
	require.NoError(t, l.transact(), "it has no third item")
}

func TestATransactionCanLoseItsToken(t *testing.T) {
	t.Parallel()
	l := newLine(t, wire.At(2, wire.Forget(wire.Pass())))
	for range 2 {
		require.NoError(t, l.transact())
	}
	with, without := <-l.bodies, <-l.bodies
	assert.Contains(t, with, "ClientRequestToken")
	assert.NotContains(t, without, "ClientRequestToken")
	assert.JSONEq(t, string(with["TransactItems"]), string(without["TransactItems"]))
	assert.Equal(t, []string{"forget token, pass"}, l.Faults())
	assert.Contains(t, string(l.Exchanges()[1].Body), "ClientRequestToken", "what the client has sent")
}

// A client gives up when its request was forwarded so often, and then a gate is opened. So often
// the server sees the request in the end.
func TestAClientGivesUp(t *testing.T) {
	t.Parallel()
	gate := func(fault func(wire.Until) wire.Fault) (wire.Fault, *wire.Gate) {
		gate := wire.NewGate()
		return fault(gate.Wait), gate
	}
	delayed, opened := gate(wire.DelayRequest)
	for _, tc := range []struct {
		fault         wire.Fault
		before, after int
	}{{wire.SwallowRequest(), 0, 0}, {wire.SwallowReply(), 1, 1}, {delayed, 0, 1}} {
		t.Run(tc.fault.Name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, wire.At(1, tc.fault))
			ctx, cancel := context.WithCancel(t.Context())
			result := l.putting(ctx)
			l.forwarded(tc.before)
			cancel()
			require.ErrorIs(t, <-result, context.Canceled)
			if tc.before != tc.after {
				opened.Open()
			}
			l.forwarded(tc.after)
			assert.Zero(t, l.Exchanges()[0].Answered)
			l.passes(fmt.Sprint(tc.after + 1))
		})
	}
}

// What waits at a gate: a repetition, behind which other writes come, and a request that is lost.
func TestWhatWaitsHappensWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	gate := wire.NewGate()
	l := newLine(t, wire.At(1, wire.Repeat(gate.Wait)))
	l.passes("1")
	<-gate.Arrived()
	l.passes("2")
	gate.Open()
	require.Eventually(t, func() bool { return l.served.Load() == 3 }, time.Minute, time.Millisecond)

	gate = wire.NewGate()
	l.SetRule(wire.At(1, wire.Hold(gate.Wait, wire.LoseRequest())))
	result := l.putting(t.Context())
	<-gate.Arrived()
	assert.Empty(t, result)
	gate.Open()
	gate.Open() // again
	require.ErrorContains(t, <-result, "EOF")
	assert.Equal(t, []string{"repeat", "hold, lose request"}, l.Faults())

	const delay = 50 * time.Millisecond
	l.SetRule(wire.At(1, wire.DelayReply(wire.For(delay))))
	started := time.Now()
	l.passes("4")
	assert.GreaterOrEqual(t, time.Since(started), delay)
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	t.Parallel()
	gate := wire.NewGate()
	l := newLine(t, wire.At(1, wire.DelayRequest(gate.Wait)))
	result := l.putting(t.Context())
	<-gate.Arrived()
	l.Close()
	require.Error(t, <-result)
	assert.Zero(t, l.served.Load())
}
