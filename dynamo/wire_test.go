package dynamo_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// recorded returns a store on DynamoDB Local whose requests are kept.
func recorded(t *testing.T) (*dynamo.Store, *transport) {
	t.Helper()
	tr := recorder()
	s, _, _ := local(t, func(o *dynamodb.Options) { o.HTTPClient = tr })
	tr.reset()
	return s, tr
}

func TestCallsOfAnExecutionAndItsReplay(t *testing.T) {
	t.Parallel()
	s, tr := recorded(t)
	first := claims(t, s, record("charge#key"))
	want := completion(first, []byte(`{"id":"ch_1"}`))
	mustSwap(t, s, first, want)
	require.Equal(t, []string{"PutItem", "UpdateItem"}, tr.calls())

	tr.reset()
	duplicate := record("charge#key")
	duplicate.Owner = "owner-2"
	held, claimed, err := s.Claim(t.Context(), duplicate, claimTime)
	require.NoError(t, err)
	require.False(t, claimed)
	require.Equal(t, want, held)
	require.Equal(t, []string{"PutItem"}, tr.calls())
}

func TestCallsOfATakeoverAndARelease(t *testing.T) {
	t.Parallel()
	s, tr := recorded(t)
	next := claims(t, s, record("charge#key"))
	next.Owner, next.Attempt = "owner-2", 2
	tr.reset()
	held, claimed, err := s.Claim(t.Context(), next, claimTime.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, claimed)
	mustSwap(t, s, held, next)
	mustDelete(t, s, next)
	require.Equal(t, []string{"PutItem", "UpdateItem", "DeleteItem"}, tr.calls())
}

func TestCallsOfALargeResultAndItsReplay(t *testing.T) {
	t.Parallel()
	s, tr := recorded(t)
	first := claims(t, s, record("charge#key"))
	result := []byte(`"` + strings.Repeat("x", 6<<20) + `"`)
	mustSwap(t, s, first, completion(first, result))
	held, _, err := s.Claim(t.Context(), first, claimTime)
	require.NoError(t, err)
	require.Equal(t, result, resultOf(t, s, held))
	require.Equal(t, []string{"PutItem", "BatchWriteItem", "UpdateItem", "PutItem", "BatchGetItem"}, tr.calls())
}

// TestWarmUp: what docs/cost.md has a function do while it starts finds nothing, and is no error.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	s, tr := recorded(t)
	for _, key := range []string{"warm-up", "payments-charge#warm-up"} {
		_, found, err := s.Get(t.Context(), key)
		require.NoError(t, err)
		require.False(t, found)
	}
	require.Equal(t, []string{"GetItem", "GetItem"}, tr.calls())
}

// TestServerThatSendsNoOldItem reads the record that refused, or finds it gone.
func TestServerThatSendsNoOldItem(t *testing.T) {
	t.Parallel()
	found := reply{status: http.StatusOK, body: `{"Item":{"id":{"S":"k"},"status":{"S":"COMPLETED"},
		"expiration":{"N":"1800086400"},"data":{"S":"1"}}}`}
	want := store.Record{
		Key: "k", Status: store.StatusCompleted, Expiry: time.Unix(1_800_086_400, 0).UTC(), Result: []byte("1"),
	}
	for name, c := range map[string]struct {
		look reply
		held store.Record
	}{
		"held": {found, want},
		"gone": {done, store.Record{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, tr := scripted(refused, c.look)
			held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
			require.NoError(t, err)
			require.False(t, claimed)
			require.Equal(t, c.held, held)
			require.Equal(t, []string{"PutItem", "GetItem"}, tr.calls())
			require.JSONEq(t, `{"TableName":"idempotency","Key":{"id":{"S":"k"}},"ConsistentRead":true}`,
				string(tr.requests[1].Body))

			s, tr = scripted(refused, c.look)
			held, swapped, err := s.Swap(t.Context(), record("k"), record("k"))
			require.NoError(t, err)
			require.False(t, swapped)
			require.Equal(t, c.held, held)
			require.Equal(t, []string{"UpdateItem", "GetItem"}, tr.calls())
		})
	}
	s, tr := scripted(refused)
	deleted, err := s.Delete(t.Context(), record("k"))
	require.NoError(t, err)
	require.False(t, deleted)
	require.Equal(t, []string{"DeleteItem"}, tr.calls())
}

// TestSDKIsRecentEnough logs with which versions of the SDK the tests run. Clients of DynamoDB
// before v1.72.3 have regressions.
func TestSDKIsRecentEnough(t *testing.T) {
	t.Parallel()
	var agent string
	tr := &transport{answer: func(_ int, r *http.Request, _ request) (*http.Response, error) {
		agent = r.Header.Get("User-Agent")
		return done.send()
	}}
	_, _, err := dynamo.New(scriptedClient(tr), table).Get(t.Context(), "key")
	require.NoError(t, err)
	version := regexp.MustCompile(`api/dynamodb#1\.(\d+)\.(\d+)`).FindStringSubmatch(agent)
	require.Len(t, version, 3, agent)
	t.Logf("aws-sdk-go-v2 v%s, service/dynamodb v1.%s.%s", aws.SDKVersion, version[1], version[2])
	minor, err := strconv.Atoi(version[1])
	require.NoError(t, err)
	patch, err := strconv.Atoi(version[2])
	require.NoError(t, err)
	require.GreaterOrEqual(t, minor*1000+patch, 72*1000+3)
}

// TestWaitersOnDynamoDBGetTheOneResult: many deliveries of a key, each through a handler and a
// store of its own, wait for the one that executes. The result is large enough to be in parts.
func TestWaitersOnDynamoDBGetTheOneResult(t *testing.T) {
	t.Parallel()
	_, client, table := local(t)
	var executed atomic.Int64
	result := string(bytes.Repeat([]byte("paid "), 4000))
	deliver := func() (string, error) {
		handler := idempotent.Wrap(func(context.Context, string) (string, error) {
			executed.Add(1)
			time.Sleep(700 * time.Millisecond) // most of the others have asked by then
			return result, nil
		}, dynamo.New(client, table), idempotent.WithOperation("pay"), idempotent.WithWait(5*time.Minute),
			unhurried(),
			idempotent.WithKey(func(id string) (string, error) { return id, nil }))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		return handler.Handle(ctx, "order-1")
	}
	type answer struct {
		out string
		err error
	}
	answers := make(chan answer)
	const clients = 20
	for range clients {
		go func() {
			out, err := deliver()
			answers <- answer{out, err}
		}()
	}
	for range clients {
		a := <-answers
		require.NoError(t, a.err)
		assert.Equal(t, result, a.out)
	}
	assert.Equal(t, int64(1), executed.Load())
}

// sick answers the n-th request, and only that, in the place of the table.
type sick struct {
	n        int64
	status   int
	kind     string
	requests atomic.Int64
}

func (s *sick) Do(r *http.Request) (*http.Response, error) {
	if s.requests.Add(1) != s.n {
		return http.DefaultClient.Do(r)
	}
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + s.kind + `","message":"no"}`
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewBufferString(body)), Request: r,
	}, nil
}

// TestOneBadAnswerCostsNobodyAnExecution plays an answer 500 and a throttled request at every call
// of a delivery, with the SDK's retry behaviour of before and after November 2026.
func TestOneBadAnswerCostsNobodyAnExecution(t *testing.T) {
	t.Parallel()
	for behaviour, retryer := range map[string]aws.Retryer{
		"the SDK's own": nil,
		"that of before": retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.Backoff = 3, retry.NewExponentialJitterBackoff(time.Second)
		}),
		"none": aws.NopRetryer{},
	} {
		for kind, status := range map[string]int{"InternalServerError": 500, "ThrottlingException": 400} {
			for n := int64(1); n <= 2; n++ {
				t.Run(behaviour+", "+kind+", call "+string(rune('0'+n)), func(t *testing.T) {
					t.Parallel()
					executedOnce(t, &sick{n: n, status: status, kind: kind}, retryer)
				})
			}
		}
	}
}

func executedOnce(t *testing.T, table *sick, retryer aws.Retryer) {
	t.Helper()
	s, _, _ := local(t, func(o *dynamodb.Options) {
		o.HTTPClient = table
		if retryer != nil {
			o.Retryer = retryer
		}
	})
	executions := 0
	h := idempotent.Wrap(func(context.Context, string) (int, error) {
		executions++
		return executions, nil
	}, s, idempotent.WithOperation("charge"), idempotent.WithKey(func(key string) (string, error) { return key, nil }))
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := h.Handle(ctx, "k-1")
		cancel()
		require.NoError(t, err)
		require.Equal(t, 1, out)
	}
	require.Equal(t, 1, executions)
	require.Equal(t, int64(4), table.requests.Load(), "claim, completion, claim, and one again")
}
