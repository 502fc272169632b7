package storetest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestMemoryStorePasses(t *testing.T) {
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return memory.New() })
}

func TestStoreThatKeepsOnlySmallResultsPasses(t *testing.T) {
	const limit = 1000
	storetest.Run(t, storetest.Features{MaxResult: limit}, func(testing.TB) store.Store {
		return refusesResultsAbove(limit)(newParted())
	})
}

// faultVariable names the fault of the store in TestPartedStorePasses, which has none otherwise.
const faultVariable = "STORETEST_FAULT"

func TestPartedStorePasses(t *testing.T) {
	inject := func(s *parted) store.Store { return s }
	if name := os.Getenv(faultVariable); name != "" {
		inject = faultNamed(t, name).inject
	}
	storetest.Run(t, partedFeatures(), func(testing.TB) store.Store { return inject(newParted()) })
}

// TestFaultsAreCaught runs the suite against stores with one fault each, in a process of its own
// because it has to fail there: in the very check that is there for that fault.
func TestFaultsAreCaught(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			group, sentence, ok := strings.Cut(f.caught, "/")
			require.True(t, ok, "the check is a group and a sentence")
			pattern := "^TestPartedStorePasses$/^" + group + "$/^" + regexp.QuoteMeta(sentence) + "$"
			suite := exec.CommandContext(t.Context(), self, "-test.run", pattern, "-test.v", "-test.timeout", "1m",
				"-rapid.nofailfile", "-rapid.shrinktime", "1s")
			suite.Env = append(os.Environ(), faultVariable+"="+f.name)
			output, err := suite.CombinedOutput()
			require.Error(t, err, "the suite passed:\n%s", output)
			failed := "--- FAIL: TestPartedStorePasses/" + strings.ReplaceAll(f.caught, " ", "_") + " "
			require.Contains(t, string(output), failed)
			require.NotContains(t, string(output), "panic:")
		})
	}
}
