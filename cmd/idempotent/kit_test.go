package main_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// What the tests of the program offer each other:
//
//	binary                  the program, built once
//	run, in, env            runs it, with standard input and with variables
//	golden                  compares a whole run with a file of testdata/golden; go test -update writes them
//	newTable, table.put     a table on DynamoDB Local; records in it
//	demoRecords             the records of the demo as they are now

var update = flag.Bool("update", false, "write the golden files")

var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "idempotent-cli")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		binary = filepath.Join(folder, "idempotent")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// result is what came of a run.
type result struct {
	out, err string
	code     int
}

// option changes a run.
type option func(*exec.Cmd)

func in(text string) option { return func(c *exec.Cmd) { c.Stdin = strings.NewReader(text) } }

func env(variables ...string) option {
	return func(c *exec.Cmd) { c.Env = append(c.Env, variables...) }
}

// limit is how long a run may take. Nothing here waits for anybody.
const limit = time.Minute

// command makes a run of the program with an environment of its own, in which AWS is nowhere.
func command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "AWS_EC2_METADATA_DISABLED=true", "USER=dana"}
	return c
}

func run(t *testing.T, args []string, opts ...option) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := command(ctx, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	for _, o := range opts {
		o(c)
	}
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// golden compares a run with a file. Times and what follows from them are replaced, unless they are
// those of the demo.
func golden(t *testing.T, name string, args []string, r result, replace func(string) string) {
	t.Helper()
	text := fmt.Sprintf("$ idempotent %s\n%s", quoted(args), r.out)
	if r.err != "" {
		text += "--- standard error\n" + r.err
	}
	text += fmt.Sprintf("--- exit code %d\n", r.code)
	if replace != nil {
		text = replace(text)
	}
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test -update writes it")
	assert.Equal(t, string(want), text)
}

func quoted(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " '\"$*<>|") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// timeless replaces what differs from run to run: instants, and how far they are.
func timeless(text string) string {
	for _, r := range []struct{ pattern, by string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "<time>"},
		{`\bin \d+[smhd]\b`, "in <time>"},
		{`\b\d+[smhd] ago\b`, "<time> ago"},
		{`\(now\)`, "(<time> ago)"},
		{`(?m)^(Seen +)[\w-]{16}$`, "${1}<seen>"},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.by)
	}
	// Columns are as wide as their texts.
	return regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ")
}

// table is a table on DynamoDB Local.
type table struct {
	name, endpoint string
	client         *dynamodb.Client
	store          *dynamo.Store
}

// newTable creates a table that lives as long as the test.
func newTable(t *testing.T, opts ...dynamo.Config) table {
	t.Helper()
	endpoint := dynamolocal.Endpoint(t)
	client := dynamolocal.Client(endpoint)
	name := "cli-" + regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(t.Name(), "-")
	require.NoError(t, dynamo.CreateTable(t.Context(), client, name, opts...))
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		assert.NoError(t, err)
	})
	return table{name, endpoint, client, dynamo.New(client, name, opts...)}
}

// put stores records as they are.
func (tb table) put(t *testing.T, records ...store.Record) {
	t.Helper()
	for _, r := range records {
		require.NoError(t, demo.Put(t.Context(), tb.store, r))
	}
}

func (tb table) get(t *testing.T, key string) store.Record {
	t.Helper()
	r, found, err := tb.store.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found, key)
	return r
}

// run runs the program on the table.
func (tb table) run(t *testing.T, args []string, opts ...option) result {
	t.Helper()
	return run(t, args, append([]option{tb.env()}, opts...)...)
}

// env is the environment of an operator of this table.
func (tb table) env() option {
	return env("IDEMPOTENCY_TABLE="+tb.name, "AWS_ENDPOINT_URL_DYNAMODB="+tb.endpoint, "AWS_REGION="+dynamolocal.Region,
		"AWS_ACCESS_KEY_ID="+dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY="+dynamolocal.AccessKey)
}

// demoRecords are the records of the demo as they would be now, with leases that are live for long
// enough.
func demoRecords(t *testing.T) []store.Record {
	t.Helper()
	records := demo.Records(t.Context(), time.Now().Truncate(time.Second))
	i := slices.IndexFunc(records, func(r store.Record) bool { return r.Key == "charge#in-progress" })
	records[i].Lease = records[i].Lease.Add(10 * time.Minute)
	return records
}

func recordOf(t *testing.T, key string) store.Record {
	t.Helper()
	records := demoRecords(t)
	i := slices.IndexFunc(records, func(r store.Record) bool { return r.Key == key })
	require.GreaterOrEqual(t, i, 0, key)
	return records[i]
}

func newMemory() store.Store { return memory.New() }

// unhurried gives the claim and the settlement a minute: what a command is tested for must not
// depend on how busy the machine is.
func unhurried() idempotent.Option {
	return idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute})
}
