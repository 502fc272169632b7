//go:build !race

package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"
)

// TestACommitTakesLittleTime: not more than some times what attributevalue takes for its row,
// without the SDK and the network. The fastest of some rounds counts, side by side, so that other
// work of the machine does not.
func TestACommitTakesLittleTime(t *testing.T) {
	fastest := func(f func()) time.Duration {
		started := time.Now()
		for range 100 {
			f()
		}
		return time.Since(started)
	}
	commit, row := oneRow(t), func() {
		_, err := attributevalue.MarshalMap(order{"o-1", "new", 5})
		require.NoError(t, err)
	}
	commits, rows := time.Hour, time.Hour
	for range 50 {
		commits, rows = min(commits, fastest(commit)), min(rows, fastest(row))
	}
	t.Logf("%v for a hundred commits, %v for their rows", commits, rows)
	require.LessOrEqual(t, commits, 20*rows)
}
