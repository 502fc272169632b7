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
)

const (
	// peakFlag is followed by a mode and the folder of a result: "replay:/tmp/peak-1".
	peakFlag = "peak"
	// peakDeliveries are made in a row in each process.
	peakDeliveries = 5
	// peakRounds is the most processes of a case: they agree well.
	peakRounds = 7
)

// peakModes are what a process can do: goal is how much more memory than the handler alone it may
// need, in sizes of the result, and executions is how often the handler runs.
var peakModes = []struct {
	mode, name string
	way        way
	executions int
	goal       float64
}{
	{"alone", unwrapped.name, unwrapped, peakDeliveries, 0},
	{"first", "wrapped, first execution", wrapped, peakDeliveries, 3},
	{"replay", "wrapped, replay", wrapped, 0, 1.5},
}

// measurePeak starts a process for each measurement.
func measurePeak(rounds int) (table, error) {
	if runtime.GOOS != "linux" {
		return table{}, fmt.Errorf("%w: the peak of a process is read from /proc of Linux", errNotHere)
	}
	t := table{
		about: fmt.Sprintf("Peak memory (VmHWM) of a process that gets the event %d times in a row and answers with "+
			"5 MB. The ratio is what "+
			"comes on top of the same handler alone, in sizes of the result. GOGC and GOMEMLIMIT have their "+
			"defaults. The fake below HTTP "+
			"reads answers from a file, as a socket would bring them; by hand nothing of this size can be stored.",
			peakDeliveries),
		header: []string{"", "ratio", "on top", "peak", "least", "most", goalColumn},
	}
	for _, r := range []result{orders("5 MB", 5<<20), noise("5 MB of noise", 5<<20)} {
		rows, err := peakRows(r, min(max(rounds, 1), peakRounds))
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", r.name, err)
		}
		t.rows = append(append(t.rows, []string{r.name}), rows...)
	}
	return t, nil
}

func peakRows(r result, rounds int) (rows [][]string, err error) {
	folder, err := os.MkdirTemp("", "bench-peak")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := writePeakFolder(r, folder); err != nil {
		return nil, err
	}
	peaks := make([][]float64, len(peakModes))
	for range rounds {
		for i, m := range peakModes {
			peak, err := runPeak(m.mode + ":" + folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.mode, err)
			}
			peaks[i] = append(peaks[i], peak)
		}
	}
	for i, m := range peakModes {
		peak := median(peaks[i])
		own := peak - median(peaks[0])
		ratio := own / float64(r.size)
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

// writePeakFolder leaves in the folder what the processes need: the body of the response, and what
// DynamoDB answers to a first execution and to a replay of the key 0.
func writePeakFolder(r result, folder string) error {
	f := newFake()
	s := wrapped.of(r, f)
	for _, m := range peakModes[1:] {
		err := f.rehearse(func() error {
			answer, err := s.deliver(0)
			return errors.Join(err, s.shop.check(answer))
		})
		if err != nil {
			return err
		}
		for operation, answers := range f.answers {
			for n, a := range answers {
				name := fmt.Sprintf("%s-%s-%d-%02d", m.mode, operation, a.status, n)
				if err := os.WriteFile(filepath.Join(folder, name), a.body, 0o600); err != nil {
					return err
				}
			}
		}
	}
	if s.shop.executed.Load() != 1 {
		return errors.New("the replay executed")
	}
	name := fmt.Sprintf("body-%t", r.response.IsBase64Encoded)
	return os.WriteFile(filepath.Join(folder, name), []byte(r.response.Body), 0o600)
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

// peakProcess is the other process. It returns its peak in bytes.
func peakProcess(argument string) (peak float64, err error) {
	mode, folder, _ := strings.Cut(argument, ":")
	bodies, err := filepath.Glob(filepath.Join(folder, "body-*"))
	if err != nil || len(bodies) != 1 {
		return 0, fmt.Errorf("%s: no body: %w", folder, err)
	}
	body, err := os.ReadFile(bodies[0])
	if err != nil {
		return 0, err
	}
	r := result{response: created(mediaType)}
	r.response.Body, r.response.IsBase64Encoded = string(body), strings.HasSuffix(bodies[0], "true")
	f := newFake()
	if err := f.load(mode, folder); err != nil {
		return 0, err
	}
	for _, m := range peakModes {
		if m.mode != mode {
			continue
		}
		s := m.way.of(r, f)
		s.shop.fresh = true
		if err := peakFromHere(); err != nil {
			return 0, err
		}
		if err := s.repeat(peakDeliveries, m.executions, func() uint64 { return 0 }); err != nil {
			return 0, err
		}
	}
	return highWater("self")
}

// load plays the answers that a folder has for a mode, from its files.
func (f *fake) load(mode, folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, mode+"-*")) // in the order of their names
	if err != nil {
		return err
	}
	return f.rehearse(func() error {
		for _, path := range paths {
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := strings.Split(filepath.Base(path), "-")
			status, err := strconv.Atoi(name[2])
			if err != nil {
				return err
			}
			a := newReply(status, body)
			a.body, a.file = nil, path
			f.answers[name[1]] = append(f.answers[name[1]], a)
		}
		return nil
	})
}

// peakFromHere forgets what this process has used so far.
func peakFromHere() error {
	debug.FreeOSMemory()
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// highWater is the largest resident size of a process so far, in bytes, or since [peakFromHere].
// That of wait4(2) would count what this process had when it started the other one.
func highWater(process string) (float64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", process, "status"))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotHere, err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("%w: /proc/%s/status has no VmHWM: %w", errNotHere, process, err)
	}
	return kilobytes * (1 << 10), nil
}
