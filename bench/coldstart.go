package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

// program is a folder of coldstart, the function that is started.
type program struct {
	name string
	// cpu and size are upper limits of what it adds to the first one, in processor time of a start
	// without database and in bytes of the binary, zero for none.
	cpu  time.Duration
	size float64
}

// programs stand for a function with a client of DynamoDB, and with this library on that client.
var programs = []program{
	{name: "client"},
	{name: "wrapped", cpu: 300 * time.Microsecond, size: 500_000},
}

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
		if sizes[i], err = p.build(folder); err != nil {
			return table{}, err
		}
	}
	get := bytes.Replace(newEvent().payload, []byte(`"method":"POST"`), []byte(`"method":"GET"`), 1)
	starts := make([][]start, len(programs))
	for range max(rounds*startsPerRound, 1) {
		for i, p := range programs {
			s, err := p.start(folder, nil, get)
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", p.name, err)
			}
			starts[i] = append(starts[i], s)
		}
	}
	return startTable(programs, sizes, starts), nil
}

// start is what one process took.
type start struct{ cpu, wall, peak float64 }

// build makes the binary with the flags of the Makefile, and returns its size.
func (p program) build(folder string) (size float64, err error) {
	path := filepath.Join(folder, p.name)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags",
		"-s -w -buildid=",
		"-o", path, "github.com/go-idempotent/idempotent/bench/coldstart/"+p.name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: go build %s: %w\n%s", errNotHere, p.name, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()), nil
}

// start runs a process for one invocation.
func (p program) start(folder string, environment []string, payload []byte) (s start, err error) {
	sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
		Bootstrap:   filepath.Join(folder, p.name),
		Environment: append([]string{"IDEMPOTENCY_TABLE=idempotency"}, environment...),
	})
	began := time.Now()
	answer, err := sandbox.Invoke(context.Background(), payload, timeout)
	s.wall = float64(time.Since(began))
	if err == nil && !bytes.HasPrefix(answer, []byte(`{"statusCode":201,`)) {
		err = fmt.Errorf("the answer is %.200s", answer)
	}
	if err == nil {
		s.peak, err = highWater(strconv.Itoa(sandbox.PID()))
	}
	if err := errors.Join(err, sandbox.Close()); err != nil {
		return start{}, err
	}
	used := sandbox.Ended()
	s.cpu = float64(used.UserTime() + used.SystemTime())
	return s, nil
}

// startTable compares each program with the first one, start by start.
func startTable(programs []program, sizes []float64, starts [][]start) table {
	t := table{about: aboutColdStart, header: []string{
		"", "CPU", "own CPU", "wall", "own wall", "peak RSS", "own RSS", "binary",
		"own binary", goalColumn,
	}}
	for i, p := range programs {
		cpu, ownCPU := beside(starts[i], starts[0], func(s start) float64 { return s.cpu })
		wall, ownWall := beside(starts[i], starts[0], func(s start) float64 { return s.wall })
		peak, ownPeak := beside(starts[i], starts[0], func(s start) float64 { return s.peak })
		ownSize := sizes[i] - sizes[0]
		row := []string{
			p.name, millis(cpu), millis(ownCPU), millis(wall), millis(ownWall), megabytes(peak), megabytes(ownPeak),
			megabytes(sizes[i]), megabytes(ownSize), p.judge(ownCPU, ownSize),
		}
		if i == 0 {
			row[2], row[4], row[6], row[8] = "", "", "", ""
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (p program) judge(ownCPU, ownSize float64) string {
	return judged(
		verdict{float64(p.cpu), ownCPU, "own CPU ≤ " + millis(float64(p.cpu))},
		verdict{p.size, ownSize, "own binary ≤ " + megabytes(p.size)},
	)
}

// millis writes nanoseconds.
func millis(nanoseconds float64) string { return fmt.Sprintf("%.2f ms", nanoseconds/1e6) }

// megabytes writes bytes as MB of 10^6, as binaries are counted.
func megabytes(n float64) string { return fmt.Sprintf("%.2f MB", n/1e6) }
