//go:build before

package main

import (
	"context"

	"github.com/go-idempotent/idempotent/proof/versions"
)

// take lets an effect happen. There are no steps.
func take(ctx context.Context, _ bool, _ versions.Effect, do func(context.Context) (string, error)) (string, error) {
	return do(ctx)
}
