package dynamo_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

var unsent = reply{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}

// TestOutcomeIsKnownOnlyIfEveryAttemptIs scripts the three attempts that the SDK makes of one call.
func TestOutcomeIsKnownOnlyIfEveryAttemptIs(t *testing.T) {
	t.Parallel()
	denied := failure(http.StatusBadRequest, "AccessDeniedException", "m")
	for name, c := range map[string]struct {
		replies    []reply
		attempts   int
		notApplied bool
	}{
		"all throttled":                              {[]reply{throttled}, 3, true},
		"first lost, then throttled":                 {[]reply{lost, throttled}, 3, false},
		"second lost":                                {[]reply{throttled, lost, throttled}, 3, false},
		"last lost":                                  {[]reply{throttled, throttled, lost}, 3, false},
		"all lost":                                   {[]reply{lost}, 3, false},
		"first broken, then denied":                  {[]reply{broken, denied}, 2, false},
		"first throttled, then denied":               {[]reply{throttled, denied}, 2, true},
		"never sent":                                 {[]reply{unsent}, 3, true},
		"first never sent, then denied":              {[]reply{unsent, denied}, 2, true},
		"first lost, then never sent":                {[]reply{lost, unsent}, 3, false},
		"first unreadable, which is not tried again": {[]reply{{status: http.StatusOK, body: "{"}, throttled}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, tr := scripted(c.replies...)
			_, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
			require.False(t, claimed)
			require.Len(t, tr.calls(), c.attempts)
			var se *store.Error
			require.ErrorAs(t, err, &se)
			require.Equal(t, c.notApplied, se.NotApplied, err)
		})
	}
}

// TestRefusalIsAnAnswer: what its own first attempt wrote refuses the second one.
func TestRefusalIsAnAnswer(t *testing.T) {
	t.Parallel()
	s, tr := scripted(lost, refused, reply{status: http.StatusOK, body: `{"Item":{"id":{"S":"k"},
		"status":{"S":"INPROGRESS"},"expiration":{"N":"1800086400"},"owner":{"S":"owner-1"}}}`})
	held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
	require.NoError(t, err)
	require.False(t, claimed)
	require.Equal(t, "owner-1", held.Owner)
	require.Equal(t, []string{"PutItem", "PutItem", "GetItem"}, tr.calls())
}

// TestFailedLookAfterARefusal: the read did not write, but an attempt before it may have.
func TestFailedLookAfterARefusal(t *testing.T) {
	t.Parallel()
	s, _ := scripted(refused, throttled)
	_, _, err := s.Claim(t.Context(), record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureThrottled, true)

	s, _ = scripted(lost, refused, throttled)
	_, _, err = s.Swap(t.Context(), record("k"), record("k"))
	requireStoreError(t, err, "swap", store.FailureThrottled, false)
}

// deaf is a client that ignores the options of a call.
type deaf struct {
	dynamo.Client
	err error
}

func (d deaf) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, d.err
}

func TestClientThatHidesItsAttempts(t *testing.T) {
	t.Parallel()
	s := dynamo.New(deaf{err: &types.ThrottlingException{}}, table)
	_, _, err := s.Claim(t.Context(), record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureThrottled, false)

	s = dynamo.New(deaf{err: &types.ConditionalCheckFailedException{Item: item{
		"status": S("COMPLETED"), "expiration": N("1800086400"), "data": S("1"),
	}}}, table)
	held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
	require.NoError(t, err)
	require.False(t, claimed)
	require.Equal(t, store.StatusCompleted, held.Status)
}

// TestDeleteRefusedAfterALostAttemptIsUnknown: the attempt that was not answered may have deleted the record.
func TestDeleteRefusedAfterALostAttemptIsUnknown(t *testing.T) {
	t.Parallel()
	s, _ := scripted(lost, refused)
	deleted, err := s.Delete(t.Context(), record("k"))
	require.False(t, deleted)
	var se *store.Error
	require.ErrorAs(t, err, &se)
	require.False(t, se.NotApplied)

	s, _ = scripted(throttled, refused)
	deleted, err = s.Delete(t.Context(), record("k"))
	require.NoError(t, err, "every attempt was answered")
	require.False(t, deleted)
}
