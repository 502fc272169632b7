package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// ask is one invocation.
type ask struct {
	Table string          `json:"table"`
	Event json.RawMessage `json:"event"`

	KeyPath        string `json:"key_path,omitempty"`
	ValidationPath string `json:"validation_path,omitempty"`
	// Prefix is that of keys; without one the sides compute it from their environment and names.
	Prefix string `json:"prefix,omitempty"`
	Hash   string `json:"hash,omitempty"`
	// ExpiresAfter is the retention in seconds, an hour if zero.
	ExpiresAfter int `json:"expires_after,omitempty"`
	// RemainingMS is what is left of the invocation's time, nil for nobody knows.
	RemainingMS *int64 `json:"remaining_ms,omitempty"`
	Shape       shape  `json:"shape"`

	// The rest is for this library. Language is the one whose records it shares; Uncertain makes
	// its handler's error one of unknown outcome.
	Language  string `json:"language,omitempty"`
	Uncertain bool   `json:"uncertain,omitempty"`
	// HTTP makes this library's handler one of an HTTP API.
	HTTP bool `json:"http,omitempty"`
}

// shape is that of the table, in which an empty name is the default.
type shape struct {
	Key        string `json:"key,omitempty"`
	Sort       string `json:"sort,omitempty"`
	Partition  string `json:"partition,omitempty"`
	Expiration string `json:"expiration,omitempty"`
	Lease      string `json:"lease,omitempty"`
	Status     string `json:"status,omitempty"`
	Data       string `json:"data,omitempty"`
	Validation string `json:"validation,omitempty"`
}

// told is how a handler ends.
type told struct {
	Return json.RawMessage `json:"return,omitempty"`
	Fail   string          `json:"fail,omitempty"`
}

// answer is what a peer says.
type answer struct {
	Entered  bool            `json:"entered,omitempty"`
	Returned json.RawMessage `json:"returned,omitempty"`
	Error    string          `json:"error,omitempty"`
	Cause    string          `json:"cause,omitempty"`
}

// peer is a process that runs handlers, one after another.
type peer struct {
	side

	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a process of this side, which ends with the test.
func (s side) start(t *testing.T) *peer {
	t.Helper()
	p := &peer{side: s, t: t, cmd: exec.Command(s.command[0], s.command[1:]...)}
	outer := slices.DeleteFunc(os.Environ(),
		func(variable string) bool { return strings.HasPrefix(variable, "POWERTOOLS_") })
	p.cmd.Env = slices.Concat(outer, s.env)
	p.cmd.Stderr = t.Output() // by lines: a verdict is read at the beginning of one
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as Lambda does, without a word.
func (p *peer) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.cmd.Wait()
}

// gets sends the process a signal. After SIGSTOP, which is what Lambda does between two
// invocations, its handler neither ends nor renews a lease until SIGCONT.
func (p *peer) gets(signal syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
}

func (p *peer) say(v any) {
	p.t.Helper()
	require.NoError(p.t, json.NewEncoder(p.in).Encode(v), "%s has ended", p.name)
}

func (p *peer) hear() answer {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	require.NoError(p.t, err, "%s has ended", p.name)
	var a answer
	require.NoError(p.t, json.Unmarshal(line, &a), "%s says %s", p.name, line)
	return a
}

// asks sends an invocation.
func (p *peer) asks(a ask) {
	p.t.Helper()
	a.Language = p.language
	p.say(a)
}

// begin sends an invocation and returns what comes first: that the handler runs, or an answer
// without it.
func (p *peer) begin(a ask) answer {
	p.t.Helper()
	p.asks(a)
	return p.hear()
}

// enters begins an invocation whose handler has to run.
func (p *peer) enters(a ask) {
	p.t.Helper()
	got := p.begin(a)
	require.True(p.t, got.Entered, "%s does not execute: %s %s", p.name, got.Error, got.Cause)
}

// entersOnce sends an invocation until its handler runs. What is answered before is looked at.
func (p *peer) entersOnce(a ask, before func(answer)) {
	p.t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		got := p.begin(a)
		if got.Entered {
			return
		}
		before(got)
	}
	p.t.Fatalf("%s never executes", p.name)
}

// ends lets the running handler return a value, or fail, and returns the answer.
func (p *peer) ends(end told) answer {
	p.t.Helper()
	p.say(end)
	return p.hear()
}

func (p *peer) returns(result string) answer {
	p.t.Helper()
	return p.ends(told{Return: json.RawMessage(result)})
}

// executes runs a whole invocation whose handler has to run.
func (p *peer) executes(a ask, result string) {
	p.t.Helper()
	p.enters(a)
	got := p.returns(result)
	require.Empty(p.t, got.Error, "%s: %s", p.name, got.Cause)
	require.JSONEq(p.t, result, string(got.Returned))
}

// replays sends an invocation that has to be answered with this result, without an execution.
func (p *peer) replays(a ask, result string) {
	p.t.Helper()
	got := p.begin(a)
	require.False(p.t, got.Entered, "%s executes instead of replaying", p.name)
	require.Empty(p.t, got.Error, "%s: %s", p.name, got.Cause)
	require.JSONEq(p.t, result, string(got.Returned), p.name)
}

// refuses sends an invocation that has to be refused for this reason, without an execution.
func (p *peer) refuses(a ask, why refusal) {
	p.t.Helper()
	got := p.begin(a)
	require.False(p.t, got.Entered, "%s executes instead of refusing", p.name)
	require.Empty(p.t, got.Returned)
	require.Contains(p.t, []string{got.Error, got.Cause}, p.errors[why], "%s refuses as %s", p.name, why)
}

// peerVariable makes the test binary a peer.
const peerVariable = "INTEROP_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) == "" {
		os.Exit(m.Run())
	}
	if err := serve(os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goPeer is this library as a peer.
type goPeer struct {
	in  *json.Decoder
	out *json.Encoder
}

func serve(in io.Reader, out io.Writer) error {
	p := goPeer{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
	for {
		var a ask
		if err := p.in.Decode(&a); err != nil {
			return err
		}
		if err := p.out.Encode(p.invoke(a)); err != nil {
			return err
		}
	}
}

func (p goPeer) invoke(a ask) answer {
	ctx := context.Background()
	if a.RemainingMS != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*a.RemainingMS)*time.Millisecond)
		defer cancel()
	}
	client := dynamolocal.Client(os.Getenv(dynamolocal.EndpointVariable))
	store := dynamo.New(client, a.Table, a.Shape.config())
	var handler lambda.Handler = idempotent.Wrap(handlerOf[json.RawMessage, json.RawMessage](p, a), store,
		a.options()...)
	if a.HTTP {
		handler = idempotent.Wrap(handlerOf[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](p, a),
			store, a.options()...)
	}
	returned, err := handler.Invoke(ctx, a.Event)
	if err != nil {
		return answer{Error: errorType(err), Cause: err.Error()}
	}
	return answer{Returned: returned}
}

// errorType is the name that Lambda answers with.
func errorType(err error) string {
	name := fmt.Sprintf("%T", err)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// handlerOf is a handler that reports that it runs, and ends as it is told. Like many it does not
// look at its context.
func handlerOf[In, Out any](p goPeer, a ask) func(context.Context, In) (Out, error) {
	return func(context.Context, In) (out Out, err error) {
		if err := p.out.Encode(answer{Entered: true}); err != nil {
			return out, err
		}
		var end told
		if err := p.in.Decode(&end); err != nil {
			return out, err
		}
		switch {
		case end.Fail == "":
			return out, json.Unmarshal(end.Return, &out)
		case a.Uncertain:
			return out, idempotent.Uncertain(errors.New(end.Fail))
		default:
			return out, errors.New(end.Fail)
		}
	}
}

func (a ask) options() []idempotent.Option {
	mode := idempotent.Powertools{
		Language: idempotent.PowertoolsLanguage(a.Language), Prefix: a.Prefix, Hash: a.Hash,
		AllCallers: true,
	}
	if a.Prefix == "" && a.Language == "python" {
		mode.Function = "app.handler"
	}
	opts := []idempotent.Option{
		idempotent.WithPowertools(mode), idempotent.WithExactNames(),
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute}),
	}
	if a.KeyPath != "" {
		opts = append(opts, idempotent.WithKeyPath(a.KeyPath))
	}
	if a.ValidationPath != "" {
		opts = append(opts, idempotent.WithFingerprintPath(a.ValidationPath))
	}
	if a.ExpiresAfter != 0 {
		opts = append(opts, idempotent.WithRetention(time.Duration(a.ExpiresAfter)*time.Second))
	}
	return opts
}

func (s shape) config() dynamo.Config {
	c := dynamo.Config{Attributes: dynamo.Attributes{
		Key: s.Key, Status: s.Status, Expiration: s.Expiration, Lease: s.Lease, Data: s.Data, Validation: s.Validation,
	}}
	if s.Sort != "" {
		c.SortKey, c.Partition = s.Sort, s.Partition
	}
	return c
}
