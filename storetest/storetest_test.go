package storetest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStoreThatKeepsOnlySmallResultsPasses(t *testing.T) {
	const limit = 1000
	storetest.Run(t, storetest.Features{MaxResult: limit}, func(testing.TB) store.Store {
		return refusesResultsAbove(limit).into(newParted())
	})
}

// faultVariable names the fault of the store in TestPartedStorePasses, which has none otherwise.
const faultVariable = "STORETEST_FAULT"

func TestPartedStorePasses(t *testing.T) {
	fault := all()
	if name := os.Getenv(faultVariable); name != "" {
		fault = faultNamed(t, name)
	}
	storetest.Run(t, rows.Features(partedOf), func(testing.TB) store.Store { return fault.into(newParted()) })
}

// TestFaultsAreCaught runs the suite against stores with one fault each, in a process of its own
// because it has to fail there: in the very check that is there for that fault.
func TestFaultsAreCaught(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for check, f := range allFaults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			group, sentence, ok := strings.Cut(check, "/")
			require.True(t, ok, "the check is a group and a sentence")
			pattern := "^TestPartedStorePasses$/^" + group + "$/^" + regexp.QuoteMeta(sentence) + "$"
			suite := exec.CommandContext(t.Context(), self, "-test.run", pattern, "-test.v", "-test.timeout", "1m",
				"-rapid.nofailfile", "-rapid.shrinktime", "1s")
			suite.Env = append(os.Environ(), faultVariable+"="+f.name)
			output, err := suite.CombinedOutput()
			require.Error(t, err, "the suite passed:\n%s", output)
			failed := "--- FAIL: TestPartedStorePasses/" + strings.ReplaceAll(check, " ", "_") + " "
			require.Contains(t, string(output), failed)
			require.NotContains(t, string(output), "panic:")
		})
	}
}

type (
	record = store.Record
	// parted is a store that has all that a store can have.
	parted = rows.Table
)

func newParted() *parted { return rows.Parted(4096) }

func partedOf(s store.Store) *parted {
	switch s := s.(type) {
	case broken:
		return s.parted
	default:
		return s.(*parted)
	}
}
