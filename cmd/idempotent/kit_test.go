package main_test

import (
	"bytes"
	"context"
	"crypto/rand"
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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/store"
)

// What the tests of the program offer each other:
//
//	run, runs               run the program, with the arguments as a shell reads them; runs wants exit code 0
//	in, env                 standard input, and variables
//	session                 runs what a file of testdata/golden begins with, and compares; -update writes them
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

// command makes a run of a shell with an environment of its own, in which AWS is nowhere.
func command(ctx context.Context, line string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	c.Env = []string{
		"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "HOME=/nowhere", "AWS_EC2_METADATA_DISABLED=true",
		"USER=dana",
	}
	return c
}

// program is a line of a shell that becomes the program.
func program(args string) string { return "exec idempotent " + args }

func run(t *testing.T, args string, opts ...option) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := command(ctx, program(args))
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

// runs runs what has to succeed.
func runs(t *testing.T, args string, opts ...option) result {
	t.Helper()
	r := run(t, args, opts...)
	require.Zero(t, r.code, "%s: %s%s", args, r.out, r.err)
	return r
}

const prompt = "$ idempotent "

// session runs the command that a file of testdata/golden begins with, and compares what it prints
// with the rest. Names are pairs of what differs from run to run and what the file has instead;
// with them it is a session of now, whose times are replaced, too.
func session(t *testing.T, name string, names []string, opts ...option) result {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(want), "\n")
	back := slices.Clone(names)
	slices.Reverse(back)
	args := strings.NewReplacer(back...).Replace(strings.TrimPrefix(first, prompt))
	r := run(t, args, opts...)
	text := prompt + args + "\n" + r.out
	if r.err != "" {
		text += "--- standard error\n" + r.err
	}
	text += fmt.Sprintf("--- exit code %d\n", r.code)
	if names != nil {
		text = timeless(strings.NewReplacer(names...).Replace(text))
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return r
	}
	assert.Equal(t, string(want), text, "go test -update writes it")
	return r
}

// timeless replaces what differs from run to run: instants, and how far they are.
func timeless(text string) string {
	for _, r := range []struct{ pattern, by string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "<time>"},
		{`\bin \d+[smhd]\b`, "in <time>"},
		{`\b\d+[smhd] ago\b`, "<time> ago"},
		{`\(now\)`, "(<time> ago)"},
		{` {2,}now\b`, "  <time> ago"},
		{`\b24h0m[01]s`, "<retention>"},
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
	// env is the environment of an operator of the table.
	env option
}

// newTable creates a table of records that lives as long as the test.
func newTable(t *testing.T, opts ...dynamo.Config) table {
	t.Helper()
	tb := created(t, func(client *dynamodb.Client, name string) error {
		return dynamo.CreateTable(t.Context(), client, name, opts...)
	})
	tb.store = dynamo.New(tb.client, tb.name, opts...)
	return tb
}

// created is a table that something else creates, without a store.
func created(t *testing.T, create func(client *dynamodb.Client, name string) error) table {
	t.Helper()
	endpoint := dynamotest.Endpoint(t)
	client, name := dynamolocal.Client(endpoint), "cli-"+rand.Text()
	require.NoError(t, create(client, name))
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		assert.NoError(t, err)
	})
	return table{name: name, endpoint: endpoint, client: client, env: env(
		"IDEMPOTENCY_TABLE="+name, "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, "AWS_REGION="+dynamolocal.Region,
		"AWS_ACCESS_KEY_ID="+dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY="+dynamolocal.AccessKey)}
}

// item is what the table has under a key, and putItem puts what no record is.
type item = map[string]types.AttributeValue

func (tb table) item(t *testing.T, key string) item {
	t.Helper()
	out, err := tb.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &tb.name, Key: item{"id": text(key)}})
	require.NoError(t, err)
	return out.Item
}

func (tb table) putItem(t *testing.T, it item) {
	t.Helper()
	_, err := tb.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &tb.name, Item: it})
	require.NoError(t, err)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// put stores records as executions would have left them: steps are written under a claim.
func (tb table) put(t *testing.T, records ...store.Record) {
	t.Helper()
	for _, r := range records {
		first, last := r, r
		if len(r.Steps) > 0 {
			first.Status, first.Reason, first.Steps, first.StepWrites = store.StatusInProgress, "", nil, 0
			first.Attention, first.AttentionAt, first.Derived = "", time.Time{}, nil
		}
		_, claimed, err := tb.store.Claim(t.Context(), first, r.CreatedAt)
		require.NoError(t, err)
		require.True(t, claimed, r.Key)
		if len(r.Steps) > 0 {
			stepped := first
			stepped.Steps, last.Steps = r.Steps, nil
			for _, next := range []store.Record{stepped, last} {
				_, swapped, err := tb.store.Swap(t.Context(), first, next)
				require.NoError(t, err)
				require.True(t, swapped)
				first = stepped
				first.StepWrites = r.StepWrites
			}
		}
	}
}

// replace puts a record instead of the one that is there.
func (tb table) replace(t *testing.T, r store.Record) {
	t.Helper()
	deleted, err := tb.store.Delete(t.Context(), tb.get(t, r.Key))
	require.NoError(t, err)
	require.True(t, deleted)
	tb.put(t, r)
}

func (tb table) get(t *testing.T, key string) store.Record {
	t.Helper()
	r, found, err := tb.store.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found, key)
	return r
}

// run runs the program on the table, and runs what has to succeed there.
func (tb table) run(t *testing.T, args string, opts ...option) result {
	t.Helper()
	return run(t, args, append([]option{tb.env}, opts...)...)
}

func (tb table) runs(t *testing.T, args string, opts ...option) result {
	t.Helper()
	return runs(t, args, append([]option{tb.env}, opts...)...)
}

// demoRecords are the records of the demo as they would be now, with leases that are live for long
// enough.
func demoRecords(t *testing.T) []store.Record {
	t.Helper()
	records := demo.Records(time.Now().Truncate(time.Second))
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

// unhurried gives the claim and the settlement a minute: what a command is tested for must not
// depend on how busy the machine is.
func unhurried() idempotent.Option {
	return idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute})
}
