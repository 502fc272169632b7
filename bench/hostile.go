package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

const (
	// hostileFlag is followed by a mode and the file of an event: "wrapped:/tmp/event".
	hostileFlag = "hostile"
	// hostileSize is the size of each body: an event of at most 6 MB is what Lambda takes.
	hostileSize = 5_900_000
	// hostileRounds is the most processes of a case.
	hostileRounds = 7
	hostileAlone  = "alone"
	hostileFirst  = "wrapped"
	// hostileObject begins a body that the handler takes for an order.
	hostileObject = `{"id":"a"`
)

// Goals of a first execution, in times of what the handler alone takes.
const (
	hostileCPUGoal  = 4
	hostilePeakGoal = 1.5
)

// hostileBody is a body that is made to hurt: begin, what is repeated with a number, and end.
type hostileBody struct {
	name, begin, repeated, end string
	base64                     bool
}

var hostileBodies = []hostileBody{
	{name: "numbers that grow", begin: "[1", repeated: ",1e20", end: "]"},
	{name: "many members", begin: hostileObject, repeated: `,"%x":1`, end: "}"},
	{name: "many members, base64", begin: hostileObject, repeated: `,"%x":1`, end: "}", base64: true},
	{name: "names with escapes", begin: hostileObject, repeated: `,"\n%x":1`, end: "}"},
	{name: "names that fold", begin: hostileObject, repeated: `,"\u212a%x":1`, end: "}"},
	{name: "long names", begin: hostileObject, repeated: `,"` + strings.Repeat("x", 200) + `%x":1`, end: "}"},
	{name: "small objects", begin: "[1", repeated: `,{"b":1,"a":2}`, end: "]"},
	{
		name: "deep objects", begin: "[1",
		repeated: strings.Repeat(`,{"b":1,"a":[2`, 300) + strings.Repeat("]}", 300), end: "]",
	},
	{name: "a long text", begin: `"`, repeated: "x", end: `"`},
}

// event is the request with such a body.
func (h hostileBody) event() ([]byte, error) {
	body := []byte(h.begin)
	numbered := strings.Contains(h.repeated, "%x")
	limit := hostileSize
	if h.base64 {
		limit = limit / 4 * 3
	}
	for i := uint32(0); len(body) < limit; i++ {
		if numbered {
			body = fmt.Appendf(body, h.repeated, i*2654435761) // in no order
		} else {
			body = append(body, h.repeated...)
		}
	}
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(eventText, &e); err != nil {
		return nil, err
	}
	e.Body = string(append(body, h.end...))
	if e.IsBase64Encoded = h.base64; h.base64 {
		e.Body = base64.StdEncoding.EncodeToString([]byte(e.Body))
	}
	return json.Marshal(e)
}

// measureHostile starts a process for each measurement.
func measureHostile(rounds int) (table, error) {
	if runtime.GOOS != "linux" {
		return table{}, fmt.Errorf("%w: the peak of a process is read from /proc of Linux", errNotHere)
	}
	t := table{
		about: fmt.Sprintf("CPU and peak memory (VmHWM) of a process that gets one event with a body of %d bytes "+
			"which is made to hurt, over the "+
			"memory store, in times of the same handler alone, which decodes the body once.", hostileSize),
		header: []string{"", "CPU ratio", "CPU alone", "peak ratio", "peak alone", goalColumn},
	}
	folder, err := os.MkdirTemp("", "bench-hostile")
	if err != nil {
		return t, err
	}
	bodies := hostileBodies
	if rounds == 0 { // only to see that it works
		bodies = bodies[:2]
	}
	for _, h := range bodies {
		row, rowErr := h.measure(filepath.Join(folder, "event"), min(max(rounds, 1), hostileRounds))
		if err = errors.Join(err, rowErr); rowErr == nil {
			t.rows = append(t.rows, row)
		}
	}
	return t, errors.Join(err, os.RemoveAll(folder))
}

func (h hostileBody) measure(file string, rounds int) (row []string, err error) {
	payload, err := h.event()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, payload, 0o600); err != nil {
		return nil, err
	}
	cpu, peak := make(map[string][]float64), make(map[string][]float64)
	for range rounds {
		for _, mode := range []string{hostileAlone, hostileFirst} {
			out, err := runProcess(hostileFlag, mode+":"+file)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", h.name, mode, err)
			}
			took, most, _ := strings.Cut(out, " ")
			c, errOfCPU := strconv.ParseFloat(took, 64)
			p, errOfPeak := strconv.ParseFloat(most, 64)
			if err := errors.Join(errOfCPU, errOfPeak); err != nil {
				return nil, err
			}
			cpu[mode], peak[mode] = append(cpu[mode], c), append(peak[mode], p)
		}
	}
	alone, most := median(cpu[hostileAlone]), median(peak[hostileAlone])
	cpuRatio, peakRatio := median(cpu[hostileFirst])/alone, median(peak[hostileFirst])/most
	ofCPU, ofPeak := goals{ratio: hostileCPUGoal}, goals{ratio: hostilePeakGoal}
	return []string{
		h.name, fmt.Sprintf("%.1f", cpuRatio), micros(alone * 1000), fmt.Sprintf("%.2f", peakRatio), bytesOf(most),
		ofCPU.judge(figures{ratio: cpuRatio}) + "; " + ofPeak.judge(figures{ratio: peakRatio}),
	}, nil
}

// hostileProcess is the other process. It prints its CPU in microseconds and its peak in bytes.
func hostileProcess(argument string) {
	mode, file, _ := strings.Cut(argument, ":")
	if err := hostileDelivery(mode, file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hostileDelivery(mode, file string) error {
	payload, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	handler := lambda.NewHandler(decodeOnce)
	if mode == hostileFirst {
		handler = idempotent.Wrap(decodeOnce, memory.New(), idempotent.WithOperation("charge"))
	}
	if err := peakFromHere(); err != nil {
		return err
	}
	var before, after syscall.Rusage
	errBefore := syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	answer, err := handler.Invoke(context.Background(), payload)
	errAfter := syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	peak, errOfPeak := highWater()
	if err := errors.Join(err, errBefore, errAfter, errOfPeak); err != nil {
		return err
	}
	if !bytes.Contains(answer, []byte(`"statusCode":201`)) {
		return fmt.Errorf("the answer is %s", answer)
	}
	fmt.Println(cpuOf(after)-cpuOf(before), peak)
	return nil
}

func cpuOf(u syscall.Rusage) int64 { return (u.Utime.Nano() + u.Stime.Nano()) / 1000 }

// decodeOnce is a handler that decodes its body once, and answers 201 whatever is in it.
func decodeOnce(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
	}
	var order struct {
		ID     string `json:"id"`
		Amount int64  `json:"amount"`
	}
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &order); err != nil && !errors.As(err, &mismatch) { // arrays and texts are none
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: "{}"}, nil
}
