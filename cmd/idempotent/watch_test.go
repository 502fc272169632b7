//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/store"
)

// watched is a run of watch on a terminal of which a test sees what a person sees.
type watched struct {
	*session

	in     io.WriteCloser
	screen *screen
}

// watchOn runs watch with lines from a pipe and a terminal for the rest.
func watchOn(t *testing.T, columns, lines int, args []string, opts ...option) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	c := command(ctx, append([]string{"watch"}, args...)...)
	c.Env = append(c.Env, "TERM=xterm")
	c.Stdin = read
	for _, o := range opts {
		o(c)
	}
	terminal, err := pty.StartWithAttrs(c, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)},
		&syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}) // standard input is the pipe
	require.NoError(t, err)
	read.Close()
	t.Cleanup(func() { write.Close() })
	return &watched{&session{t: t, command: c, terminal: terminal, cancel: cancel}, write, newScreen(columns, lines)}
}

// sees reads until the screen looks as it should.
func (w *watched) sees(what string, is func(text string) bool) string {
	w.t.Helper()
	buffer := make([]byte, 1<<16)
	for {
		if text := w.screen.text(); is(text) {
			return text
		}
		n, err := w.terminal.Read(buffer)
		require.NoError(w.t, err, "before %s was seen:\n%s", what, w.screen.text())
		require.NoError(w.t, w.screen.write(buffer[:n]), "%s", w.screen.text())
	}
}

func (w *watched) until(text string) string {
	w.t.Helper()
	return w.sees(text, func(seen string) bool { return strings.Contains(seen, text) })
}

func (w *watched) resize(columns, lines int) {
	w.t.Helper()
	w.screen.resize(columns, lines)
	require.NoError(w.t, pty.Setsize(w.terminal, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)}))
}

// interrupt presses Ctrl-C, and returns what stays on the terminal.
func (w *watched) interrupt() (stays string, code int) {
	w.t.Helper()
	w.press("\x03")
	return w.ends()
}

func (w *watched) ends() (stays string, code int) {
	w.t.Helper()
	buffer := make([]byte, 1<<16)
	for {
		n, err := w.terminal.Read(buffer)
		require.NoError(w.t, w.screen.write(buffer[:n]))
		if err != nil {
			break
		}
	}
	_ = w.command.Wait() // the exit code says it
	w.cancel()
	w.terminal.Close()
	return w.screen.text(), w.command.ProcessState.ExitCode()
}

// byShell has a shell run the program as a job, and let it go on when Enter is pressed.
func byShell(c *exec.Cmd) {
	c.Args = append([]string{"sh", "-c", `set -m; "$0" "$@"; echo "it has stopped"; read go_on </dev/tty; fg >/dev/null`, binary}, c.Args[1:]...)
	c.Path = "/bin/sh"
}

// press writes what a key of the terminal sends.
func (w *watched) press(key string) {
	w.t.Helper()
	_, err := io.WriteString(w.terminal, key)
	require.NoError(w.t, err)
}

const ctrlZ = "\x1a"

// Ctrl-Z gives the terminal back to the shell, as it was, and fg takes it again.
func TestWatchIsSuspended(t *testing.T) {
	t.Parallel()
	w := watchOn(t, 80, 24, nil, byShell)
	w.until("DELIVERIES")
	w.press(ctrlZ)
	seen := w.until("it has stopped")
	assert.NotContains(t, seen, "DELIVERIES")
	assert.False(t, w.screen.other, "the screen of the shell is back")
	assert.False(t, w.screen.hidden, "and its cursor")

	newFunction(w.in).called(t, "id0", "")
	w.press("\n")
	w.sees("what came meanwhile", counts("executed", 1))
	assert.True(t, w.screen.other)
	assert.True(t, w.screen.hidden)
	_, code := w.interrupt()
	assert.Zero(t, code)
}

// Where no shell could let it go on, as in ssh -t HOST idempotent watch, Ctrl-Z does nothing.
func TestWatchIsNotSuspendedForEver(t *testing.T) {
	t.Parallel()
	w := watchOn(t, 80, 24, nil)
	w.until("DELIVERIES")
	w.press(ctrlZ)
	newFunction(w.in).called(t, "id0", "")
	w.sees("what comes", counts("executed", 1))
	_, code := w.interrupt()
	assert.Zero(t, code)
}

// shakyStore is a store with outages.
type shakyStore struct {
	store.Store

	down atomic.Bool
}

func (s *shakyStore) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if s.down.Load() {
		return store.Record{}, false, &store.Error{Op: "claim", Kind: store.FailureUnavailable, NotApplied: true, Err: errors.New("no route to host")}
	}
	return s.Store.Claim(ctx, r, now)
}

// function is a handler with both observers, as on Lambda.
type function struct {
	store   *shakyStore
	handler *idempotent.Handler[map[string]string, string]
}

func newFunction(out io.Writer) *function {
	f := &function{store: &shakyStore{Store: memory.New()}}
	f.handler = idempotent.Wrap(func(_ context.Context, in map[string]string) (string, error) {
		if in["goes"] == "uncertain" {
			return "", idempotent.Uncertain(errors.New("no answer\x1b[2J"))
		}
		return "ch_1", nil
	}, f.store, idempotent.WithOperation("charge"), idempotent.WithKeyPath("id"), idempotent.WithEffects(idempotent.Unrepeatable),
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: 100 * time.Millisecond}),
		idempotent.WithObserver(observe.All(observe.Slog(slog.New(slog.NewJSONHandler(out, nil))), observe.EMF(out))))
	return f
}

func (f *function) called(t *testing.T, id, goes string) string {
	t.Helper()
	_, _ = f.handler.Handle(t.Context(), map[string]string{"id": id, "goes": goes})
	described, err := f.handler.Describe(t.Context(), map[string]string{"id": id, "goes": goes})
	require.NoError(t, err)
	return described.RecordKey
}

// outage is a table that answers the first question, and then does not until it is over.
type outage struct {
	large *large
	down  atomic.Bool
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.down.Load() {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not now\u001b[31m"}`)
		return
	}
	o.large.ServeHTTP(w, r)
}

func TestWatchDuringAnOutage(t *testing.T) {
	t.Parallel()
	table := &outage{large: &large{t: t, pages: 1}}
	server := httptest.NewServer(table)
	t.Cleanup(server.Close)
	w := watchOn(t, 100, 60, []string{"--every", "1s"}, env("IDEMPOTENCY_TABLE=idempotency", "AWS_ENDPOINT_URL_DYNAMODB="+server.URL))
	w.until("No line has come yet, for 1")
	w.until("OPEN in table \"idempotency\"")

	f := newFunction(w.in)
	for i := range 7 {
		f.called(t, fmt.Sprint("id", i), "")
	}
	f.called(t, "id0", "")
	unknown := f.called(t, "id9", "uncertain")
	seen := w.sees("the deliveries", counts("deliveries", 9))
	assert.True(t, counts("executed", 8)(seen), "each counts once, whatever observers there are:\n%s", seen)
	assert.True(t, counts("replayed", 1)(seen), seen)
	assert.True(t, counts("became UNKNOWN", 1)(seen), seen)
	assert.Contains(t, seen, unknown+"  uncertain")
	assert.Contains(t, seen, "charge: 1 open, the oldest ")
	assert.NotContains(t, seen, "!!")

	f.store.down.Store(true)
	table.down.Store(true)
	for i := range 3 {
		f.called(t, fmt.Sprint("later", i), "")
	}
	seen = w.sees("the outage", func(seen string) bool { return counts("store errors", 3)(seen) && strings.Contains(seen, "!! ") })
	assert.True(t, counts("store unavailable", 3)(seen), seen)
	assert.Contains(t, seen, "charge  unavailable", "the last store error")
	assert.Contains(t, seen, "!! The table cannot be listed for ")
	assert.Contains(t, seen, `not now\x1b[31m`)
	assert.Contains(t, seen, "charge: 1 open", "what was known stays")

	f.store.down.Store(false)
	table.down.Store(false)
	f.called(t, "later0", "")
	seen = w.sees("the end of the outage", func(seen string) bool { return counts("deliveries", 13)(seen) && !strings.Contains(seen, "!! ") })
	assert.True(t, counts("executed", 9)(seen), seen)

	stays, code := w.interrupt()
	assert.Zero(t, code)
	assert.Contains(t, spaceless(stays),
		spaceless("13 deliveries in the last minute: executed 9, replayed 1, store unavailable 3, became UNKNOWN 1, store errors 3; 13 in all"))
	assert.NotContains(t, stays, "DELIVERIES", "the screen from before is back")
	assert.False(t, w.screen.other, "so is")
	assert.False(t, w.screen.hidden, "the cursor")
	assert.False(t, w.screen.cutting, "and the wrapping of lines")
}

// spaceless is a text without spaces, among which it may have been broken into lines.
func spaceless(text string) string { return strings.Join(strings.Fields(text), "") }

// counts looks for a line with a name and how often it happened.
func counts(name string, n int) func(string) bool {
	return func(seen string) bool {
		for line := range strings.Lines(seen) {
			if rest, is := strings.CutPrefix(line, name); is && strings.HasPrefix(strings.TrimSpace(rest)+" ", fmt.Sprint(n, " ")) {
				return true
			}
		}
		return false
	}
}

// The screen of the test refuses every sequence that watch has no use for.
func TestLinesNeverSteerTheTerminal(t *testing.T) {
	t.Parallel()
	w := watchOn(t, 80, 50, nil, env("NO_COLOR=1"))
	var real bytes.Buffer
	f := newFunction(&real)
	f.called(t, "id0", "uncertain")
	w.until("idempotent watch")
	for _, hostile := range []string{
		"\x1b[2J\x1b[H\x1b]0;title\x07\x1bP1$r\x1b\\", "\x9b2J", "\xff\xfe\x00", "\u202e\u2066\u200b\u0301\u0489", "\r\n\r\b\b\b\x7f", "日本語テキスト🎉", strings.Repeat("wide ", 100),
	} {
		quoted, err := json.Marshal(hostile)
		require.NoError(t, err)
		inJSON := strings.Trim(string(quoted), `"`)
		for line := range strings.Lines(real.String()) {
			for _, old := range []string{"charge#", "uncertain", `"executed"`, `"charge"`, "{"} {
				_, err := io.WriteString(w.in, strings.ReplaceAll(line, old, old[:len(old)-1]+inJSON+old[len(old)-1:]))
				require.NoError(t, err)
				_, err = io.WriteString(w.in, strings.ReplaceAll(line, old, hostile+old))
				require.NoError(t, err)
			}
		}
		_, err = io.WriteString(w.in, hostile+"\n"+`{"_aws":{},"Operation":"charge","SweepX`+inJSON+`":1}`+"\n")
		require.NoError(t, err)
	}
	_, err := real.WriteTo(w.in)
	require.NoError(t, err)
	w.sees("the last line", func(seen string) bool {
		return strings.Contains(seen, "cannot be understood") && strings.Contains(seen, "BECAME UNKNOWN")
	})
	for _, size := range [][2]int{{40, 30}, {20, 10}, {5, 3}, {1, 1}, {200, 60}} {
		w.resize(size[0], size[1])
		frames := w.screen.frames
		w.sees("two more frames", func(string) bool { return w.screen.frames > frames+2 })
	}
	stays, code := w.interrupt()
	assert.Zero(t, code)
	assert.Contains(t, stays, "in all, of ")
}

func TestWhereTheLinesEndWatchEnds(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	f := newFunction(&lines)
	f.called(t, "id0", "")
	t.Run("on a terminal", func(t *testing.T) {
		t.Parallel()
		w := watchOn(t, 80, 24, nil)
		_, err := io.WriteString(w.in, lines.String())
		require.NoError(t, err)
		require.NoError(t, w.in.Close())
		stays, code := w.ends()
		assert.Zero(t, code)
		assert.Contains(t, spaceless(stays), spaceless("1 delivery in the last minute: executed 1; 1 in all, of 2 lines. !! The lines have ended."))
	})
	t.Run("in a pipe", func(t *testing.T) {
		t.Parallel()
		r := run(t, []string{"watch"}, in(lines.String()))
		assert.Zero(t, r.code, r.err)
		assert.Regexp(t, `^\d{4}-\S+Z 1 delivery in the last minute: executed 1; 1 in all, of 2 lines\. !! The lines have ended\.\n$`, r.out)
		assert.NotContains(t, r.out, "\x1b")
	})
	t.Run("for a program", func(t *testing.T) {
		t.Parallel()
		r := run(t, []string{"watch", "-o", "json"}, in(lines.String()+"{\"_aws\":{\"Idempotent\":\"Idempotent\""+"\n"))
		assert.Zero(t, r.code, r.err)
		var report struct {
			Minute       map[string]float64
			Lines        float64
			BrokenLines  float64 `json:"broken_lines"`
			ForeignLines float64 `json:"foreign_lines"`
			Warnings     []string
		}
		require.NoError(t, json.Unmarshal([]byte(r.out), &report))
		assert.Equal(t, map[string]float64{"executed": 1}, report.Minute)
		assert.InDelta(t, 3, report.Lines, 0)
		assert.InDelta(t, 1, report.BrokenLines, 0)
		assert.Len(t, report.Warnings, 2)
	})
}

// A million lines go through the program, which stays as small as it was.
func TestAFloodThroughThePipe(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a million lines take a while")
	}
	var lines bytes.Buffer
	f := newFunction(&lines)
	f.called(t, "id0", "")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := command(ctx, "watch", "-o", "json")
	pipe, err := c.StdinPipe()
	require.NoError(t, err)
	var out bytes.Buffer
	c.Stdout = &out
	require.NoError(t, c.Start())
	began := time.Now()
	buffered := bufio.NewWriter(pipe)
	for range 500_000 {
		_, err := buffered.Write(lines.Bytes())
		require.NoError(t, err)
	}
	require.NoError(t, buffered.Flush())
	checkPeakMemory(t, c.Process.Pid, 80_000)
	require.NoError(t, pipe.Close())
	require.NoError(t, c.Wait())
	t.Logf("a million lines in %s", time.Since(began))
	last := out.String()[strings.LastIndexByte(strings.TrimSpace(out.String()), '\n')+1:]
	assert.Contains(t, last, `"total":{"executed":500000}`)
}

// checkPeakMemory checks how much memory a process that still runs has had at most. (What the system reports of a process that has ended will not
// do: Linux counts what the parent had when it started the process.)
func checkPeakMemory(t *testing.T, pid, kilobytes int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("not checked here: how much memory the program needs")
		return
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	require.NotNil(t, found, "%s", status)
	peak, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	assert.Less(t, peak, kilobytes, "kilobytes")
	t.Logf("%d kB at most", peak)
}

func TestWatchNeedsLines(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, []string{"watch"})
	out, code := s.end()
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "there are no lines to read")
	for says, args := range map[string][]string{
		"contradict each other":         {"--demo", "--log-group", "g"},
		"--filter-pattern needs":        {"--filter-pattern", "x"},
		"is shorter than 1s":            {"--every", "1ms"},
		"more than the 10 of":           strings.Fields(strings.Repeat("--log-group g ", 11)),
		"there is no Region":            {"--log-group", "g"},
		"is no URL with http or https":  {"--table", "t", "--endpoint-url", "x"},
		"there are no AWS credentials:": {"--log-group", "g", "--region", "eu-central-1"},
	} {
		r := run(t, append([]string{"watch"}, args...))
		assert.NotZero(t, r.code, says)
		assert.Contains(t, r.err, says)
	}
}

func TestTheDemoOfWatchNeedsNothing(t *testing.T) {
	t.Parallel()
	w := watchOn(t, 100, 60, []string{"--demo"})
	w.until("OPEN in the store")
	w.sees("deliveries", func(seen string) bool {
		return strings.Contains(seen, "replayed ") && strings.Contains(seen, "became UNKNOWN ")
	})
	_, code := w.interrupt()
	assert.Zero(t, code)
}

// The live tail of a server that speaks as CloudWatch Logs does.
func TestWatchReadsALiveTail(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	f := newFunction(&lines)
	f.called(t, "id0", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		say := func(name, payload string) {
			headers := eventstream.Headers{
				{Name: ":message-type", Value: eventstream.StringValue("event")},
				{Name: ":event-type", Value: eventstream.StringValue(name)},
				{Name: ":content-type", Value: eventstream.StringValue("application/json")},
			}
			assert.NoError(t, eventstream.NewEncoder().Encode(w, eventstream.Message{Headers: headers, Payload: []byte(payload)}))
			w.(http.Flusher).Flush()
		}
		say("initial-response", "{}")
		say("sessionStart", "{}")
		var results []map[string]any
		for line := range strings.Lines(lines.String()) {
			results = append(results, map[string]any{"message": line})
		}
		update, err := json.Marshal(map[string]any{"sessionMetadata": map[string]any{"sampled": true}, "sessionResults": results})
		assert.NoError(t, err)
		say("sessionUpdate", string(update))
		<-r.Context().Done()
	}))
	t.Cleanup(server.CloseClientConnections)
	w := watchOn(t, 120, 40, []string{"--log-group", "arn:aws:logs:eu-central-1:1:log-group:/aws/lambda/charge:*"}, env("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS="+server.URL))
	seen := w.sees("the line", counts("executed", 1))
	assert.Contains(t, seen, "live tail of arn:aws:logs:eu-central-1:1:log-group:/aws/lambda/charge: session 1")
	assert.Contains(t, seen, "!! There were more than 500 lines a second")
	_, code := w.interrupt()
	assert.Zero(t, code)
}
