package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const aboutPowertools = "A delivery of the POST of 3 KB under AWS Powertools for Python and TypeScript, beside this library: the same event " +
	"and result, from the bytes of the event to those of the answer, in processes of their own that are warm. The ratio is to this " +
	"library; own is what stands above the calls of the same language made by hand, with the same inputs. Powertools notices that a " +
	"key comes with another request only where the payload is validated; this library always does."

// measurePowertools compares without a network.
func measurePowertools(rounds int) (table, error) {
	t, err := measureLanguages(fakeBackend(), "", rounds)
	t.about = aboutPowertools + " DynamoDB is played at once below HTTP in all of them: the time is that of the language and the SDK."
	return t, err
}

// measurePowertoolsOnDynamoDB compares on one table.
func measurePowertoolsOnDynamoDB(rounds int) (t table, err error) {
	b, closeTable, err := localBackend()
	if err != nil {
		return table{}, err
	}
	defer func() { err = errors.Join(err, closeTable()) }()
	t, err = measureLanguages(b, os.Getenv(dynamolocal.EndpointVariable), rounds)
	t.about = aboutPowertools + " All on one table of DynamoDB Local, whose own time does not count."
	return t, err
}

func measureLanguages(b backend, endpoint string, rounds int) (_ table, err error) {
	peers, err := startPeers(b.connect().table, endpoint)
	if err != nil {
		return table{}, err
	}
	defer func() { err = errors.Join(err, peers.close()) }()
	if rounds != onlyOnce {
		if err := peers.warmUp(); err != nil {
			return table{}, err
		}
	}
	whole := table{}
	for _, r := range []result{orders("1 KB", 1<<10), orders("20 KB", 20<<10), orders("100 KB", 100<<10)} {
		for _, replay := range []bool{false, true} {
			cases, err := languageCases(b, peers, r, replay)
			if err != nil {
				return table{}, err
			}
			t, err := compareLanguages(cases, rounds)
			if err != nil {
				return table{}, err
			}
			heading := "first execution, " + r.name
			if replay {
				heading = "replay, " + r.name
			}
			whole.add(heading, t)
		}
	}
	return whole, nil
}

// languageCase is a way to deliver, in this process or in another one.
type languageCase struct {
	name string
	// raw is the name of the case with the calls by hand in the same language.
	raw string
	// take delivers n times and returns the processor time of it all, of the process that did it.
	take func(n int) (time.Duration, error)
}

const (
	oursByHand = "Go: calls by hand"
	oursName   = "Go: this library"
)

func languageCases(b backend, peers peers, r result, replay bool) ([]languageCase, error) {
	cases, err := ourCases(b, r, replay)
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		cases = append(cases, p.cases(r, replay)...)
	}
	return cases, nil
}

// cases are those of the scripts.
func (p *peer) cases(r result, replay bool) []languageCase {
	var cases []languageCase
	raw := p.language + ": calls by hand"
	for _, c := range []struct{ name, wire string }{
		{raw, "raw"},
		{p.language + ": Powertools, key", "key"},
		{p.language + ": Powertools, key and validation", "validated"},
	} {
		ask := ask{Case: c.wire, Replay: replay, Payload: string(newEvent().payload), Digits: keyDigits, Response: asJSON(r.response)}
		check := (&shop{response: r.response}).check
		cases = append(cases, languageCase{name: c.name, raw: raw, take: func(n int) (time.Duration, error) {
			return p.measure(ask, n, check)
		}})
	}
	return cases
}

func (all peers) warmUp() error {
	for _, p := range all {
		for _, replay := range []bool{false, true} {
			for _, c := range p.cases(orders("1 KB", 1<<10), replay) {
				if _, err := c.take(longWarmth); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
	}
	return nil
}

func ourCases(b backend, r result, replay bool) ([]languageCase, error) {
	var cases []languageCase
	for _, of := range []struct {
		name    string
		subject func(result, connection) *subject
	}{{oursByHand, handmade}, {oursName, wrapped}} {
		c := b.connect()
		s := of.subject(r, c)
		run := s.executions
		if replay {
			key, err := s.rehearsedReplay(c)
			if err != nil {
				return nil, err
			}
			run = s.replays(key)
		} else if err := s.rehearsedExecution(c); err != nil {
			return nil, err
		}
		cases = append(cases, languageCase{name: of.name, raw: oursByHand, take: func(n int) (time.Duration, error) {
			began := processorTime()
			err := run(n)
			return processorTime() - began, err
		}})
	}
	return cases, nil
}

const (
	// warmth is how many deliveries come before the first that counts, in each case of each comparison. Just-in-time
	// compilers take a while, so new processes get longWarmth of each kind before.
	warmth, longWarmth = 200, 1000
	// turnTime is about how long one case works in one round. Collections of garbage are seldom, compared with Go.
	turnTime = 3 * roundTime
)

// compareLanguages lets the cases take turns.
func compareLanguages(cases []languageCase, rounds int) (table, error) {
	counts := make([]int, len(cases))
	for i, c := range cases {
		counts[i] = 1
		if rounds == onlyOnce {
			continue
		}
		took, err := c.take(warmth)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", c.name, err)
		}
		counts[i] = max(1, int(warmth*turnTime/max(took, 1)))
	}
	samples := make(map[string][]sample)
	for range max(rounds, 1) {
		for i, c := range cases {
			took, err := c.take(counts[i])
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", c.name, err)
			}
			samples[c.name] = append(samples[c.name], sample{nanoseconds: float64(took) / float64(counts[i])})
		}
	}
	t := table{header: columns[:5]}
	for _, c := range cases {
		toOurs, toRaw := compare(samples[c.name], samples[oursName], 0), compare(samples[c.name], samples[c.raw], 0)
		row := []string{c.name, fmt.Sprintf("%.1f", toOurs.ratio), fmt.Sprintf("%.0f%%", 100*toOurs.spread), micros(toRaw.own), micros(toRaw.whole)}
		if c.name == c.raw {
			row[3] = ""
		}
		if c.name == oursName {
			row[2] = ""
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

// ask is one measurement by a peer, see powertools/bench.py.
type ask struct {
	Case     string          `json:"case"`
	Replay   bool            `json:"replay"`
	Key      uint64          `json:"key"`
	N        int             `json:"n"`
	Payload  string          `json:"payload"`
	Digits   string          `json:"digits"`
	Response json.RawMessage `json:"response"`
}

// peer is a process in another language. It belongs to one goroutine.
type peer struct {
	language string
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
}

// measure lets the peer deliver, and looks at the answer and at how often the handler ran.
func (p *peer) measure(a ask, n int, check func(answer []byte) error) (time.Duration, error) {
	a.N, a.Key = n, lastKey.Add(uint64(n))-uint64(n)+1
	line, err := json.Marshal(a)
	if err != nil {
		return 0, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return 0, fmt.Errorf("it has ended: %w", err)
	}
	if line, err = p.out.ReadBytes('\n'); err != nil {
		return 0, fmt.Errorf("it has ended: %w", err)
	}
	var told struct {
		Nanoseconds time.Duration   `json:"nanoseconds"`
		Executed    int             `json:"executed"`
		Answer      json.RawMessage `json:"answer"`
	}
	if err := json.Unmarshal(line, &told); err != nil {
		return 0, fmt.Errorf("it says %.200s: %w", line, err)
	}
	wanted := n
	if a.Replay {
		wanted = 0
	}
	if told.Executed != wanted {
		return 0, fmt.Errorf("%d deliveries executed %d times, not %d", n, told.Executed, wanted)
	}
	return told.Nanoseconds, check(told.Answer)
}

func (p *peer) close() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

type peers []*peer

func (all peers) close() (err error) {
	for _, p := range all {
		err = errors.Join(err, p.close())
	}
	return err
}

// The packages are those that make interop has installed, pinned there.
const (
	toolsFolder = "../.tools"
	pinsFolder  = "../proof/interop/peer"
)

// startPeers starts a process for each language. The endpoint is empty for the fakes of the scripts.
func startPeers(table, endpoint string) (all peers, err error) {
	python, err := installed("interop-venv", "requirements.txt")
	if err != nil {
		return nil, err
	}
	node, err := installed("interop-node", "package-lock.json")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "powertools-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the processes have read it by then
	script, err := besidePackages(folder, node)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		language string
		command  []string
	}{
		{"Python", []string{filepath.Join(python, "bin", "python"), filepath.Join("powertools", "bench.py")}},
		{"TypeScript", []string{"node", script}},
	} {
		started, err := startPeer(p.language, p.command, environment(table, endpoint))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %s: %w", errNotHere, p.language, err), all.close())
		}
		all = append(all, started)
	}
	return all, nil
}

// besidePackages copies the script for Node, which looks for packages beside it, into a folder with a link to them.
func besidePackages(folder, node string) (script string, err error) {
	text, err := os.ReadFile(filepath.Join("powertools", "bench.mjs"))
	if err != nil {
		return "", err
	}
	script = filepath.Join(folder, "bench.mjs")
	return script, errors.Join(
		os.Symlink(filepath.Join(node, "node_modules"), filepath.Join(folder, "node_modules")), os.WriteFile(script, text, 0o600))
}

// startPeer starts a process and waits until it is ready.
func startPeer(language string, command, environment []string) (*peer, error) {
	p := &peer{language: language, cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env, p.cmd.Stderr = environment, os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("it does not start: %w", err), p.close())
	}
	return p, nil
}

// installed is a folder with what a list of pinned packages names.
func installed(name, list string) (string, error) {
	folder, err := filepath.Abs(filepath.Join(toolsFolder, name))
	if err != nil {
		return "", err
	}
	pinned, err := os.ReadFile(filepath.Join(pinsFolder, list))
	if err != nil {
		return "", fmt.Errorf("%w: %w: run it in the folder bench", errNotHere, err)
	}
	has, err := os.ReadFile(filepath.Join(folder, "made-from"))
	if err != nil || !bytes.Equal(has, pinned) {
		return "", fmt.Errorf("%w: the packages of AWS Powertools in %s are not there, or not the pinned ones: run make interop", errNotHere, folder)
	}
	return folder, nil
}

func environment(table, endpoint string) []string {
	return []string{
		"IDEMPOTENCY_TABLE=" + table, "DYNAMODB_ENDPOINT=" + endpoint, "AWS_LAMBDA_FUNCTION_NAME=bench",
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		"AWS_REGION=" + dynamolocal.Region, "AWS_DEFAULT_REGION=" + dynamolocal.Region, "NODE_NO_WARNINGS=1",
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(),
	}
}
