package main

import (
	"strings"
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
		require.Equal(t, programs[i].name, row[0])
	}
	require.Contains(t, strings.Join(table.rows[1], " "), "own CPU ≤ 0.30 ms")
	require.Contains(t, strings.Join(table.rows[1], " "), "own binary ≤ 0.50 MB")
}

func TestAFunctionThatDoesNotAnswerIsNotMeasured(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wrapped := program{name: "wrapped"}
	_, err := wrapped.build(folder)
	require.NoError(t, err)
	withoutKey := []byte(`{"version":"2.0","routeKey":"POST /","requestContext":{"http":{"method":"POST","path":"/"}}}`)
	_, err = wrapped.start(folder, nil, withoutKey)
	require.ErrorContains(t, err, `the answer is {"statusCode":400`)
	_, err = wrapped.start(folder, []string{"IDEMPOTENCY_TABLE="}, withoutKey)
	require.Error(t, err, "it does not start without a table")
}

func TestStartsAreComparedOneByOne(t *testing.T) {
	t.Parallel()
	programs := []program{{name: "a"}, {name: "b", cpu: 2e6, size: 1000}}
	starts := [][]start{
		{{cpu: 1e6, wall: 2e6, peak: 5e6}, {cpu: 8e6, wall: 9e6, peak: 5e6}, {cpu: 2e6, wall: 3e6, peak: 5e6}},
		{{cpu: 2e6, wall: 3e6, peak: 6e6}, {cpu: 9e6, wall: 9e6, peak: 6e6}, {cpu: 5e6, wall: 5e6, peak: 6e6}},
	}
	table := startTable(programs, []float64{5e6, 6e6}, starts)
	require.Equal(t, []string{"a", "2.00 ms", "", "3.00 ms", "", "5.00 MB", "", "5.00 MB", "", ""}, table.rows[0])
	require.Equal(t, []string{
		"b", "5.00 ms", "1.00 ms", "5.00 ms", "1.00 ms", "6.00 MB", "1.00 MB", "6.00 MB", "1.00 MB",
		"own CPU ≤ 2.00 ms met, own binary ≤ 0.00 MB MISSED",
	}, table.rows[1])
}
