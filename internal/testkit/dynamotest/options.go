package dynamotest

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Between is an option of a client: f stands between the program and the SDK, and sees the input
// and the output of each call.
func Between(f func(ctx context.Context, in any, send func() (any, error)) (any, error)) func(*dynamodb.Options) {
	name := "Between " + rand.Text() // a client may have several
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc(name, func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
				out.Result, err = f(ctx, in.Parameters, func() (any, error) {
					var sent middleware.InitializeOutput
					sent, metadata, err = next.HandleInitialize(ctx, in)
					return sent.Result, err
				})
				return out, metadata, err
			}), middleware.Before)
		})
	}
}

// Before is an option of a client: f sees each input of its type, and an error ends the call.
func Before[In any](f func(ctx context.Context, in *In) error) func(*dynamodb.Options) {
	return Between(func(ctx context.Context, in any, send func() (any, error)) (any, error) {
		if in, is := in.(*In); is {
			if err := f(ctx, in); err != nil {
				return nil, err
			}
		}
		return send()
	})
}

// After is an option of a client: f sees, and may change, each output of its type.
func After[Out any](f func(out *Out)) func(*dynamodb.Options) {
	return Between(func(_ context.Context, _ any, send func() (any, error)) (any, error) {
		out, err := send()
		if out, is := out.(*Out); is && err == nil {
			f(out)
		}
		return out, err
	})
}

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
