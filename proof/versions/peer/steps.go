//go:build !before

package main

import (
	"context"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/versions"
)

// take lets an effect happen, as a step if told.
func take(ctx context.Context, step bool, e versions.Effect, do func(context.Context) (string, error)) (string, error) {
	switch {
	case !step:
		return do(ctx)
	case e.AtMostOnce:
		return idempotent.Step(ctx, e.Name, do, idempotent.AtMostOnce[string](nil))
	default:
		return idempotent.Step(ctx, e.Name, do)
	}
}
