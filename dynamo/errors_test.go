package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// secret stands for everything that must not be in an error: keys, payloads, results.
const secret = "4111111111111111"

func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	const clientError, serverError = http.StatusBadRequest, http.StatusInternalServerError
	refusedDial := &net.OpError{
		Op: "dial", Net: "tcp",
		Err: os.NewSyscallError("connect", errors.New("connection refused")),
	}
	for name, c := range map[string]struct {
		reply      reply
		kind       store.Failure
		notApplied bool
		text       string // that the error keeps
	}{
		"provisioned throughput": {
			failure(clientError, "ProvisionedThroughputExceededException", "The level of configured"),
			store.FailureThrottled, true, "The level of configured",
		},
		"throttling": {throttled, store.FailureThrottled, true, "Rate exceeded"},
		"request limit": {
			failure(clientError, "RequestLimitExceeded", "m"), store.FailureThrottled, true,
			"RequestLimitExceeded",
		},
		"too many requests": {
			failure(http.StatusTooManyRequests, "Odd", secret),
			store.FailureThrottled, false, "Odd",
		},
		"transaction conflict": {
			failure(clientError, "TransactionConflictException", "m"),
			store.FailureConflict, true, "m",
		},
		// ours, perhaps
		"transaction in progress": {
			failure(clientError, "TransactionInProgressException", "m"),
			store.FailureConflict, false, "m",
		},
		"another Region writes": {
			failure(clientError, "ReplicatedWriteConflictException", "m"),
			store.FailureConflict, true, "m",
		},
		"access denied": {
			failure(clientError, "AccessDeniedException", "User: arn:aws:iam::1:role/x is not authorized"),
			store.FailureAccessDenied, true, "is not authorized",
		},
		"expired token": {
			failure(clientError, "ExpiredTokenException", "m"), store.FailureAccessDenied, true,
			"ExpiredTokenException",
		},
		"unknown key id": {
			failure(clientError, "UnrecognizedClientException", "m"),
			store.FailureAccessDenied, true, "m",
		},
		"wrong signature": {
			failure(clientError, "InvalidSignatureException", "m"),
			store.FailureAccessDenied, true, "m",
		},
		"missing table": {
			failure(clientError, "ResourceNotFoundException", "Requested resource not found"),
			store.FailureMissingTable, true, `table "` + table + `": `,
		},
		"item too large": {failure(clientError, "ValidationException",
			"Item size has exceeded the maximum allowed size"), store.FailureTooLarge, true, "Item size"},
		"update too large": {failure(clientError, "ValidationException",
			"Item size to update has exceeded the maximum allowed size"), store.FailureTooLarge, true, "to update"},
		"value beyond 1 MB": {
			failure(clientError, "ValidationException",
				"Invalid UpdateExpression: Expression size has exceeded the maximum allowed size; expression size: 2000000"),
			store.FailureTooLarge, true, "expression size: 2000000",
		},
		"values beyond 2 MB": {failure(clientError, "ValidationException",
			"ExpressionAttributeValues exceeds max size"), store.FailureTooLarge, true, "exceeds max size"},
		"value beyond an item": {
			failure(clientError, "ValidationException",
				"ExpressionAttributeValues contains invalid value: Item size has exceeded the maximum allowed size "+
					"for key :data"),
			store.FailureTooLarge, true, "for key :data",
		},
		"a text with a preface": {
			failure(clientError, "ValidationException",
				"1 validation error detected: Invalid ConditionExpression: Expression size has exceeded the maximum "+
					"allowed size"),
			store.FailureTooLarge, true, "ConditionExpression",
		},
		"request beyond 16 MB": {
			failure(http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", "m"),
			store.FailureTooLarge, true, "RequestEntityTooLarge",
		},
		"a value that reads so": {
			failure(clientError, "ValidationException", secret+" Item size has exceeded"),
			store.FailureRejected, true, "withheld",
		},
		"collection limit": {
			failure(clientError, "ItemCollectionSizeLimitExceededException", "m"),
			store.FailureTooLarge, true, "m",
		},
		"another key": {
			failure(clientError, "ValidationException",
				"The provided key element does not match the schema"), store.FailureRejected, true,
			"does not match the schema",
		},
		"a missing key": {
			failure(clientError, "ValidationException",
				"One or more parameter values were invalid: Missing the key sk in the item"), store.FailureRejected,
			true, "the key sk",
		},
		"another rejection": {
			failure(clientError, "ValidationException", "Bad value: "+secret),
			store.FailureRejected, true, "ValidationException",
		},
		"bad syntax": {
			failure(clientError, "SerializationException", secret), store.FailureRejected, true,
			"SerializationException",
		},
		"unknown client error": {
			failure(clientError, "NovelException", secret),
			store.FailureRejected, false, `status 400, request id "request-1"`,
		},
		"internal error": {broken, store.FailureUnavailable, false, "InternalServerError"},
		"known code, server error": {
			failure(serverError, "ThrottlingException", "m"),
			store.FailureThrottled, false, "m",
		},
		"service unavailable": {
			failure(http.StatusServiceUnavailable, "ServiceUnavailable", secret),
			store.FailureUnavailable, false, "ServiceUnavailable",
		},
		"a proxy's page": {
			reply{status: http.StatusBadGateway, body: "<html>" + secret},
			store.FailureUnavailable, false, "status 502",
		},
		"a firewall's page": {
			reply{status: http.StatusForbidden, body: "<html>" + secret},
			store.FailureAccessDenied, false, "status 403",
		},
		"a proxy's time limit": {
			reply{status: http.StatusRequestTimeout, body: secret},
			store.FailureTimeout,
			false, "status 408",
		},
		"a proxy's size limit": {
			reply{status: http.StatusRequestEntityTooLarge, body: secret},
			store.FailureTooLarge, false, "status 413",
		},
		"an unreadable answer": {
			reply{status: http.StatusOK, body: `{"Item":` + secret + `,"Attributes":7`},
			store.FailureUnavailable, false, "unreadable answer",
		},
		"an unreadable refusal": {
			reply{status: http.StatusBadRequest, body: `{"__type":"com.amazon`},
			store.FailureUnavailable, false, "unreadable answer",
		},
		"a lost reply":         {lost, store.FailureUnavailable, false, "unexpected EOF"},
		"a refused connection": {reply{err: refusedDial}, store.FailureUnavailable, true, "connection refused"},
		"an unknown host": {
			reply{err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h"}}},
			store.FailureUnavailable, true, "no such host",
		},
		"a connection that is not made in time": {
			reply{err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}},
			store.FailureTimeout, true, "timeout",
		},
		"a broken connection": {
			reply{err: &net.OpError{Op: "read", Err: errors.New("connection reset")}},
			store.FailureUnavailable, false, "reset",
		},
		"an answer that does not come": {
			reply{err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}},
			store.FailureTimeout, false, "timeout",
		},
		"a deadline of the HTTP client": {
			reply{err: context.DeadlineExceeded},
			store.FailureTimeout,
			false, "deadline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for op, err := range everyWrite(c.reply) {
				var se *store.Error
				require.ErrorAs(t, err, &se, op)
				require.Equal(t, op, se.Op)
				require.Equal(t, c.kind, se.Kind, "%s: %v", op, err)
				require.Equal(t, c.notApplied, se.NotApplied, "%s: %v", op, err)
				require.Contains(t, err.Error(), c.text)
				requireNoSecret(t, err)
			}
		})
	}
}

// everyWrite returns the error of each write whose every attempt is answered like this.
func everyWrite(r reply) map[string]error {
	s, _ := scripted(r)
	seen := record("charge#" + secret)
	next := completion(seen, []byte(`"`+secret+`"`))
	_, _, claim := s.Claim(context.Background(), seen, claimTime)
	_, _, swap := s.Swap(context.Background(), seen, next)
	_, del := s.Delete(context.Background(), seen)
	return map[string]error{"claim": claim, "swap": swap, "delete": del}
}

// requireNoSecret looks into everything that logs might show of an error.
func requireNoSecret(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		require.NotContains(t, err.Error(), secret)
		require.NotContains(t, fmt.Sprintf("%+v", err), secret)
		if text, jsonErr := json.Marshal(err); jsonErr == nil {
			require.NotContains(t, string(text), secret)
		}
	}
}

// Only a text about the key of the table accuses the table: whoever reads the error would look in
// the wrong place.
func TestUnknownRejectionsDoNotAccuseTheTable(t *testing.T) {
	t.Parallel()
	for message, accused := range map[string]bool{
		"The provided key element does not match the schema":                                    true,
		"One or more parameter values were invalid: Missing the key sk in the item":             true,
		"One or more parameter values were invalid: Type mismatch for key id expected: N":       true,
		"One of the required keys was not given a value":                                        true,
		"1 validation error detected: The provided key element does not match the schema":       true,
		"Nesting Levels have exceeded supported limits":                                         false,
		"Invalid UpdateExpression: Expression size has exceeded the maximum allowed size":       false,
		"One or more parameter values were invalid: Size of hashkey has exceeded the maximum":   false,
		"Number overflow. Attempting to store a number with magnitude larger than supported: 1": false,
		"something that nobody has seen: " + secret:                                             false,
	} {
		for op, err := range everyWrite(failure(http.StatusBadRequest, "ValidationException", message)) {
			require.Equal(t, accused, strings.Contains(err.Error(), "run Store.Check"), "%s: %v", op, err)
			require.Equal(t, accused, strings.Contains(err.Error(), "table "), "%s: %v", op, err)
			requireNoSecret(t, err)
		}
	}
}

// TestResultsBeyondAnItemAreTooLarge: DynamoDB says it in five ways, depending on how far beyond.
func TestResultsBeyondAnItemAreTooLarge(t *testing.T) {
	t.Parallel()
	s, _, _ := local(t)
	held := record("p#1")
	mustClaim(t, s, held, claimTime)
	for _, size := range []int{410_000, 1_100_000, 2_000_000, 2_200_000, 5_000_000, 17_000_000} {
		for _, layout := range []store.Layout{store.LayoutText, store.LayoutValue} {
			next := completion(held, []byte(`"`+strings.Repeat("x", size)+`"`))
			next.Layout = layout
			_, swapped, err := s.Swap(t.Context(), held, next)
			require.False(t, swapped)
			var se *store.Error
			require.ErrorAs(t, err, &se)
			require.Equal(t, store.FailureTooLarge, se.Kind, "%d bytes: %v", size, err)
			require.NotContains(t, err.Error(), "table ")
			require.Less(t, len(err.Error()), 400, "which quotes nothing of it")
		}
	}
	got := mustGet(t, s, held.Key)
	require.Equal(t, held, got, "nothing of it was written")
}

func TestErrorsKeepWhatCallersLookFor(t *testing.T) {
	t.Parallel()
	s, _ := scripted(throttled)
	_, _, err := s.Claim(t.Context(), record("k"), claimTime)
	var exception *types.ThrottlingException
	require.ErrorAs(t, err, &exception)

	s, _ = scripted(failure(http.StatusBadRequest, "ValidationException", secret))
	_, _, err = s.Claim(t.Context(), record("k"), claimTime)
	var api smithy.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, "ValidationException", api.ErrorCode())
}

func TestReadFailures(t *testing.T) {
	inBubble(t, readFailures)
}

func readFailures(t *testing.T) {
	s, _ := scripted(throttled)
	_, found, err := s.Get(t.Context(), "k")
	require.False(t, found)
	requireStoreError(t, err, "get", store.FailureThrottled, true)

	r := completion(record("k"), []byte("x"))
	r.Result, r.Parts = nil, "1:1"
	_, err = s.ReadResult(t.Context(), r)
	requireStoreError(t, err, "read result", store.FailureThrottled, true)
}

func TestCredentialsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	client := scriptedClient(&transport{}, func(o *dynamodb.Options) { o.Credentials = noCredentials })
	_, _, err := dynamo.New(client, table).Claim(t.Context(), record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureAccessDenied, true)
	require.ErrorContains(t, err, "no credentials here")
}

func TestContextThatEndedIsATimeout(t *testing.T) {
	t.Parallel()
	s, tr := scripted(done)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Claim(cancelled, record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureTimeout, true)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, tr.calls())
}

func TestContextThatEndsDuringACallLeavesItOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	tr := &transport{answer: func(_ int, r *http.Request, _ request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}}
	_, _, err := dynamo.New(scriptedClient(tr), table).Claim(ctx, record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureTimeout, false)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func requireStoreError(t *testing.T, err error, op string, kind store.Failure, notApplied bool) {
	t.Helper()
	var se *store.Error
	require.ErrorAs(t, err, &se)
	require.Equal(t, op, se.Op)
	require.Equal(t, kind, se.Kind, err)
	require.Equal(t, notApplied, se.NotApplied, err)
}

// TestAWithheldMessageLeavesTheCall, its status and its request id.
func TestAWithheldMessageLeavesTheCall(t *testing.T) {
	t.Parallel()
	s, _ := scripted(failure(http.StatusBadRequest, "NovelException", secret))
	_, _, err := s.Get(t.Context(), "k")
	require.ErrorContains(t, err,
		`GetItem: status 400, request id "request-1": api error NovelException: (message withheld)`)
}
