//go:build !race

// Package allocations counts what each operation of the library allocates, and compares it with
// testdata/allocations.json, which says how often an operation allocates, and how many bytes. The
// counts are exact: they do not depend on how fast or busy a machine is. Whoever means that an
// operation becomes dearer, says why in the commit that writes that file:
//
//	go test ./internal/dev/allocations -update
//	GOTOOLCHAIN=go1.27.1 go test ./internal/dev/allocations -update
package allocations

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what this release of Go allocates into testdata/allocations.json")

const file = "testdata/allocations.json"

type allocated struct{ count, bytes uint64 }

// form is how the file says what is allocated.
const form = "%d times, %d bytes"

// TestNothingAllocatesMoreThanBefore counts the allocations of the whole process, so no test of
// this package runs in parallel with it. The race detector adds its own.
func TestNothingAllocatesMoreThanBefore(t *testing.T) {
	release := strings.Join(strings.SplitN(runtime.Version(), ".", 3)[:2], ".")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var known map[string]map[string]string // by operation and release of Go
	require.NoError(t, json.Unmarshal(text, &known))
	measured := map[string]map[string]string{}
	for _, o := range operations(t) {
		got := measure(t, o.do)
		said := fmt.Sprintf(form, got.count, got.bytes)
		measured[o.name] = map[string]string{}
		maps.Copy(measured[o.name], known[o.name])
		measured[o.name][release] = said
		var want allocated
		_, err := fmt.Sscanf(known[o.name][release], form, &want.count, &want.bytes)
		switch {
		case *update:
		case err != nil:
			t.Errorf("%s has no figures of %s: see the head of this package", o.name, release)
		case got.count > want.count || got.bytes > want.bytes+want.bytes/slack:
			t.Errorf("%s allocates %s, and not %s: see the head of this package", o.name, said, known[o.name][release])
		case got != want:
			t.Logf("%s allocates %s, and not %s any more", o.name, said, known[o.name][release])
		}
	}
	if *update {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetIndent("", " ")
		require.NoError(t, encoder.Encode(measured))
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
		return
	}
	for name := range known {
		require.Contains(t, measured, name, "nobody measures it any more: see the head of this package")
	}
}

// measure returns the least that an operation allocates: what the runtime does beside it only adds,
// and pools are full after the first times, as long as no garbage is collected.
func measure(t *testing.T, do func() error) allocated {
	t.Helper()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var all []allocated
	for range 40 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := do()
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		all = append(all, allocated{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc})
	}
	least := all[0]
	for _, a := range all {
		least = allocated{min(least.count, a.count), min(least.bytes, a.bytes)}
	}
	return least
}

// slack is the part of its bytes by which an operation may differ: megabytes come from a pool whose
// pieces are of several sizes.
const slack = 1000
