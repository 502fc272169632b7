package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColdStartsAnswer(t *testing.T) {
	t.Parallel()
	table, err := measureColdStart(onlyOnce)
	require.NoError(t, err)
	require.Len(t, table.rows, len(programs))
	for i, row := range table.rows {
		require.Len(t, row, len(table.header))
		require.Equal(t, programs[i], row[0])
	}
}

func TestAFunctionThatDoesNotAnswerIsNotMeasured(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := build(folder, "wrapped")
	require.NoError(t, err)
	withoutKey := []byte(`{"version":"2.0","routeKey":"POST /","requestContext":{"http":{"method":"POST","path":"/"}}}`)
	_, err = startOnce(folder, "wrapped", nil, withoutKey)
	require.ErrorContains(t, err, `the answer is {"statusCode":400`)
	_, err = startOnce(folder, "wrapped", []string{"IDEMPOTENCY_TABLE="}, withoutKey)
	require.Error(t, err, "it does not start without a table")
}

func TestStartsAreComparedOneByOne(t *testing.T) {
	t.Parallel()
	starts := [][]start{
		{{cpu: 1e6, wall: 2e6}, {cpu: 8e6, wall: 9e6}, {cpu: 2e6, wall: 3e6}},
		{{cpu: 2e6, wall: 3e6}, {cpu: 9e6, wall: 9e6}, {cpu: 5e6, wall: 5e6}},
	}
	table := startTable([]float64{5e6, 6e6}, starts)
	require.Equal(t, []string{"client", "2.00 ms", "", "3.00 ms", "", "5.00 MB", "", ""}, table.rows[0])
	require.Equal(t, []string{
		"wrapped", "5.00 ms", "1.00 ms", "5.00 ms", "1.00 ms", "6.00 MB", "1.00 MB",
		"own CPU ≤ 300 µs MISSED, own binary ≤ 0.50 MB MISSED",
	}, table.rows[1])
}
