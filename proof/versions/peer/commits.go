//go:build !before && !steps

package main

import (
	"context"
	"crypto/rand"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/proof/versions"
)

// commit commits the answer, if told, with a row that no other execution writes.
func commit(ctx context.Context, a versions.Ask, answer map[string]string) (map[string]string, error) {
	if a.Commits == "" {
		return answer, nil
	}
	return dynamo.Commit(ctx, answer, dynamo.Put(a.Commits, map[string]any{"id": rand.Text()}, dynamo.IfAbsent("id")))
}
