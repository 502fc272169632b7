package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	// firstPeakGoal and replayPeakGoal are how much more memory than the handler alone an execution
	// and a replay may need, in sizes of the result.
	firstPeakGoal  = 3
	replayPeakGoal = 1.5
)

const (
	peakAlone  = "alone"
	peakFirst  = "first"
	peakReplay = "replay"
)

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
	modes := []string{peakAlone, peakFirst, peakReplay}
	peaks := make(map[string][]float64)
	for range rounds {
		for _, mode := range modes {
			peak, err := runPeak(mode, folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", mode, err)
			}
			peaks[mode] = append(peaks[mode], peak)
		}
	}
	alone := median(peaks[peakAlone])
	spread := func(mode string) (least, most string) {
		return bytesOf(slices.Min(peaks[mode])), bytesOf(slices.Max(peaks[mode]))
	}
	least, most := spread(peakAlone)
	rows = append(rows, []string{"lambda.NewHandler alone", "", "", bytesOf(alone), least, most, ""})
	for i, name := range []string{"wrapped, first execution", "wrapped, replay"} {
		peak := median(peaks[modes[i+1]])
		ratio := (peak - alone) / float64(r.size)
		limit := goals{ratio: []float64{firstPeakGoal, replayPeakGoal}[i]}
		least, most := spread(modes[i+1])
		rows = append(rows, []string{
			name, fmt.Sprintf("%.1f", ratio), bytesOf(peak - alone), bytesOf(peak), least, most,
			limit.judge(figures{ratio: ratio}),
		})
	}
	return rows, nil
}

// writePeakFolder leaves in the folder what the processes need: the body of the response, and what
// DynamoDB answers to a first execution and to a replay of the key 0.
func writePeakFolder(r result, folder string) error {
	f := new(fake)
	s := wrapped(r, f.connect())
	for _, mode := range []string{peakFirst, peakReplay} {
		err := f.rehearse(func() error {
			answer, err := s.deliver(0)
			return errors.Join(err, s.shop.check(answer))
		})
		if err != nil {
			return err
		}
		for operation, answers := range f.tape.answers {
			for n, a := range answers {
				name := fmt.Sprintf("%s-%s-%d-%02d", mode, operation, a.status, n)
				if err := os.WriteFile(filepath.Join(folder, name), a.body, 0o600); err != nil {
					return err
				}
			}
		}
	}
	if s.shop.executed.Load() != 1 {
		return errors.New("the replay executed")
	}
	media := "json"
	if r.response.IsBase64Encoded {
		media = "base64"
	}
	return os.WriteFile(filepath.Join(folder, "body-"+media), []byte(r.response.Body), 0o600)
}

func runPeak(mode, folder string) (peak float64, err error) {
	out, err := runProcess(peakFlag, mode+":"+folder)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(out, 64)
}

// runProcess starts this program with a flag, and returns what it prints.
func runProcess(flag, argument string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var out, stderr bytes.Buffer
	cmd := exec.Command(self, "-"+flag, argument)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=")
	})
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

// peakProcess is the other process. It prints its peak in bytes.
func peakProcess(argument string) {
	mode, folder, _ := strings.Cut(argument, ":")
	peak, err := peakOf(mode, folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(peak)
}

func peakOf(mode, folder string) (peak float64, err error) {
	bodies, err := filepath.Glob(filepath.Join(folder, "body-*"))
	if err != nil || len(bodies) != 1 {
		return 0, fmt.Errorf("%s: no body: %w", folder, err)
	}
	r := result{response: created(mediaType)}
	r.response.IsBase64Encoded = strings.HasSuffix(bodies[0], "base64")
	if r.response.Body, err = readText(bodies[0]); err != nil {
		return 0, err
	}
	f, err := newFileFake(mode, folder)
	if err != nil {
		return 0, err
	}
	c := connection{client: clientOver(f), table: "idempotency"}
	s := unwrapped(r)
	executions := peakDeliveries
	switch mode {
	case peakFirst:
		s = wrapped(r, c)
	case peakReplay:
		s, executions = wrapped(r, c), 0
	}
	s.shop.fresh = true
	if err := peakFromHere(); err != nil {
		return 0, err
	}
	if err := s.repeat(peakDeliveries, executions, func() uint64 { return 0 }); err != nil {
		return 0, err
	}
	return highWater("self")
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
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("%w: /proc/%s/status has no VmHWM", errNotHere, process)
	}
	kilobytes, err := strconv.ParseFloat(fields[0], 64)
	return kilobytes * (1 << 10), err
}

func readText(path string) (string, error) {
	content, err := os.ReadFile(path)
	return string(content), err
}

// fileFake plays answers from files, so that they take no memory until they are read.
type fileFake struct{ *tape[fileReply] }

type fileReply struct {
	path string
	reply
}

func newFileFake(mode, folder string) (f fileFake, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, mode+"-*")) // in the order of their names
	if err != nil {
		return f, err
	}
	f.tape = newTape[fileReply]()
	for _, path := range paths {
		name := strings.Split(filepath.Base(path), "-")
		status, err := strconv.Atoi(name[2])
		if err != nil {
			return f, err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return f, err
		}
		a := newReply(status, body)
		a.body = nil
		f.record(name[1], fileReply{path, a})
	}
	return f, nil
}

// Do implements dynamodb.HTTPClient.
func (f fileFake) Do(r *http.Request) (*http.Response, error) {
	a, ok := f.play(operationOf(r))
	if !ok {
		return nil, fmt.Errorf("%s is not what was rehearsed", operationOf(r))
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	file, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	length, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
	return &http.Response{StatusCode: a.status, Header: a.header, ContentLength: length, Body: file}, err
}
