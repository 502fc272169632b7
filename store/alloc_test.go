//go:build !race

package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

// TestAllocationsOfSealed: a replay checks the seal, so it costs as little with a commit as without. Allocations are those of the
// whole process, so this test does not run in parallel with another one. The race detector adds its own.
func TestAllocationsOfSealed(t *testing.T) {
	large := []byte(`"` + strings.Repeat("x", 5000) + `"`)
	for name, r := range map[string]store.Record{
		"completion":     {Owner: owner, Seal: store.Seal(owner, large)},
		"commit":         {Owner: owner, Seal: store.CommitSeal(owner, large, 1)},
		"another result": {Owner: owner, Seal: store.Seal(owner, result)},
	} {
		var sealed bool
		require.Zero(t, testing.AllocsPerRun(100, func() { sealed = r.Sealed(large) }), name)
		require.Equal(t, name != "another result", sealed, name)
	}
}
