package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// events are lines of go test -json: a test that fails in a subtest, one that is skipped, one that
// passes, a package that does not build, and one that a panic ends outside of its tests.
const events = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/deep/er"}
{"Action":"output","Package":"p","Test":"TestA/deep/er","Output":"it is wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA/deep/er"}
{"Action":"fail","Package":"p","Test":"TestA/deep"}
{"Action":"pass","Package":"p","Test":"TestA/other"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"no database\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC/sub"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
{"ImportPath":"q [q.test]","Action":"build-output","Output":"undefined: x\n"}
{"ImportPath":"q [q.test]","Action":"build-fail"}
{"Action":"fail","Package":"q","FailedBuild":"q [q.test]"}
{"Action":"output","Package":"r","Test":"TestD/sub","Output":"panic: inside of a bubble\n"}
{"Action":"output","Package":"r","Output":"panic: outside\n"}
{"Action":"fail","Package":"r"}
{"Action":"skip","Package":"without tests"}
`

func TestTestsAreCountedAndFailuresNamed(t *testing.T) {
	t.Parallel()
	var c tally
	var out bytes.Buffer
	require.NoError(t, c.read(&out, strings.NewReader(events), false))
	assert.Equal(t, tally{1, 3, 1, []failure{{"p", "TestA/deep/er"}, {"q", "(the package)"}, {"r", "(the package)"}}},
		c)
	for _, text := range []string{"it is wrong", "undefined: x", "panic: outside", "panic: inside of a bubble"} {
		assert.Contains(t, out.String(), text)
	}
	assert.NotContains(t, out.String(), "no database")

	c = tally{}
	out.Reset()
	require.NoError(t, c.read(&out, strings.NewReader(events), true))
	assert.Equal(t, 4, c.failed)
	assert.Zero(t, c.skipped)
	assert.Contains(t, c.failures, failure{"p", "TestB (was skipped)"})
	assert.Contains(t, out.String(), "no database", "why")
}

func TestAFailureEndsNoRing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := course{out: &out, root: t.TempDir()}
	for _, s := range []stage{
		{name: "first", command: []string{"sh", "-c", "exit 3"}},
		{name: "second", command: []string{"true"}},
		{name: "third", why: "nothing has changed"},
	} {
		c.run(t.Context(), s)
	}
	require.ErrorIs(t, c.conclude(), errFailed)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Equal(t, "0 passed, 1 failed, 0 skipped", lines[len(lines)-1])
	assert.Contains(t, out.String(), "\nok      second")
	assert.Contains(t, out.String(), "FAILED\n  first  exit status 3\n")
	assert.Contains(t, out.String(), "left out: third: nothing has changed\n")
}

// TestWhatWaitsRunsBesideTheOthers: each of the two ends only beside the other.
func TestWhatWaitsRunsBesideTheOthers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := course{out: &out, root: t.TempDir()}
	meets := func(mine, other string) []string {
		return []string{"sh", "-c", "touch " + mine + "; until test -e " + other + "; do sleep 0.01; done"}
	}
	c.follow(t.Context(), []stage{
		{name: "waiting", command: meets("a", "b"), waits: true},
		{name: "computing", command: meets("b", "a")},
		{name: "waiting in vain", command: []string{"false"}, waits: true},
		{name: "waiting for nothing", why: "nothing has changed", waits: true},
	})
	require.ErrorIs(t, c.conclude(), errFailed)
	assert.Equal(t, []failure{{"waiting in vain", "exit status 1"}}, c.failures)
	for _, line := range []string{"ok      waiting ", "ok      computing ", "FAILED  waiting in vain "} {
		assert.Equal(t, 2, strings.Count(out.String(), line), "%s: as it ends, and in the table", line)
	}
	assert.Contains(t, out.String(), "left out: waiting for nothing: nothing has changed\n")
	assert.Contains(t, out.String(), "\n0 passed, 1 failed, 0 skipped\n")
}

// TestAPatternThatMatchesNothingProvesNothing: what was renamed would be left out for ever.
func TestAPatternThatMatchesNothingProvesNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := course{out: &out, root: "../.."}
	c.run(t.Context(), stage{name: "renamed", test: plainly("-run=^TestNoSuchTest$", "./internal/fold")})
	assert.Equal(t, []failure{{"renamed", "no test has run"}}, c.failures)
}

// TestAnInterruptReachesAllThatWasStarted: also what a stage has started behind its back.
func TestAnInterruptReachesAllThatWasStarted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	c := course{out: new(bytes.Buffer), root: folder}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx, stage{
			name: "long",
			command: []string{
				"sh", "-c",
				`sh -c 'trap "touch ended; exit" TERM; touch begun; while :; do sleep 0.05; done' & wait`,
			},
		})
	}()
	there := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(folder, name)); return err == nil }
	}
	require.Eventually(t, there("begun"), time.Minute, 10*time.Millisecond)
	cancel()
	require.Eventually(t, there("ended"), time.Minute, 10*time.Millisecond)
	<-done
}

// TestWhatAProgramIsBuiltFromConcernsIt, and nothing else.
func TestWhatAProgramIsBuiltFromConcernsIt(t *testing.T) {
	t.Parallel()
	r := &repository{root: "../..", modules: []string{".", "examples", "proof"}}
	all := packages{needs: map[string][]string{
		"examples/charge": {"dynamo", "examples/charge"}, "proof/e2e": {"proof/e2e"}, "proof/interop": {"store"},
		"dynamo": {"dynamo"},
	}}
	left := func(file string) (why []string) {
		for _, s := range r.concerned(all, change{files: []string{file}}) {
			if s.why == "" {
				why = append(why, s.name)
			}
		}
		return why
	}
	assert.Equal(t, []string{"end to end", "controls"}, left("dynamo/store.go"))
	assert.Equal(t, []string{"end to end", "controls"}, left("proof/e2e/kill_test.go"))
	assert.Equal(t, []string{"controls"}, left("README.md"))
}

// TestWhereGoroutinesMeetIsReadFromTheSources: in a whole package, also through what it imports, or
// in some of its tests.
func TestWhereGoroutinesMeetIsReadFromTheSources(t *testing.T) {
	t.Parallel()
	r := &repository{root: t.TempDir()}
	for file, text := range map[string]string{
		"lease/lease.go":          "package lease; func begin() { go func() {}() }",
		"internal/relay/relay.go": "package relay; import \"sync\"; func all() { new(sync.WaitGroup).Go(nil) }",
		"internal/table/table.go": "package table; func Create() {}",
		"outbox/outbox.go":        "package outbox",
		"dynamo/dynamo.go":        "package dynamo; func Get() {}",
		"dynamo/dynamo_test.go":   "package dynamo; func TestGet() { Get() }",
		"dynamo/at_once_test.go":  "package dynamo; func both() { go Get() }; func TestBoth() { both() }; func TestOne() {}",
		"dynamo/conforms_test.go": "package dynamo; func TestStore() { storetest.Run() }",
		"dynamo/entry_test.go":    "package dynamo; func TestMain() { go Get() }",
	} {
		path := filepath.Join(r.root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	all := packages{imports: map[string][]string{
		"outbox": {"internal/relay", "lease"}, "dynamo": {"internal/table", "lease"},
	}}
	for folder, want := range map[string]bool{"lease": true, "outbox": true, "internal/relay": true, "dynamo": false} {
		anywhere, _, err := r.meetings(all, folder)
		require.NoError(t, err)
		assert.Equal(t, want, anywhere, folder)
	}
	_, tests, err := r.meetings(all, "dynamo")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"TestBoth", "TestStore"}, tests)
}

func TestAFileBelongsToThePackageAroundIt(t *testing.T) {
	t.Parallel()
	r := &repository{modules: []string{".", "proof"}}
	p := packages{needs: map[string][]string{".": {"."}, "store": {"store"}, "proof/wire": {"proof/wire", "store"}}}
	for file, want := range map[string]map[string]bool{
		"store/store.go":                {"store": true},
		"store/testdata/deep/file.json": {"store": true},
		"wrap.go":                       {".": true},
		"docs/http.md":                  {},
		"proof/go.sum":                  {"proof/wire": true},
		"go.mod":                        {".": true, "store": true},
	} {
		assert.Equal(t, want, p.touched(r, []string{file}), file)
	}
}

func TestTheCardsAreDealt(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c", "d", "e"}
	assert.Equal(t, []string{"b", "d"}, dealt(all, 2, 2))
	assert.Equal(t, all, dealt(all, 1, 1))
	part, parts, err := shard("2/8")
	require.NoError(t, err)
	assert.Equal(t, []int{2, 8}, []int{part, parts})
	for _, text := range []string{"2", "0/8", "9/8", "a/b", "2/"} {
		_, _, err := shard(text)
		require.Error(t, err, text)
	}
}

// history is a repository with a commit of three days ago, one of now, and a file that is in none.
func history(t *testing.T) *repository {
	t.Helper()
	r := &repository{ctx: t.Context(), root: t.TempDir()}
	git := func(when string, args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir, cmd.Env = r.root, append(os.Environ(), "GIT_COMMITTER_DATE="+when, "GIT_AUTHOR_DATE="+when)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	write := func(name string) {
		require.NoError(t, os.WriteFile(filepath.Join(r.root, name), []byte(name), 0o600))
	}
	git("", "init", "-q", "-b", "main")
	write("old.go")
	git("", "add", "-A")
	git("2026-01-01T12:00:00Z", "commit", "-qm", "old")
	write("committed.go")
	git("", "add", "-A")
	git("2026-01-04T12:00:00Z", "commit", "-qm", "new")
	write("uncommitted.go")
	return r
}

func TestAChangeIsWhatIsYoungerThanADay(t *testing.T) {
	r := history(t)
	t.Setenv("BASE", "")
	c, err := r.change()
	require.NoError(t, err)
	assert.Equal(t, []string{"committed.go", "uncommitted.go"}, c.files)

	t.Setenv("BASE", "HEAD")
	c, err = r.change()
	require.NoError(t, err)
	assert.Equal(t, []string{"uncommitted.go"}, c.files)

	t.Setenv("BASE", "")
	_, err = r.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
	require.NoError(t, err)
	c, err = r.change()
	require.NoError(t, err)
	assert.Equal(t, "where the branch left origin/main", c.why)
	assert.Equal(t, []string{"committed.go", "uncommitted.go"}, c.files)
}

func TestWhatPassedOnTheSameContentIsNotRunAgain(t *testing.T) {
	t.Parallel()
	r := history(t)
	s := stage{name: "one", command: []string{"sh", "-c", "echo ran"}}
	ran := func() bool {
		m, err := r.remember()
		require.NoError(t, err)
		var out bytes.Buffer
		c := course{out: &out, root: r.root, memory: m}
		c.run(t.Context(), s)
		require.Empty(t, c.failures)
		return strings.Contains(out.String(), "ran\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.root, ".gitignore"), []byte(".tools\n"), 0o600))
	assert.True(t, ran())
	assert.False(t, ran())
	require.NoError(t, os.WriteFile(filepath.Join(r.root, "uncommitted.go"), []byte("other"), 0o600))
	assert.True(t, ran())
	s.command[2] = "false"
	assert.False(t, func() bool { m, _ := r.remember(); return m.has(s) }(), "another command")
}

func TestTheTemplatesAreCheckedIfAFileOfThemIsTouched(t *testing.T) {
	t.Parallel()
	r := &repository{root: "../.."}
	for file, want := range map[string]bool{
		"template.yaml": true, ".ci/template": true, "deploy/terraform/main.tf": true, "README.md": false,
		"internal/protocol/judge.go": false, "cmd/idempotent/main.go": true, "cmd/idempotent/main_test.go": false,
	} {
		assert.Equal(t, want, r.deployed(file), file)
	}
}
