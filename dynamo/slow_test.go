package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// slowNetwork is a table behind a network that carries some bytes in a second. One of its requests
// is never answered: it is lost on its way, or its reply is.
type slowNetwork struct {
	speed     int // bytes per second
	n, silent int // requests so far, and which one gets no answer; 0 for none
	replyLost bool
	refusal   error // the answer to every batch, nil if it is carried out

	record       item
	parts        map[string]item
	wrote, asked map[string]int // how often each part was sent, and asked for
}

// travel lets a request, or its reply, of this size take its time.
func (s *slowNetwork) travel(ctx context.Context, size int) error {
	select {
	case <-time.After(time.Duration(size) * time.Second / time.Duration(s.speed)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do sends a request that does what apply says to the table.
func (s *slowNetwork) do(ctx context.Context, size int, apply func() (int, error)) error {
	s.n++
	silent := s.n == s.silent
	if err := s.travel(ctx, size); err != nil {
		return err
	}
	if silent && !s.replyLost {
		<-ctx.Done()
		return ctx.Err()
	}
	reply, err := apply()
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	if travelled := s.travel(ctx, reply); travelled != nil {
		return travelled
	}
	return err
}

func (s *slowNetwork) refused() error {
	return &types.ConditionalCheckFailedException{Item: s.record}
}

// answer knows of an update what a completion writes.
func (s *slowNetwork) answer(ctx context.Context, in any) (out any, err error) {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		err = s.do(ctx, 500, func() (int, error) {
			if s.record != nil {
				return 500, s.refused()
			}
			s.record = in.Item
			return 100, nil
		})
	case *dynamodb.UpdateItemInput:
		err = s.do(ctx, 500, func() (int, error) { return s.complete(in) })
	case *dynamodb.GetItemInput:
		out = &dynamodb.GetItemOutput{Item: s.record}
		err = s.do(ctx, 100, func() (int, error) { return 500, nil })
	case *dynamodb.BatchWriteItemInput:
		err = s.write(ctx, in.RequestItems[table])
	case *dynamodb.BatchGetItemInput:
		return s.read(ctx, in.RequestItems[table].Keys)
	default:
		panic("nothing is released here")
	}
	return out, err
}

func (s *slowNetwork) complete(in *dynamodb.UpdateItemInput) (int, error) {
	if textOf(s.record["status"]) != textOf(in.ExpressionAttributeValues[":seen_status"]) {
		return 500, s.refused()
	}
	s.record = maps.Clone(s.record)
	for ref, v := range in.ExpressionAttributeValues {
		if name, set := in.ExpressionAttributeNames["#"+ref[1:]]; set {
			s.record[name] = v
		}
	}
	return 100, nil
}

func (s *slowNetwork) write(ctx context.Context, writes []types.WriteRequest) error {
	size := 0
	for _, w := range writes {
		size += len(dataOf(w.PutRequest.Item))
		s.wrote[idOf(w.PutRequest.Item)]++
	}
	return s.do(ctx, size, func() (int, error) {
		if s.refusal != nil {
			return 100, s.refusal
		}
		for _, w := range writes {
			s.parts[idOf(w.PutRequest.Item)] = w.PutRequest.Item
		}
		return 100, nil
	})
}

func (s *slowNetwork) read(ctx context.Context, keys []item) (*dynamodb.BatchGetItemOutput, error) {
	for _, key := range keys {
		s.asked[idOf(key)]++
	}
	var found []item
	err := s.do(ctx, 500, func() (size int, err error) {
		if s.refusal != nil {
			return 100, s.refusal
		}
		for _, key := range keys {
			if it, ok := s.parts[idOf(key)]; ok {
				found = append(found, it)
				size += len(dataOf(it))
			}
		}
		return size, nil
	})
	return &dynamodb.BatchGetItemOutput{Responses: map[string][]item{table: found}}, err
}

// largeAnswer is a result that compression makes a quarter smaller or leaves as it is, as Go's
// release does, as JSON.
func largeAnswer(size int) []byte {
	text, err := json.Marshal(pattern(size / 4 * 3)) // base64
	if err != nil {
		panic(err)
	}
	return text
}

func TestWhatCouldBeStoredCanBeReplayed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size, speed int
		timeout     time.Duration
	}{
		"5.7 MB over 4 MB/s":                    {5_700_000, 4_000_000, 29 * time.Second},
		"5.7 MB over 4 MB/s, in little time":    {5_700_000, 4_000_000, 4 * time.Second},
		"5.7 MB over 1 MB/s":                    {5_700_000, 1_000_000, 29 * time.Second},
		"5.7 MB over 4 MB/s without a deadline": {5_700_000, 4_000_000, 0},
		"5.7 MB over 1 MB/s without a deadline": {5_700_000, 1_000_000, 0},
		"260 KB over 400 KB/s":                  {260_000, 400_000, 29 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				requireStoredAndReplayed(t, &slowNetwork{speed: tc.speed}, largeAnswer(tc.size), tc.timeout)
			})
		})
	}
}

func TestNoSingleUnansweredRequestLosesAResultOfAnySize(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		size    int
		timeout time.Duration
	}{
		{5_000, 10 * time.Second},
		{250_000, 10 * time.Second},
		{260_000, 10 * time.Second},
		{300_000, 10 * time.Second},
		{1_000_000, 10 * time.Second},
		{5_700_000, 10 * time.Second},
		{5_700_000, 5 * time.Second}, // no try may take all of what is left
	} {
		for _, replyLost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d KB in %v, reply lost: %t", tc.size/1000, tc.timeout, replyLost), func(t *testing.T) {
				t.Parallel()
				answer := largeAnswer(tc.size)
				for silent := 2; ; silent++ { // the first one is the claim
					last := false
					synctest.Test(t, func(t *testing.T) {
						network := &slowNetwork{speed: 4_000_000, silent: silent, replyLost: replyLost}
						requireStoredAndReplayed(t, network, answer, tc.timeout)
						last = network.n < silent
					})
					if last {
						break
					}
				}
			})
		}
	}
}

func TestANetworkThatHasBecomeSlowStillBringsAResult(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		network, answer := &slowNetwork{speed: 4_000_000}, largeAnswer(1_000_000)
		r := reportOn(network, answer)
		require.True(t, bytes.Equal(answer, r.deliver(t, 10*time.Minute)))
		network.speed = 200_000 // less than what a first try is long enough for
		require.True(t, bytes.Equal(answer, r.deliver(t, 10*time.Minute)))
		require.Equal(t, 1, r.executed)
	})
}

func TestWhatIsRefusedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"}
	t.Run("writing", func(t *testing.T) {
		t.Parallel()
		network, answer := &slowNetwork{speed: 4_000_000, refusal: denied}, largeAnswer(300_000)
		r := reportOn(network, answer)
		r.deliver(t, 10*time.Second)
		require.Equal(t, report.Unknown, r.event.Settlement)
		require.Equal(t, 3, network.n, "a claim, one batch, the update to UNKNOWN")
	})
	t.Run("reading", func(t *testing.T) {
		t.Parallel()
		network, answer := &slowNetwork{speed: 4_000_000}, largeAnswer(300_000)
		r := reportOn(network, answer)
		r.deliver(t, 10*time.Second)
		network.n, network.refusal = 0, denied
		_, err := r.try(t, 10*time.Second)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		require.Equal(t, 2, network.n, "a claim and one batch")
	})
}

// replayed is a handler with a large answer, over a slow network.
type replayed struct {
	handler  *idempotent.Handler[string, json.RawMessage]
	executed int
	event    report.Delivery
}

func reportOn(network *slowNetwork, answer []byte) *replayed {
	network.parts, network.wrote, network.asked = map[string]item{}, map[string]int{}, map[string]int{}
	r := new(replayed)
	r.handler = idempotent.Wrap(func(context.Context, string) (json.RawMessage, error) {
		r.executed++
		return answer, nil
	},
		dynamo.New(fake(network.answer), table), idempotent.WithOperation("report"),
		idempotent.WithKey(func(key string) (string, error) { return key, nil }),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { r.event = e }))
	return r
}

func (r *replayed) try(t *testing.T, timeout time.Duration) ([]byte, error) {
	t.Helper()
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	return r.handler.Invoke(ctx, []byte(`"r-1"`))
}

func (r *replayed) deliver(t *testing.T, timeout time.Duration) []byte {
	t.Helper()
	got, err := r.try(t, timeout)
	require.NoError(t, err, "the store: %v", r.event.StoreErr)
	return got
}

// requireStoredAndReplayed handles a request twice.
func requireStoredAndReplayed(t *testing.T, network *slowNetwork, answer []byte, timeout time.Duration) {
	t.Helper()
	r := reportOn(network, answer)
	for range 2 {
		got, err := r.try(t, timeout)
		require.NoError(t, err, "request %d is not answered; %v", network.silent, r.event.StoreErr)
		require.True(t, bytes.Equal(answer, got))
	}
	require.Equal(t, 1, r.executed)
	require.Equal(t, string(store.StatusCompleted), textOf(network.record["status"]))
	requireSentOnce(t, network, network.wrote, 3)
	requireSentOnce(t, network, network.asked, 4)
}

// requireSentOnce requires that only the parts of the request without an answer are sent, or asked
// for, again.
func requireSentOnce(t *testing.T, network *slowNetwork, sent map[string]int, batch int) {
	t.Helper()
	if network.silent == 0 {
		batch = 0
	}
	again := 0
	for _, times := range sent {
		require.LessOrEqual(t, times, 2)
		again += times - 1
	}
	require.LessOrEqual(t, again, batch, "request %d is not answered", network.silent)
}
