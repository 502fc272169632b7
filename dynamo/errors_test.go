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

	"github.com/aws/aws-sdk-go-v2/aws"
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
	invalid := func(message string) reply { return rejection("ValidationException", message) }
	page := func(status int) reply { return reply{status: status, body: "<html>" + secret} }
	broke := func(op string, err error) reply { return reply{err: &net.OpError{Op: op, Net: "tcp", Err: err}} }
	const overloaded, gateway = http.StatusServiceUnavailable, http.StatusBadGateway
	for name, c := range map[string]struct {
		reply      reply
		kind       store.Failure
		notApplied bool
		text       string // that the error keeps
	}{
		"provisioned throughput": {
			rejection("ProvisionedThroughputExceededException", "The level of configured"),
			store.FailureThrottled, true, "The level of configured",
		},
		"throttling": {throttled, store.FailureThrottled, true, "Rate exceeded"},
		"request limit": {
			rejection("RequestLimitExceeded", "m"), store.FailureThrottled, true, "RequestLimitExceeded",
		},
		"too many requests":    {failure(429, "Odd", secret), store.FailureThrottled, false, "Odd"},
		"transaction conflict": {rejection("TransactionConflictException", "m"), store.FailureConflict, true, "m"},
		// ours, perhaps
		"transaction in progress": {
			rejection("TransactionInProgressException", "m"), store.FailureConflict, false, "m",
		},
		"another Region writes": {
			rejection("ReplicatedWriteConflictException", "m"), store.FailureConflict, true, "m",
		},
		"access denied": {denied, store.FailureAccessDenied, true, "is not authorized"},
		"expired token": {
			rejection("ExpiredTokenException", "m"), store.FailureAccessDenied, true, "ExpiredTokenException",
		},
		"unknown key id": {
			rejection("UnrecognizedClientException", "m"), store.FailureAccessDenied, true, "m",
		},
		"wrong signature": {rejection("InvalidSignatureException", "m"), store.FailureAccessDenied, true, "m"},
		"missing table": {
			rejection("ResourceNotFoundException", "Requested resource not found"),
			store.FailureMissingTable, true, `table "` + table + `": `,
		},
		"item too large": {
			invalid("Item size has exceeded the maximum allowed size"), store.FailureTooLarge, true, "Item size",
		},
		"update too large": {
			invalid("Item size to update has exceeded the maximum allowed size"),
			store.FailureTooLarge, true, "to update",
		},
		"value beyond 1 MB": {
			invalid("Invalid UpdateExpression: Expression size has exceeded the maximum allowed size; expression size: 2000000"),
			store.FailureTooLarge, true, "expression size: 2000000",
		},
		"values beyond 2 MB": {
			invalid("ExpressionAttributeValues exceeds max size"), store.FailureTooLarge, true, "exceeds max size",
		},
		"value beyond an item": {
			invalid("ExpressionAttributeValues contains invalid value: " +
				"Item size has exceeded the maximum allowed size for key :data"),
			store.FailureTooLarge, true, "for key :data",
		},
		"a text with a preface": {
			invalid("1 validation error detected: " +
				"Invalid ConditionExpression: Expression size has exceeded the maximum allowed size"),
			store.FailureTooLarge, true, "ConditionExpression",
		},
		"request beyond 16 MB": {
			failure(413, "RequestEntityTooLargeException", "m"), store.FailureTooLarge, true, "RequestEntityTooLarge",
		},
		"a value that reads so": {invalid(secret + " Item size has exceeded"), store.FailureRejected, true, "withheld"},
		"collection limit": {
			rejection("ItemCollectionSizeLimitExceededException", "m"), store.FailureTooLarge, true, "m",
		},
		"another key": {
			invalid("The provided key element does not match the schema"),
			store.FailureRejected, true, "does not match the schema",
		},
		"a missing key": {
			invalid("One or more parameter values were invalid: Missing the key sk in the item"),
			store.FailureRejected, true, "the key sk",
		},
		"another rejection": {invalid("Bad value: " + secret), store.FailureRejected, true, "ValidationException"},
		"bad syntax": {
			rejection("SerializationException", secret), store.FailureRejected, true, "SerializationException",
		},
		"unknown client error": {
			rejection("NovelException", secret), store.FailureRejected, false,
			`Item: status 400, request id "request-1": api error NovelException: (message withheld)`,
		},
		"internal error":           {broken, store.FailureUnavailable, false, "InternalServerError"},
		"known code, server error": {failure(500, "ThrottlingException", "m"), store.FailureThrottled, false, "m"},
		"service unavailable": {
			failure(overloaded, "ServiceUnavailable", secret), store.FailureUnavailable, false, "ServiceUnavailable",
		},
		"a proxy's page":       {page(gateway), store.FailureUnavailable, false, "status 502"},
		"a firewall's page":    {page(http.StatusForbidden), store.FailureAccessDenied, false, "status 403"},
		"a proxy's time limit": {page(http.StatusRequestTimeout), store.FailureTimeout, false, "status 408"},
		"a proxy's size limit": {page(http.StatusRequestEntityTooLarge), store.FailureTooLarge, false, "status 413"},
		"an unreadable answer": {
			ok(`{"Item":` + secret + `,"Attributes":7`), store.FailureUnavailable, false, "unreadable answer",
		},
		"an unreadable refusal": {
			reply{status: http.StatusBadRequest, body: `{"__type":"com.amazon`},
			store.FailureUnavailable, false, "unreadable answer",
		},
		"a lost reply": {lost, store.FailureUnavailable, false, "unexpected EOF"},
		"a refused connection": {
			broke("dial", os.NewSyscallError("connect", errors.New("connection refused"))),
			store.FailureUnavailable, true, "connection refused",
		},
		"an unknown host": {
			broke("dial", &net.DNSError{Err: "no such host", Name: "h"}),
			store.FailureUnavailable, true, "no such host",
		},
		"a connection that is not made in time": {
			broke("dial", os.ErrDeadlineExceeded), store.FailureTimeout, true, "timeout",
		},
		"a broken connection": {
			broke("read", errors.New("connection reset")), store.FailureUnavailable, false, "reset",
		},
		"an answer that does not come": {
			broke("read", os.ErrDeadlineExceeded), store.FailureTimeout, false, "timeout",
		},
		"a deadline of the HTTP client": {
			reply{err: context.DeadlineExceeded}, store.FailureTimeout, false, "deadline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for op, err := range everyWrite(c.reply) {
				requireStoreError(t, err, op, c.kind, c.notApplied)
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

// TestUnknownRejectionsDoNotAccuseTheTable: only a text about the key of the table does, and says
// what to run. Whoever reads the error would look in the wrong place.
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
		for op, err := range everyWrite(rejection("ValidationException", message)) {
			if accused {
				requireStoreError(t, err, op, store.FailureRejected, true)
				require.ErrorContains(t, err,
					`table "idempotency" has another key than this store expects, run Store.Check: `)
				require.ErrorContains(t, err, message)
			} else {
				require.NotContains(t, err.Error(), "run Store.Check", op)
				require.NotContains(t, err.Error(), "table ", op)
				require.NotContains(t, err.Error(), "another key", op)
			}
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
	requireHeld(t, s, held)
}

func TestErrorsKeepWhatCallersLookFor(t *testing.T) {
	t.Parallel()
	s, _ := scripted(throttled)
	_, _, err := s.Claim(t.Context(), record("k"), claimTime)
	var exception *types.ThrottlingException
	require.ErrorAs(t, err, &exception)

	s, _ = scripted(rejection("ValidationException", secret))
	_, _, err = s.Claim(t.Context(), record("k"), claimTime)
	var api smithy.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, "ValidationException", api.ErrorCode())
}

func TestReadFailures(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := scripted(throttled)
		errs := everyCall(t.Context(), s)
		for _, op := range []string{"get", "read result"} {
			requireStoreError(t, errs[op], op, store.FailureThrottled, true)
		}
	})
}

func TestCredentialsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("no credentials here")
	})
	client := scriptedClient(&transport{}, func(o *dynamodb.Options) { o.Credentials = none })
	_, _, err := dynamo.New(client, table).Claim(t.Context(), record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureAccessDenied, true)
	require.ErrorContains(t, err, "no credentials here")
}

func requireStoreError(t *testing.T, err error, op string, kind store.Failure, notApplied bool) {
	t.Helper()
	var se *store.Error
	require.ErrorAs(t, err, &se)
	require.Equal(t, op, se.Op)
	require.Equal(t, kind, se.Kind, err)
	require.Equal(t, notApplied, se.NotApplied, err)
}

// TestReasonsOfThrottlingAreToldApart: DynamoDB names the limit, and of which table or index.
func TestReasonsOfThrottlingAreToldApart(t *testing.T) {
	t.Parallel()
	const place = "arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency"
	for name, c := range map[string]struct {
		code, reasons string
		what          store.Throttle
		text          string
	}{
		"a hot key": {
			"ThrottlingException", `{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"` + place + `"}`,
			store.ThrottledKey, "TableWriteKeyRangeThroughputExceeded of " + place,
		},
		"the capacity of the table": {
			"ProvisionedThroughputExceededException",
			`{"reason":"TableReadProvisionedThroughputExceeded","resource":"` + place + `"}`,
			store.ThrottledTable, "TableReadProvisionedThroughputExceeded",
		},
		"the bound of a table on demand": {
			"ThrottlingException", `{"reason":"TableWriteMaxOnDemandThroughputExceeded","resource":"` + place + `"}`,
			store.ThrottledTable, "TableWriteMaxOnDemandThroughputExceeded",
		},
		"the quota of the account": {
			"RequestLimitExceeded", `{"reason":"TableWriteAccountLimitExceeded","resource":"` + place + `"}`,
			store.ThrottledAccount, "TableWriteAccountLimitExceeded",
		},
		"a hot key of an index among others": {
			"ThrottlingException", `{"reason":"TableWriteProvisionedThroughputExceeded"},` +
				`{"reason":"IndexWriteKeyRangeThroughputExceeded","resource":"` + place + `/index/attention-index"},` +
				`{"reason":"TableWriteAccountLimitExceeded"}`,
			store.ThrottledKey, "IndexWriteKeyRangeThroughputExceeded of " + place + "/index/attention-index",
		},
		"another reason": {"ThrottlingException", `{"reason":"MoonInTheSeventhHouse"}`, "", "throttled: "},
		"none":           {"ThrottlingException", "", "", "throttled: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := "ThrottlingReasons"
			if c.code == "ThrottlingException" {
				member = "throttlingReasons" // as DynamoDB writes it there
			}
			throttles := reply{
				status: http.StatusBadRequest,
				body: `{"__type":"com.amazonaws.dynamodb.v20120810#` + c.code +
					`","message":"Throughput exceeded","` + member + `":[` + c.reasons + `]}`,
			}
			for op, err := range everyWrite(throttles) {
				require.Equal(t, c.what, throttleOf(err), op)
				requireStoreError(t, err, op, store.FailureThrottled, true)
				require.ErrorContains(t, err, c.text)
			}
			s, _ := scripted(throttles)
			_, _, err := commitOf(t, s)
			require.Equal(t, c.what, throttleOf(err))
		})
	}
	require.Empty(t, throttleOf(context.DeadlineExceeded))
	require.Empty(t, throttleOf(nil))
}

// throttleOf returns what lacked capacity, empty if err does not say.
func throttleOf(err error) store.Throttle {
	failed, is := errors.AsType[*store.Error](err)
	if !is {
		return ""
	}
	return failed.Throttle
}
