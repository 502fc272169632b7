package docs_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/outbox"
)

// blocks are the pieces of a page in a language, in their order.
func blocks(page, language string) (found []string) {
	for _, match := range regexp.MustCompile("(?ms)^ *```"+language+"\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// flush is code without the indentation of its lines: an example stands deeper than its piece on a
// page.
func flush(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t ")
	}
	return strings.Join(lines, "\n")
}

// TestEverySnippetIsThatOfAnExample: examples compile, and the output of most is compared. A
// program is built by the tests below.
func TestEverySnippetIsThatOfAnExample(t *testing.T) {
	t.Parallel()
	var examples strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(name, "."):
			return fs.SkipDir
		case strings.HasPrefix(name, "example") && strings.HasSuffix(name, "_test.go"),
			strings.HasPrefix(path, "../examples/") && strings.HasSuffix(name, ".go"):
			fmt.Fprintln(&examples, flush(read(t, path)))
		}
		return nil
	}))
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	snippets := 0
	for _, page := range append(pages, "../README.md") {
		for _, code := range blocks(read(t, page), "go") {
			if strings.HasPrefix(code, "package ") {
				continue
			}
			snippets++
			if !strings.Contains(examples.String(), flush(code)) {
				t.Errorf("%s: in no example:\n%s", page, code)
			}
		}
	}
	assert.Greater(t, snippets, 30)
}

// TestTheProgramOfTheREADMEIsTheOneThatIsTested does what a reader does: the program of the README
// and the test of docs/start.md in a module of their own.
func TestTheProgramOfTheREADMEIsTheOneThatIsTested(t *testing.T) {
	t.Parallel()
	program, test := blocks(read(t, "../README.md"), "go")[0], blocks(read(t, "start.md"), "go")[0]
	folder := moduleOfAReader(t, map[string]string{"main.go": program, "main_test.go": test})
	inFolder(t, folder, "go", "vet", "-mod=mod", ".")
	assert.Empty(t, inFolder(t, folder, "gofmt", "-l", "."), "as gofmt has it")
	assert.Contains(t, inFolder(t, folder, "go", "test", "-mod=mod", "-count=1", "-v", "."),
		"--- PASS: TestTheCardIsChargedOnce")
}

// moduleOfAReader makes a module that requires this one, and returns its folder. The versions of
// what it imports are those of the examples.
func moduleOfAReader(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	const path = "github.com/go-idempotent/idempotent"
	here, err := filepath.Abs("..")
	require.NoError(t, err)
	module := read(t, "../examples/go.mod")
	module = strings.Replace(module, "module "+path+"/examples", "module example.com/reader", 1)
	module = regexp.MustCompile(`(?m)^replace .*$`).ReplaceAllString(module, "")
	module += "\nreplace " + path + " => " + here + "\n"

	folder = t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.sum"), []byte(read(t, "../examples/go.sum")), 0o600))
	return folder
}

// inFolder runs a command there, and returns what it says.
func inFolder(t *testing.T, folder string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(command, " "), out)
	return string(out)
}

func TestTheOutboxPageHasTheFilter(t *testing.T) {
	t.Parallel()
	assert.Contains(t, read(t, "outbox.md"), strings.ReplaceAll(outbox.StreamFilter, `"`, `\"`))
}

// TestEveryTestThatAPageNamesExists: a page that says which test shows something names it as it is
// called.
func TestEveryTestThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			tests.WriteString(read(t, path))
		}
		return err
	}))
	for _, page := range []string{"guarantees.md", "threats.md"} {
		for _, m := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(read(t, page), -1) {
			assert.Contains(t, tests.String(), "func "+m[1]+"(", page)
		}
	}
}

// TestTheExpressionsOfThePageSelect: two copies of a record that differ in what the page names are
// one request.
func TestTheExpressionsOfThePageSelect(t *testing.T) {
	t.Parallel()
	page := read(t, "batches.md")
	message := func(body string) events.SQSMessage { return events.SQSMessage{MessageId: "m", Body: body} }
	data := func(key, data string) events.KinesisEventRecord {
		return events.KinesisEventRecord{
			EventID: "e",
			Kinesis: events.KinesisRecord{PartitionKey: key, Data: []byte(data)},
		}
	}
	for expression, copies := range map[string][2]events.SQSMessage{
		"powertools_json(body).[order_id, amount]": {
			message(`{"order_id":"o","amount":1,"at":1}`),
			message(`{"order_id":"o","amount":1,"at":2}`),
		},
		"powertools_json(powertools_json(body).Message)": {
			message(`{"MessageId":"1","Message":"{\"a\":1}"}`),
			message(`{"MessageId":"2","Message":"{\"a\":1}"}`),
		},
		"powertools_json(body).detail": {
			message(`{"id":"1","detail":{"a":1}}`),
			message(`{"id":"2","detail":{"a":1}}`),
		},
	} {
		assert.Contains(t, page, `WithFingerprintPath("`+expression+`")`)
		assertOneRequest(t, copies, idempotent.WithFingerprintPath(expression))
	}
	const ofData = "powertools_json(powertools_base64(kinesis.data))"
	assert.Contains(t, page, `WithFingerprintPath("`+ofData+`")`)
	assert.Contains(t, page, `WithKeyPath("`+ofData+`.order_id")`)
	assertOneRequest(t, [2]events.KinesisEventRecord{data("1", `{"order_id":"o"}`), data("2", `{"order_id":"o"}`)},
		idempotent.WithKeyPath(ofData+".order_id"), idempotent.WithFingerprintPath(ofData))
}

func assertOneRequest[R any](t *testing.T, copies [2]R, opts ...idempotent.Option) {
	t.Helper()
	h := idempotent.Wrap(func(context.Context, R) (string, error) { return "", nil }, memory.New(),
		append(opts, idempotent.WithOperation("ship"))...)
	first, err := h.Describe(t.Context(), copies[0])
	require.NoError(t, err)
	second, err := h.Describe(t.Context(), copies[1])
	require.NoError(t, err)
	assert.Equal(t, first, second)
}
