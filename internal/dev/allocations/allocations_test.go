//go:build !race

// Package allocations counts what each operation of the library allocates, and compares it with
// testdata/allocations.txt. The counts are exact: they do not depend on how fast or busy a machine
// is.
package allocations

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what this release of Go allocates into testdata/allocations.txt")

const (
	file    = "testdata/allocations.txt"
	heading = "# What an operation allocates: how often, and how many bytes. The test in this folder compares it, and\n" +
		"# fails if one has become dearer. Whoever means that, says why in the commit that writes these lines:\n" +
		"#\n" +
		"#\tgo test ./internal/dev/allocations -update\n" +
		"#\tGOTOOLCHAIN=go1.27.1 go test ./internal/dev/allocations -update\n#\n"
)

// row is what one operation allocates with each release of Go.
type row map[string]allocated

type allocated struct{ count, bytes uint64 }

// TestNothingAllocatesMoreThanBefore counts the allocations of the whole process, so no test of
// this package runs in parallel with it. The race detector adds its own.
func TestNothingAllocatesMoreThanBefore(t *testing.T) {
	release := strings.Join(strings.SplitN(runtime.Version(), ".", 3)[:2], ".")
	known := read(t)
	var names []string
	for _, o := range operations(t) {
		got := measure(t, o.do)
		names = append(names, o.name)
		if *update {
			if known[o.name] == nil {
				known[o.name] = row{}
			}
			known[o.name][release] = got
			continue
		}
		want, found := known[o.name][release]
		switch {
		case !found:
			t.Errorf("%s has no line of %s: see the head of %s", o.name, release, file)
		case got.count > want.count || got.bytes > want.bytes+want.bytes/slack:
			t.Errorf("%s allocates %d times, %d bytes, and not %d, %d: see the head of %s",
				o.name, got.count, got.bytes, want.count, want.bytes, file)
		case got != want:
			t.Logf("%s allocates %d times, %d bytes, and not %d, %d any more", o.name, got.count, got.bytes,
				want.count, want.bytes)
		}
	}
	if *update {
		write(t, known, names)
		return
	}
	for name := range known {
		require.Contains(t, names, name, "nobody measures it any more: see the head of %s", file)
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

// releases are the two that are supported.
var releases = []string{"go1.26", "go1.27"}

// read returns the rows of the file by the names of their operations.
func read(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	known := map[string]row{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, figures, found := strings.Cut(lines.Text(), ":")
		if !found || strings.HasPrefix(name, "#") {
			continue
		}
		known[name] = row{}
		for _, release := range releases {
			var a allocated
			if _, err := fmt.Fscan(strings.NewReader(figures), &a.count, &a.bytes); err == nil {
				known[name][release] = a
			}
			figures = strings.Join(strings.Fields(figures)[min(2, len(strings.Fields(figures))):], " ")
		}
	}
	return known
}

func write(t *testing.T, known map[string]row, names []string) {
	t.Helper()
	var text bytes.Buffer
	text.WriteString(heading)
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "# operation\t"+strings.Join(releases, "\tbytes\t")+"\tbytes")
	for _, name := range slices.Compact(names) {
		fmt.Fprint(columns, name+":")
		for _, release := range releases {
			if a, found := known[name][release]; found {
				fmt.Fprintf(columns, "\t%d\t%d", a.count, a.bytes)
			} else {
				fmt.Fprint(columns, "\t-\t-")
			}
		}
		fmt.Fprintln(columns)
	}
	require.NoError(t, columns.Flush())
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
}
