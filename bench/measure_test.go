package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sinkDigest keeps the compiler from leaving out what is measured.
var sinkDigest [sha256.Size]byte

// The tests of this file are not parallel: they count what the process does.

var kept []*int

func allocate(times int) func(n int) error {
	return func(n int) error {
		for range n {
			kept = kept[:0:0]
			for range times {
				kept = append(kept[:0:0], new(int))
			}
		}
		return nil
	}
}

func TestAllocationsAreCountedExactly(t *testing.T) {
	for _, times := range []int{0, 1, 10} {
		s, err := measured{run: allocate(times)}.sample(1000)
		require.NoError(t, err)
		assert.InDelta(t, 2*times, s.allocs, 0.1) // an int and a slice of one pointer
		assert.InDelta(t, 16*times, s.bytes, 2)
	}
}

func TestWaitingTakesNoTimeAndWorkDoes(t *testing.T) {
	waiting, err := measured{run: func(int) error { time.Sleep(100 * time.Millisecond); return nil }}.sample(1)
	require.NoError(t, err)
	assert.Less(t, waiting.nanoseconds, float64(50*time.Millisecond))

	working, err := measured{run: func(int) error { work(20 * time.Millisecond); return nil }}.sample(1)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, working.nanoseconds, float64(20*time.Millisecond))
}

func TestTimeInTheKernelCountsAndTimeInTheProcess(t *testing.T) {
	text := bytes.Repeat([]byte("x"), 32<<20) // there are no pages left to fault
	process, err := measured{run: func(int) error { sinkDigest = sha256.Sum256(text); return nil }}.sample(1)
	require.NoError(t, err)
	assert.Greater(t, process.nanoseconds, float64(5*time.Millisecond))

	zeros, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer zeros.Close()
	kernel, err := measured{run: func(int) error {
		for range 16 {
			if _, err := zeros.Read(text); err != nil {
				return err
			}
		}
		return nil
	}}.sample(1)
	require.NoError(t, err)
	assert.Greater(t, kernel.nanoseconds, float64(5*time.Millisecond))
}

func TestNobodyPaysForTheGarbageOfAnother(t *testing.T) {
	var before, within runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := measured{run: func(int) error { runtime.ReadMemStats(&within); return nil }}.sample(1)
	require.NoError(t, err)
	assert.Greater(t, within.NumGC, before.NumGC)
}

// work uses the processor for that long.
func work(d time.Duration) {
	for end := processorTime() + d; processorTime() < end; {
	}
}

func TestARoundIsLongEnoughForItsClock(t *testing.T) {
	n, err := measured{run: func(n int) error {
		work(time.Duration(n) * 100 * time.Microsecond)
		return nil
	}}.calibrate()
	require.NoError(t, err)
	assert.InDelta(t, float64(roundTime/(100*time.Microsecond)), n, 200)
}

func TestTheCasesTakeTurns(t *testing.T) {
	var order strings.Builder
	c := func(name string) measured {
		return measured{name: name, run: func(n int) error {
			order.WriteString(name)
			work(time.Duration(n) * roundTime)
			return nil
		}}
	}
	_, err := group{cases: []measured{c("a"), c("b")}}.measure(3)
	require.NoError(t, err)
	assert.Equal(t, "ab"+"ababab", order.String()) // to calibrate, and three rounds
}

func TestRatiosAreThoseOfTheRounds(t *testing.T) {
	// The machine was slow in the second round, for both.
	base := []sample{{nanoseconds: 100}, {nanoseconds: 1000}, {nanoseconds: 110}, {nanoseconds: 90}}
	other := []sample{{nanoseconds: 200}, {nanoseconds: 2000}, {nanoseconds: 220}, {nanoseconds: 180}}
	f := compare(other, base)
	assert.InDelta(t, 2, f.ratio, 1e-9)
	assert.InDelta(t, 0, f.spread, 1e-9)
	assert.InDelta(t, 105, f.own, 1e-9)
	assert.InDelta(t, 210, f.whole, 1e-9)
}

func TestTheSpreadIsHalfTheMiddleHalf(t *testing.T) {
	base := []sample{{nanoseconds: 1}, {nanoseconds: 1}, {nanoseconds: 1}, {nanoseconds: 1}, {nanoseconds: 1}}
	other := []sample{{nanoseconds: 10}, {nanoseconds: 9}, {nanoseconds: 11}, {nanoseconds: 1}, {nanoseconds: 99}}
	f := compare(other, base)
	assert.InDelta(t, 10, f.ratio, 1e-9)
	assert.InDelta(t, 0.1, f.spread, 1e-9)
}

func TestQuantilesLieBetweenNeighbours(t *testing.T) {
	assert.InDelta(t, 3, median([]float64{5, 1, 3}), 1e-9)
	assert.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 1e-9)
	assert.InDelta(t, 7, median([]float64{7}), 1e-9)
	assert.InDelta(t, 2, quantile([]float64{1, 2, 3, 4, 5}, 0.25), 1e-9)
}

func TestACaseThatFailsFailsTheComparison(t *testing.T) {
	broken := errors.New("broken")
	for _, rounds := range []int{onlyOnce, 1} {
		_, err := group{cases: []measured{{name: "case", run: func(int) error { return broken }}}}.measure(rounds)
		assert.ErrorIs(t, err, broken)
		assert.ErrorContains(t, err, "case: ")
	}
}

func TestGoalsAreJudgedByTheirOwnFigure(t *testing.T) {
	f := figures{ratio: 2, own: 20_000, whole: 40_000, ownAllocs: 10, allocs: 30}
	for _, c := range []struct {
		met, missed goals
		text        string
	}{
		{goals{ratio: 2}, goals{ratio: 1.9}, "ratio ≤ "},
		{goals{own: 20 * time.Microsecond}, goals{own: 19 * time.Microsecond}, "own CPU ≤ "},
		{goals{ownAllocs: 10}, goals{ownAllocs: 9}, "own allocs ≤ "},
	} {
		assert.Regexp(t, "^"+c.text+`\S+( µs)? met$`, c.met.judge(f))
		assert.Regexp(t, "^"+c.text+`\S+( µs)? MISSED$`, c.missed.judge(f))
	}
	assert.Empty(t, goals{}.judge(f))
	assert.Equal(t, "ratio ≤ 3 met, own allocs ≤ 5 MISSED", goals{ratio: 3, ownAllocs: 5}.judge(f))
}

func TestATableBeginsWithTheRatio(t *testing.T) {
	c := group{cases: []measured{{name: "by hand"}, {name: "wrapped", goals: goals{ratio: 1.2}}}}
	whole := table{about: "About."}
	whole.add("1 KB", c.table([][]sample{
		{{nanoseconds: 10_000, allocs: 5, bytes: 100}},
		{{nanoseconds: 11_000, allocs: 7, bytes: 2048}},
	}))
	var text strings.Builder
	whole.print(&text, "first")
	printed := regexp.MustCompile(`(?m) +$`).ReplaceAllString(text.String(), "")
	assert.Equal(t, `
first
About.

         ratio  ±   own CPU  CPU      own allocs  allocs  bytes   goal

1 KB
by hand  1.00                10.0 µs              5       100 B
wrapped  1.10   0%  1.00 µs  11.0 µs  2           7       2.0 KB  ratio ≤ 1.2 met
`, printed)
}

func TestFiguresAreReadable(t *testing.T) {
	for nanoseconds, text := range map[float64]string{
		12: "0.01 µs", 1234: "1.23 µs", 12_345: "12.3 µs", 123_456: "123 µs", 12_345_678: "12.3 ms",
		-12_345: "-12.3 µs",
	} {
		assert.Equal(t, text, micros(nanoseconds))
	}
	for n, text := range map[float64]string{12: "12 B", 2048: "2.0 KB", 5 << 20: "5.0 MB"} {
		assert.Equal(t, text, bytesOf(n))
	}
	assert.Equal(t, "0", count(-0.3))
}
