package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page promises what is measured here.
func TestThePageHasTheGoals(t *testing.T) {
	page, err := os.ReadFile("../docs/cost.md")
	require.NoError(t, err)
	for row, goal := range map[string]string{
		"a first execution, 1 KB": fmt.Sprintf("%g times", firstGoal),
		"a replay, 1 KB":          fmt.Sprintf("%g times", replayGoal),
		"a replay, 100 KB":        fmt.Sprintf("%g times", replayGoal),
		"a step, without the SDK": fmt.Sprintf("%d µs", stepGoal.Microseconds()),
	} {
		assert.Regexp(t, `(?m)^\| `+row+` \|[^|]+\| `+goal+` \|$`, string(page))
	}
}
