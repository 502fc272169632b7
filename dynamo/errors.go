package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/store"
)

// refusal returns the item that refused a condition, nil if the server did not send it.
func refusal(err error) (old item, refused bool) {
	if ccf, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return ccf.Item, true
	}
	return nil, false
}

func (s *Store) storeError(op string, err error, notApplied bool) error {
	kind, cause := understood(err)
	_, message := answer(cause)
	switch { // where the answer does not say which table it is about
	case kind == store.FailureMissingTable:
		cause = fmt.Errorf("table %q: %w", s.table, cause)
	case aboutTheKey(message):
		cause = fmt.Errorf("table %q has another key than this store expects, run Store.Check: %w", s.table, cause)
	}
	return failed(op, kind, notApplied, err, cause)
}

// failed says what lacked capacity if a call was throttled. cause is err as it may be told.
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

// throttlingReasons say what lacks capacity, and of which resource. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html.
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
	ends := func(limit string) bool { return strings.HasSuffix(reason, limit) }
	switch {
	case ends("KeyRangeThroughputExceeded"):
		return store.ThrottledKey
	case ends("AccountLimitExceeded"):
		return store.ThrottledAccount
	case ends("ProvisionedThroughputExceeded"), ends("MaxOnDemandThroughputExceeded"):
		return store.ThrottledTable
	}
	return ""
}

func rejected(op string, err error) error { return unwritten(op, store.FailureRejected, err) }

func unwritten(op string, kind store.Failure, err error) error {
	return &store.Error{Op: op, Kind: kind, NotApplied: nothingWritten, Err: err}
}

// understood returns what kind of failure an error is, and the error without anything that was
// written or read. A call that ended while the client waited for its next attempt failed as the
// attempt before did.
func understood(err error) (store.Failure, error) {
	ended, ok := err.(*endedError) //nolint:errorlint // it is never wrapped before
	if !ok {
		return speakable(err)
	}
	kind, before := speakable(ended.before)
	if !ended.waiting {
		kind = kindOf(ended.ended)
	}
	return kind, &endedError{ended: ended.ended, before: before}
}

// kindOf tells failures apart by what DynamoDB answered; without an answer by how the call ended.
func kindOf(err error) store.Failure {
	code, message := answer(err)
	if kind, known := kindOfAnswer(code, message); known {
		return kind
	}
	status := statusOf(err)
	var timeout net.Error
	var unsendable smithy.InvalidParamsError
	switch {
	case errors.As(err, &unsendable):
		return store.FailureRejected
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.As(err, &timeout) && timeout.Timeout(), status == http.StatusRequestTimeout:
		return store.FailureTimeout
	case status == http.StatusBadRequest && code == "":
		// DynamoDB says what it refuses: this was cut short, or comes from something in between.
		return store.FailureUnavailable
	case status == http.StatusTooManyRequests:
		return store.FailureThrottled
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		// The SDK marks a failure of the credentials by nothing but these words.
		status == 0 && strings.Contains(err.Error(), "get identity: "):
		return store.FailureAccessDenied
	case status == http.StatusRequestEntityTooLarge:
		return store.FailureTooLarge
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return store.FailureRejected
	default:
		return store.FailureUnavailable
	}
}

func kindOfAnswer(code, message string) (kind store.Failure, known bool) {
	kind, known = kindOfCode(code)
	if known && tooLarge(message) {
		return store.FailureTooLarge, true
	}
	return kind, known
}

// kindOfCode knows the client errors of DynamoDB and those that all AWS services share. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html and
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html.
func kindOfCode(code string) (kind store.Failure, known bool) {
	switch code {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "ThrottlingError", "Throttling",
		"ThrottledException",
		"RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "TooManyRequestsException",
		"LimitExceededException":
		return store.FailureThrottled, true
	case "TransactionConflictException", codeInProgress, "ReplicatedWriteConflictException":
		return store.FailureConflict, true
	case "AccessDeniedException", "AccessDenied", "NotAuthorized", "OptInRequired", "UnrecognizedClientException",
		"InvalidClientTokenId", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
		"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed",
		"InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature", "IncompleteSignatureException":
		return store.FailureAccessDenied, true
	case "ResourceNotFoundException", "TableNotFoundException":
		return store.FailureMissingTable, true
	case "ItemCollectionSizeLimitExceededException", "RequestEntityTooLargeException":
		return store.FailureTooLarge, true
	case "ValidationException", "ValidationError", "SerializationException":
		return store.FailureRejected, true
	default:
		return "", false
	}
}

// tooLarge finds the rejections of an item beyond 400 KB, which have no code of their own. An
// update says the second one up to 1 MB, then the third, from 2 MB the fifth, and from 4 MB the
// last one. The expressions of this package are short: their size is that of the values. None
// quotes a value.
func tooLarge(message string) bool {
	return begins(message,
		"Item size has exceeded the maximum allowed size",
		"Item size to update has exceeded the maximum allowed size",
		"Invalid UpdateExpression: Expression size has exceeded the maximum allowed size",
		"Invalid ConditionExpression: Expression size has exceeded the maximum allowed size",
		"ExpressionAttributeValues exceeds max size",
		"ExpressionAttributeValues contains invalid value: Item size has exceeded the maximum allowed size",
		"Transaction payload size cannot exceed ",
	)
}

// aboutTheKey knows the rejections that tell an operator that the table has another key. Their
// messages name attributes and types, but no values.
func aboutTheKey(message string) bool {
	return begins(message,
		"The provided key element does not match the schema",
		"One or more parameter values were invalid: Missing the key ",
		"One of the required keys was not given a value",
		"One or more parameter values were invalid: Type mismatch for key ",
	)
}

func begins(message string, texts ...string) bool {
	message = strings.TrimPrefix(message, "1 validation error detected: ")
	return slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(message, text) })
}

// answer returns the code and the message of DynamoDB's answer, if there was one.
func answer(err error) (code, message string) {
	if ae, ok := errors.AsType[smithy.APIError](err); ok {
		return ae.ErrorCode(), ae.ErrorMessage()
	}
	return "", ""
}

// statusOf returns the HTTP status of the answer, 0 if there was none.
func statusOf(err error) int {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return re.HTTPStatusCode()
	}
	return 0
}

// speakable returns what kind of failure err is, and err itself if its text is known to hold
// nothing of what was written or read. A rejection may quote values, and so may an unknown error
// and an answer that cannot be decoded: of these it keeps the call, status, code and request id.
func speakable(err error) (store.Failure, error) {
	kind := kindOf(err)
	code, message := answer(err)
	_, known := kindOfCode(code)
	switch {
	case known && kind != store.FailureRejected, harmless(message), code == "" && statusOf(err) == 0:
		return kind, err
	case code == "":
		code = "unreadable answer"
	}
	withheld := error(&smithy.GenericAPIError{Code: code, Message: "(message withheld)"})
	if re, is := errors.AsType[*awshttp.ResponseError](err); is {
		withheld = fmt.Errorf("status %d, request id %q: %w", re.HTTPStatusCode(), re.RequestID, withheld)
		if oe, is := errors.AsType[*smithy.OperationError](err); is { // else it is one attempt of it
			withheld = fmt.Errorf("%s: %w", oe.OperationName, withheld)
		}
	}
	return kind, withheld
}

// multipleOperations is how DynamoDB says that two writes of a transaction are about one item.
const multipleOperations = "Transaction request cannot include multiple operations on one item"

// harmless reports whether a rejection quotes nothing but names and types of attributes, and an
// expression, which refers to values by names of their own. Others quote values: the bounds of a
// BETWEEN, a number that is none, the members of a set that are equal.
func harmless(message string) bool {
	return aboutTheKey(message) || aboutAnExpression(message) || begins(message,
		multipleOperations,
		"The provided expression refers to an attribute that does not exist in the item",
		"An operand in the update expression has an incorrect data type",
		"The document path provided in the update expression is invalid for update",
		"One or more parameter values were invalid: Cannot update attribute ",
		"One or more parameter values were invalid: Type mismatch for Index Key ",
		"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty ",
		"One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
			"The AttributeValue ",
		"Value provided in ExpressionAttributeNames unused in expressions: ",
		"Value provided in ExpressionAttributeValues unused in expressions: ",
		"ExpressionAttributeNames must not be empty",
		"ExpressionAttributeValues must not be empty",
		"ExpressionAttributeNames contains invalid key: ",
		"ExpressionAttributeValues contains invalid key: ",
	)
}

func aboutAnExpression(message string) bool {
	kind, problem, _ := strings.Cut(message, "Expression: ")
	return begins(kind, "Invalid Condition", "Invalid Update") && begins(problem,
		"Syntax error; token: ",
		"Attribute name is a reserved keyword; ",
		"An expression attribute name used in the document path is not defined; ",
		"An expression attribute value used in expression is not defined; ",
		"Incorrect operand type for operator or function; ",
		"Incorrect number of operands for operator or function; ",
		"Operator or function requires a document path; ",
		"Invalid function name; ",
		"The function is not allowed ",
		"The document path ",
		"Two document paths ",
		"The expression has redundant parentheses",
		"The expression can not be empty",
		"The expression contains too many operators",
		`The "SET" section `, `The "REMOVE" section `, `The "ADD" section `, `The "DELETE" section `,
	)
}
