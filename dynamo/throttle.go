package dynamo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// failed is the error of a call, with what lacked capacity if it was throttled. cause is err as it
// may be told.
func failed(op string, kind store.Failure, notApplied bool, err, cause error) *store.Error {
	e := &store.Error{Op: op, Kind: kind, NotApplied: notApplied, Err: cause}
	if kind != store.FailureThrottled {
		return e
	}
	for _, r := range throttlingReasons(err) {
		reason := aws.ToString(r.Reason)
		what := throttled(reason)
		if what == "" || e.Throttle == store.ThrottledKey {
			continue // a hot key counts first: more capacity does not help it
		}
		e.Throttle = what
		e.Err = fmt.Errorf("%s of %s: %w", reason, aws.ToString(r.Resource), cause)
	}
	return e
}

// throttlingReasons are those with which DynamoDB says what lacks capacity, and of which resource.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html.
func throttlingReasons(err error) []types.ThrottlingReason {
	if e, is := errors.AsType[*types.ThrottlingException](err); is {
		return e.ThrottlingReasons
	}
	if e, is := errors.AsType[*types.ProvisionedThroughputExceededException](err); is {
		return e.ThrottlingReasons
	}
	if e, is := errors.AsType[*types.RequestLimitExceeded](err); is {
		return e.ThrottlingReasons
	}
	return nil
}

// throttled tells what a reason is about. A reason is a resource, an operation and a limit in one
// word, such as TableWriteKeyRangeThroughputExceeded.
func throttled(reason string) store.Throttle {
	for limit, what := range map[string]store.Throttle{
		"KeyRangeThroughputExceeded":    store.ThrottledKey,
		"AccountLimitExceeded":          store.ThrottledAccount,
		"ProvisionedThroughputExceeded": store.ThrottledTable,
		"MaxOnDemandThroughputExceeded": store.ThrottledTable,
	} {
		if strings.HasSuffix(reason, limit) {
			return what
		}
	}
	return ""
}
