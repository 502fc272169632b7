package dynamo_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
)

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
