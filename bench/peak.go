package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const (
	// peakDeliveries are made in a row in each process.
	peakDeliveries = 5
	// peakRounds is the most processes of a case: they agree well.
	peakRounds = 7
)

const aboutPeak = `Peak memory (VmHWM) of a process that gets 5 events in a row and answers with 5 MB.
The ratio is what comes on top of the same handler unprotected, in sizes of the result. GOGC and GOMEMLIMIT have
their defaults. By hand nothing of this size can be stored.`

// measurePeak starts the program wrapped for each measurement, over a table in the memory of this
// process.
func measurePeak(rounds int) (table, error) {
	if runtime.GOOS != "linux" {
		return table{}, fmt.Errorf("%w: the peak of a process is read from /proc of Linux", errNotHere)
	}
	folder, err := os.MkdirTemp("", "peak-")
	if err != nil {
		return table{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if _, err := build(folder, "wrapped"); err != nil {
		return table{}, err
	}
	t := table{about: aboutPeak, header: []string{"", "ratio", "on top", "peak", goalColumn}}
	for _, r := range []result{orders("5 MB", 5<<20), noise("5 MB of noise", 5<<20)} {
		rows, err := peakRows(folder, r, min(max(rounds, 1), peakRounds))
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", r.name, err)
		}
		t.rows = append(append(t.rows, []string{r.name}), rows...)
	}
	return t, nil
}

// peakRows are those of a result: the handler alone, first executions, and replays.
func peakRows(folder string, r result, rounds int) (rows [][]string, err error) {
	server := httptest.NewServer(new(dynamofake.Server))
	defer server.Close()
	body := filepath.Join(folder, "result")
	if err := os.WriteFile(body, []byte(r.response.Body), 0o600); err != nil {
		return nil, err
	}
	environment := []string{
		"RESULT=" + body, "AWS_ENDPOINT_URL_DYNAMODB=" + server.URL,
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
	}
	replayed := freshKey()
	if _, err := peakOf(folder, environment, func() []byte { return newEvent().withKey(replayed) }); err != nil {
		return nil, err
	}
	base := 0.0
	for _, m := range []struct {
		name    string
		payload func() []byte
		goal    goals
	}{
		{"unprotected", unprotected, goals{}},
		{"first execution", func() []byte { return newEvent().withKey(freshKey()) }, goals{ratio: 3}},
		{"replay", func() []byte { return newEvent().withKey(replayed) }, goals{ratio: 1.5}},
	} {
		var peaks []float64
		for range rounds {
			peak, err := peakOf(folder, environment, m.payload)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			peaks = append(peaks, peak)
		}
		peak := median(peaks)
		if base == 0 {
			base = peak
		}
		ratio := (peak - base) / float64(r.size)
		row := []string{
			m.name, fmt.Sprintf("%.1f", ratio), megabytes(peak - base), megabytes(peak),
			m.goal.judge(figures{ratio: ratio}),
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// peakOf is the largest resident size, in bytes, of a process that gets these events.
func peakOf(folder string, environment []string, payload func() []byte) (peak float64, err error) {
	sandbox := newSandbox(folder, "wrapped", environment)
	defer sandbox.Close()
	for range peakDeliveries {
		if err := answers(sandbox.Invoke(context.Background(), payload())); err != nil {
			return 0, err
		}
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(sandbox.PID()), "status"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &peak); err != nil {
		return 0, fmt.Errorf("%w: /proc has no VmHWM: %w", errNotHere, err)
	}
	return peak * (1 << 10), nil // it was in KB
}
