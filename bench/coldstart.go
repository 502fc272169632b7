package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

// programs are folders of coldstart, the functions that are started: they stand for a function with
// a client of DynamoDB, and with this library on that client.
var programs = []string{"client", "wrapped"}

// startGoals are those of what the second program adds to the first one.
var startGoals = goals{own: 300 * time.Microsecond, ownSize: 500_000}

// startsPerRound is how often each program starts in a round: what it adds is a small part of a
// start.
const startsPerRound = 5

const aboutColdStart = `Processes are started by a server of Lambda's Runtime API, as in a new sandbox, for one invocation.
client is a handler with a client of DynamoDB, wrapped has this library on that client. CPU, user and system, is that
of the whole life of the process, wall the time from its start to the answer. The event is a GET, which runs
unprotected: what is left is the initialization.`

// measureColdStart starts functions for an invocation that needs no database.
func measureColdStart(rounds int) (table, error) {
	folder, err := os.MkdirTemp("", "coldstart-")
	if err != nil {
		return table{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	sizes := make([]float64, len(programs))
	for i, p := range programs {
		if sizes[i], err = build(folder, p); err != nil {
			return table{}, err
		}
	}
	starts := make([][]start, len(programs))
	for range max(rounds*startsPerRound, 1) {
		for i, p := range programs {
			s, err := startOnce(folder, p, nil, unprotected())
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", p, err)
			}
			starts[i] = append(starts[i], s)
		}
	}
	return startTable(sizes, starts), nil
}

// start is what one process took.
type start struct{ cpu, wall float64 }

// build makes the binary of a program with the flags of the Makefile, and returns its size.
func build(folder, program string) (size float64, err error) {
	path := filepath.Join(folder, program)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags",
		"-s -w -buildid=",
		"-o", path, "github.com/go-idempotent/idempotent/bench/coldstart/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: go build %s: %w\n%s", errNotHere, program, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()), nil
}

// unprotected is an event that needs no key.
func unprotected() []byte {
	return bytes.Replace(newEvent().payload, []byte(`"method":"POST"`), []byte(`"method":"GET"`), 1)
}

func newSandbox(folder, program string, environment []string) *lambdaruntime.Sandbox {
	return &lambdaruntime.Sandbox{
		Bootstrap:   filepath.Join(folder, program),
		Environment: append([]string{"IDEMPOTENCY_TABLE=" + records}, environment...),
		Timeout:     timeout,
	}
}

// answers checks an answer as far as it costs nothing.
func answers(answer []byte, err error) error {
	if err == nil && !bytes.HasPrefix(answer, []byte(`{"statusCode":201,`)) {
		err = fmt.Errorf("the answer is %.200s", answer)
	}
	return err
}

// startOnce runs a process for one invocation.
func startOnce(folder, program string, environment []string, payload []byte) (s start, err error) {
	sandbox := newSandbox(folder, program, environment)
	began := time.Now()
	err = answers(sandbox.Invoke(context.Background(), payload))
	s.wall = float64(time.Since(began))
	sandbox.Close()
	if err != nil {
		return start{}, err
	}
	used := sandbox.Ended()
	s.cpu = float64(used.UserTime() + used.SystemTime())
	return s, nil
}

// startTable compares each program with the first one, start by start.
func startTable(sizes []float64, starts [][]start) table {
	t := table{about: aboutColdStart, header: []string{
		"", "CPU", "own CPU", "wall", "own wall", "binary", "own binary", goalColumn,
	}}
	for i, p := range programs {
		cpu, ownCPU := beside(starts[i], starts[0], func(s start) float64 { return s.cpu })
		wall, ownWall := beside(starts[i], starts[0], func(s start) float64 { return s.wall })
		row := []string{
			p, millis(cpu), millis(ownCPU), millis(wall), millis(ownWall), megabytes(sizes[i]),
			megabytes(sizes[i] - sizes[0]), startGoals.judge(figures{own: ownCPU, ownSize: sizes[i] - sizes[0]}),
		}
		if i == 0 {
			row[2], row[4], row[6], row[7] = "", "", "", ""
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// millis writes nanoseconds.
func millis(nanoseconds float64) string { return fmt.Sprintf("%.2f ms", nanoseconds/1e6) }

// megabytes writes bytes as MB of 10^6, as binaries are counted.
func megabytes(n float64) string { return fmt.Sprintf("%.2f MB", n/1e6) }
