package dynamolocal

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Unhurried is an option of a client that waits for an answer however long it takes. A write that
// is repeated, because a busy machine was slow, can be refused by its own first attempt. That is no
// failure of the store, but a test that counts on the answer would fail by chance. A context that
// was over before, or is cancelled, ends a call as usual.
func Unhurried(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Unhurried", waitForTheAnswer),
			middleware.Before)
	})
}

func waitForTheAnswer(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})()
	return next.HandleDeserialize(patient, in)
}
