package idempotent_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/memory"
)

// anError is one of each kind, with its name on the wire and its text.
var anError = []struct {
	name, text string
	err        idempotent.Error
}{
	{
		"MissingKeyError", "shop: no idempotency key in header X",
		idempotent.Error{Kind: idempotent.ErrMissingKey, Field: "header X"},
	},
	{
		"InvalidKeyError", "shop: idempotency key is invalid: header X is empty",
		idempotent.Error{Kind: idempotent.ErrInvalidKey, Field: "header X", Reason: "is empty", Err: errCard},
	},
	{
		"StaleRequestError", "shop: the timestamp of the request is not accepted: header X is missing",
		idempotent.Error{Kind: idempotent.ErrStaleRequest, Field: "header X", Reason: "is missing"},
	},
	{
		"MissingTenantError", "shop: the caller is not identified: there is no authorizer",
		idempotent.Error{Kind: idempotent.ErrMissingTenant, Reason: "there is no authorizer"},
	},
	{
		"MismatchError", "shop: idempotency key was used for another request",
		idempotent.Error{Kind: idempotent.ErrMismatch},
	},
	{
		"InProgressError", "shop: a request with this idempotency key is in progress",
		idempotent.Error{Kind: idempotent.ErrInProgress, RetryAfter: time.Second},
	},
	{
		"SupersededError", "shop: the execution lost its lease, and another one of the request is in progress",
		idempotent.Error{Kind: idempotent.ErrSuperseded, RetryAfter: time.Second},
	},
	{
		"WrappedTwiceError", "shop: the handler is wrapped twice: its own caller holds the idempotency key",
		idempotent.Error{Kind: idempotent.ErrWrappedTwice},
	},
	{
		"UnknownOutcomeError", "shop: the outcome of the request with this idempotency key is unknown (crashed)",
		idempotent.Error{Kind: idempotent.ErrUnknownOutcome, Reason: "crashed"},
	},
	{
		"UnreadableError", "shop: the idempotency record cannot be read: its result is no JSON",
		idempotent.Error{Kind: idempotent.ErrUnreadable, Reason: "its result is no JSON", Err: errCard},
	},
	{
		"StoreUnavailableError", "shop: the idempotency store is unavailable: EOF",
		idempotent.Error{Kind: idempotent.ErrStoreUnavailable, Err: io.EOF},
	},
	{
		"RefusedError", "shop: the request could not be prepared: WithTenant: EOF",
		idempotent.Error{Kind: idempotent.ErrRefused, Field: "WithTenant", Err: io.EOF},
	},
	{
		"CommittedError", "shop: the handler had committed its answer, and returned another one",
		idempotent.Error{Kind: idempotent.ErrOtherAnswer, Reason: "returned another one"},
	},
	{
		"DecodeError", "shop: the payload is no event of the handler: id: it is bad (byte 7)",
		idempotent.Error{Kind: idempotent.ErrDecode, Field: "id", Reason: "it is bad", Offset: 7, Err: errCard},
	},
	{
		"EncodeError", "shop: the result has no JSON form: the encoder of T failed",
		idempotent.Error{
			Kind: idempotent.ErrEncode, Field: "the result",
			Reason: "the encoder of T failed", Err: errCard,
		},
	},
	{
		"StepError", `shop: step "a": the step was not begun: why: EOF`,
		idempotent.Error{Kind: idempotent.ErrStepRefused, Step: "a", Reason: "why", Err: io.EOF},
	},
	{
		"StepError", `shop: step "a": the outcome of the request with this idempotency key is unknown: EOF`,
		idempotent.Error{Kind: idempotent.ErrUnknownOutcome, Step: "a", Err: io.EOF},
	},
	{
		"StepError", `shop: step "a": the lease of the idempotency key was lost`,
		idempotent.Error{Kind: idempotent.ErrLeaseLost, Step: "a", Err: idempotent.ErrLeaseLost},
	},
	{
		"CommitError", "shop: the commit was not begun: why",
		idempotent.Error{Kind: idempotent.ErrCommitRefused, Reason: "why"},
	},
	{"CommitError", "shop: the commit failed: EOF", idempotent.Error{Kind: idempotent.ErrCommitFailed, Err: io.EOF}},
	{"Error", "shop: card declined", idempotent.Error{Kind: errCard}},
}

// lambdaNames is the errorType and the text that aws-lambda-go reports.
func lambdaNames(h lambda.Handler) (name, text string) {
	var r messages.InvokeResponse
	in := &messages.InvokeRequest{Payload: []byte(`{"id":"o-1"}`)}
	in.Deadline.Seconds = time.Now().Add(time.Minute).Unix()
	_ = lambda.NewFunction(h).Invoke(in, &r) //nolint:staticcheck // it is what the Runtime API's loop does, too
	if r.Error == nil {
		return "", ""
	}
	return r.Error.Type, r.Error.Message
}

func TestLambdaReportsEachErrorUnderItsName(t *testing.T) {
	t.Parallel()
	for _, c := range anError {
		own := c.err
		own.Operation = "shop"
		for _, mark := range []func(error) error{idempotent.NotExecuted, idempotent.Terminal} {
			s := newShop()
			s.do = func(context.Context, order) (receipt, error) { return receipt{}, mark(&own) }
			deliveries := 2 // a final failure is replayed under the same name
			if execution.MarkOf(&own) == execution.Uncertain || errors.Is(&own, idempotent.ErrLeaseLost) {
				deliveries = 1
			}
			for range deliveries {
				name, text := lambdaNames(s.handler)
				assert.Equal(t, c.name, name)
				assert.Equal(t, "idempotent: "+c.text, text)
			}
		}
		assert.Equal(t, "idempotent."+c.name, own.ErrorType())
		require.ErrorIs(t, &own, c.err.Kind)
	}
}

// TestInvokeWrapsAnErrorUnderItsName: errors.Is and errors.As find in it what Handle returns.
func TestInvokeWrapsAnErrorUnderItsName(t *testing.T) {
	t.Parallel()
	s := newShop(idempotent.WithKey(func(order) (string, error) { return "", nil }))
	_, err := s.handler.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
	require.ErrorIs(t, err, idempotent.ErrMissingKey)
	own, is := errors.AsType[*idempotent.Error](err)
	require.True(t, is)
	require.ErrorIs(t, err, own)
	require.EqualError(t, own, err.Error())
	_, err = s.handler.Handle(t.Context(), order{ID: "o-1"})
	assert.Equal(t, own, err)
	assert.Equal(t, own, s.last.Err)
}

// TestAnErrorOfACommitIsTheDocumentedOneEverywhere: also in a test of a handler, where only the
// protocol runs.
func TestAnErrorOfACommitIsTheDocumentedOneEverywhere(t *testing.T) {
	t.Parallel()
	refused := &execution.Fault{Kind: execution.ErrCommitRefused, Operation: "shop", Reason: "why"}
	for _, err := range []error{refused, errors.Join(io.EOF, refused)} {
		own, is := errors.AsType[*idempotent.Error](err)
		require.True(t, is)
		assert.Equal(t, &idempotent.Error{Kind: idempotent.ErrCommitRefused, Operation: "shop", Reason: "why"}, own)
		require.NotErrorAs(t, err, new(*idempotent.ReplayedError))
	}
	h := idempotent.Wrap(func(context.Context, order) (receipt, error) { return receipt{}, refused }, memory.New(),
		idempotent.WithOperation("shop"), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	name, _ := lambdaNames(h)
	assert.Equal(t, "CommitError", name)
}
