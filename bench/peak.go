package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
)

const (
	// peakFlag is followed by the number of a result and that of a mode: "0:2".
	peakFlag = "peak"
	// peakDeliveries are made in a row in each process.
	peakDeliveries = 5
	// peakRounds is the most processes of a case: they agree well.
	peakRounds = 7
)

// peakResults are the sizes and kinds of answers.
func peakResults() []result { return []result{orders("5 MB", 5<<20), noise("5 MB of noise", 5<<20)} }

// peakModes are what a process can do: goal is how much more memory than the handler alone it may
// need, in sizes of the result.
var peakModes = []struct {
	name     string
	way      way
	rehearse func(*subject, *fake) (run func(n int) error, err error)
	goal     float64
}{
	{unwrapped.name, unwrapped, (*subject).rehearsedExecution, 0},
	{"wrapped, first execution", wrapped, (*subject).rehearsedExecution, 3},
	{"wrapped, replay", wrapped, (*subject).rehearsedReplay, 1.5},
}

// measurePeak starts a process for each measurement.
func measurePeak(rounds int) (table, error) {
	if runtime.GOOS != "linux" {
		return table{}, fmt.Errorf("%w: the peak of a process is read from /proc of Linux", errNotHere)
	}
	t := table{
		about: fmt.Sprintf(`Peak memory (VmHWM) of a process that gets the event %d times in a row and answers with 5 MB.
The ratio is what comes on top of the same handler alone, in sizes of the result. GOGC and GOMEMLIMIT have their defaults. The
fake below HTTP reads answers from a file, as a socket would bring them; by hand nothing of this size can be
stored.`, peakDeliveries),
		header: []string{"", "ratio", "on top", "peak", "least", "most", goalColumn},
	}
	for i, r := range peakResults() {
		rows, err := peakRows(i, r.size, min(max(rounds, 1), peakRounds))
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", r.name, err)
		}
		t.rows = append(append(t.rows, []string{r.name}), rows...)
	}
	return t, nil
}

func peakRows(result, size, rounds int) (rows [][]string, err error) {
	peaks := make([][]float64, len(peakModes))
	for range rounds {
		for i, m := range peakModes {
			peak, err := runPeak(fmt.Sprintf("%d:%d", result, i))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			peaks[i] = append(peaks[i], peak)
		}
	}
	for i, m := range peakModes {
		peak := median(peaks[i])
		own := peak - median(peaks[0])
		ratio := own / float64(size)
		row := []string{
			m.name, fmt.Sprintf("%.1f", ratio), bytesOf(own), bytesOf(peak), bytesOf(slices.Min(peaks[i])),
			bytesOf(slices.Max(peaks[i])), goals{ratio: m.goal}.judge(figures{ratio: ratio}),
		}
		if i == 0 {
			row[1], row[2] = "", ""
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// runPeak starts this program with the flag, and returns what it prints.
func runPeak(argument string) (peak float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var stderr bytes.Buffer
	cmd := exec.Command(self, "-"+peakFlag, argument)
	cmd.Stderr = &stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=")
	})
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// peakProcess is the other process. It returns its peak in bytes, from the end of the rehearsal on.
func peakProcess(argument string) (peak float64, err error) {
	var r, m int
	if _, err := fmt.Sscanf(argument, "%d:%d", &r, &m); err != nil {
		return 0, err
	}
	f := newFake()
	s := peakModes[m].way.of(peakResults()[r], f)
	run, err := peakModes[m].rehearse(s, f)
	if err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "bench-peak")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := f.spill(folder); err != nil {
		return 0, err
	}
	s.shop.fresh = true
	if err := peakFromHere(); err != nil {
		return 0, err
	}
	if err := run(peakDeliveries); err != nil {
		return 0, err
	}
	return highWater()
}

// spill moves what is played into files, and forgets the table.
func (f *fake) spill(folder string) error {
	f.server = new(dynamofake.Server)
	for operation, answers := range f.answers {
		for n, a := range answers {
			file := filepath.Join(folder, fmt.Sprint(operation, n))
			if err := os.WriteFile(file, a.body, 0o600); err != nil {
				return err
			}
			answers[n].file, answers[n].body = file, nil
		}
	}
	return nil
}

// peakFromHere forgets what this process has used so far.
func peakFromHere() error {
	runtime.GC() // what pools hold goes with the second collection
	debug.FreeOSMemory()
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// highWater is the largest resident size of this process since [peakFromHere], in bytes.
func highWater() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotHere, err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("%w: /proc/self/status has no VmHWM: %w", errNotHere, err)
	}
	return kilobytes * (1 << 10), nil
}
