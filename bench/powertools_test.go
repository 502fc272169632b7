package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// startedPeers are processes for a test, which is loudly left out where the packages are not installed.
func startedPeers(t *testing.T) peers {
	t.Helper()
	all, err := startPeers("idempotency", "")
	needed := dynamolocal.Strict() && withPowertools()
	if errors.Is(err, errNotHere) && !needed {
		fmt.Fprintf(os.Stderr, "!!! SKIPPED %s: %v\n", t.Name(), err)
		t.Skipf("!!! SKIPPED: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, all.close()) })
	return all
}

func TestPeersDeliver(t *testing.T) {
	t.Parallel()
	all := startedPeers(t)
	require.Len(t, all, 2)
	for _, replay := range []bool{false, true} {
		cases, err := languageCases(fakeBackend(), all, orders("1 KB", 1<<10), replay)
		require.NoError(t, err)
		require.Len(t, cases, 8)
		for _, c := range cases {
			for _, n := range []int{1, 3} { // of which the last is played
				took, err := c.take(n)
				require.NoError(t, err, c.name)
				require.Positive(t, took, c.name)
			}
		}
		table, err := compareLanguages(cases, onlyOnce)
		require.NoError(t, err)
		require.Len(t, table.rows, 8)
	}
}

// script is a peer that has written its answers already.
func script(answers string) *peer {
	return &peer{in: discard{}, out: bufio.NewReader(strings.NewReader(answers))}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestAPeerIsCheckedForWhatItSays(t *testing.T) {
	t.Parallel()
	s := &shop{response: created("application/json")}
	answer := string(asJSON(s.response))
	took, err := script(`{"nanoseconds":1500,"executed":2,"answer":`+answer+"}\n").measure(ask{}, 2, s.check)
	require.NoError(t, err)
	require.Equal(t, 1500*time.Nanosecond, took)

	for says, want := range map[string]string{
		`{"nanoseconds":1,"executed":1,"answer":` + answer + "}\n":          "2 deliveries executed 1 times, not 2",
		`{"nanoseconds":1,"executed":2,"answer":{"statusCode":500}}` + "\n": "not what the handler returned",
		"Traceback\n": "it says Traceback",
		"":            "it has ended",
	} {
		_, err := script(says).measure(ask{}, 2, s.check)
		require.ErrorContains(t, err, want)
	}
	_, err = script(`{"nanoseconds":1,"executed":1,"answer":`+answer+"}\n").measure(ask{Replay: true}, 2, s.check)
	require.ErrorContains(t, err, "2 deliveries executed 1 times, not 0")
}

func TestPackagesThatAreNotThePinnedOnesAreRefused(t *testing.T) {
	t.Parallel()
	_, err := installed("nothing-of-that-name", "requirements.txt")
	require.ErrorIs(t, err, errNotHere)
	require.ErrorContains(t, err, "run make interop")
}
