package idempotent_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// readme is the page that everybody sees first.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// blocks are the pieces of a page in a language, in their order.
func blocks(page, language string) (found []string) {
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// TestTheFirstProgramOfTheREADMECompiles builds it as a reader does: alone in a module that requires this one.
func TestTheFirstProgramOfTheREADMECompiles(t *testing.T) {
	t.Parallel()
	programs := blocks(readme(t), "go")
	require.NotEmpty(t, programs)
	folder := moduleOfAReader(t, map[string]string{"main.go": programs[0]})
	inFolder(t, folder, nil, "go", "build", "-mod=mod", "-o", os.DevNull, ".")
	inFolder(t, folder, nil, "go", "vet", "-mod=mod", ".")
	assert.Empty(t, inFolder(t, folder, nil, "gofmt", "-l", "."), "as gofmt has it")
}

// moduleOfAReader makes a module that requires this one, and returns its folder. The versions of what it imports are those
// of the examples, so nothing has to be fetched.
func moduleOfAReader(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	module, err := os.ReadFile("examples/go.mod")
	require.NoError(t, err)
	sums, err := os.ReadFile("examples/go.sum")
	require.NoError(t, err)
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	const path = "github.com/go-idempotent/idempotent"
	theirs := strings.NewReplacer("module "+path+"/examples", "module example.com/reader", path+" => ../", path+" => "+here).
		Replace(string(module))

	folder = t.TempDir()
	files = maps.Clone(files)
	files["go.mod"], files["go.sum"] = theirs, string(sums)
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return folder
}

// inFolder runs a command there, and returns what it says.
func inFolder(t *testing.T, folder string, env []string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, slices.Concat(os.Environ(), []string{"GOFLAGS=", "GOWORK=off", "GOPROXY=off"}, env)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(command, " "), out)
	return string(out)
}

// runByAReader checks the programs of such a module and runs their tests on DynamoDB Local. It returns what the tests say.
func runByAReader(t *testing.T, folder string) string {
	t.Helper()
	inFolder(t, folder, nil, "go", "vet", "-mod=mod", "./...")
	assert.Empty(t, inFolder(t, folder, nil, "gofmt", "-l", "."), "as gofmt has it")
	return inFolder(t, folder, []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamolocal.Endpoint(t), "AWS_REGION=" + dynamolocal.Region,
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
	}, "go", "test", "-mod=mod", "-count=1", "-v", "./...")
}

func TestTheFirstMinuteBeginsWithNothing(t *testing.T) {
	t.Parallel()
	_, minute, found := strings.Cut(readme(t), "\n## A minute")
	require.True(t, found)
	commands := strings.Split(blocks(minute, "sh")[0], "\n")
	assert.Equal(t, "git clone https://github.com/go-idempotent/idempotent", commands[0])
	assert.Equal(t, "cd idempotent", commands[1])
	assert.Regexp(t, `^make run\b`, commands[2])

	module, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
	before, _, _ := strings.Cut(minute, "```")
	assert.Contains(t, before, "Go "+version+" or later")
}

// terms are the words of this module, as expressions: whoever comes for the first time does not know them, or knows them in
// another sense.
var terms = []string{
	`keys?`, `records?`, `deliver(y|ies)`, `repla(y|ys|yed)`, `scopes?`, `fingerprints?`, `claim(s|ed)?`, `leases?`, `executions?`,
	`releas(e|es|ed)`, `retention`, `takeovers?|taken over`, `UNKNOWN`, `settl(e|es|ed)`, `operations?`, `derived keys?`,
	`problem documents?`, `tenants?`, `owners?`, `seals?`, `margin`, `steps?`, `commits?`,
}

// TestNoWordStandsInTheREADMEBeforeItIsExplained: a word is explained where it stands in italics. Names in code are no words.
func TestNoWordStandsInTheREADMEBeforeItIsExplained(t *testing.T) {
	t.Parallel()
	page := regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`").ReplaceAllStringFunc(readme(t), func(code string) string {
		return strings.Repeat("#", len(code))
	})
	page, _, found := strings.Cut(page, "\n## Options")
	require.True(t, found, "from there on it is a reference")
	for _, term := range terms {
		word := regexp.MustCompile(`(?i)\b(` + term + `)\b`)
		if term == `UNKNOWN` {
			word = regexp.MustCompile(`\bUNKNOWN\b`)
		}
		at := word.FindStringIndex(page)
		if at == nil {
			continue
		}
		line := 1 + strings.Count(page[:at[0]], "\n")
		assert.Regexp(t, `^\*[a-zA-Z ]+\*$`, page[max(at[0]-1, 0):min(at[1]+1, len(page))],
			"README.md:%d: %s is not explained yet", line, page[at[0]:at[1]])
	}
}
