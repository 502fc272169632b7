package main

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/changes"
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
	assert.Equal(t, tally{1, 3, 1, []string{"p  TestA/deep/er", "q  (the package)", "r  (the package)"}}, c)
	for _, text := range []string{"it is wrong", "undefined: x", "panic: outside", "panic: inside of a bubble"} {
		assert.Contains(t, out.String(), text)
	}
	assert.NotContains(t, out.String(), "no database")

	c = tally{}
	out.Reset()
	require.NoError(t, c.read(&out, strings.NewReader(events), true))
	assert.Equal(t, 4, c.failed)
	assert.Zero(t, c.skipped)
	assert.Contains(t, c.failures, "p  TestB (was skipped)")
	assert.Contains(t, out.String(), "no database", "why")
}

// TestWhatWaitsRunsBesideTheOthers: each of two ends only beside the other, and what fails ends
// nothing.
func TestWhatWaitsRunsBesideTheOthers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := course{out: &out, root: t.TempDir()}
	meets := func(mine, other string) []string {
		return []string{"sh", "-c", "touch " + mine + "; until test -e " + other + "; do sleep 0.01; done"}
	}
	c.follow(t.Context(), []stage{
		{name: "first", command: []string{"sh", "-c", "exit 3"}},
		{name: "waiting in vain", command: []string{"false"}, beside: true},
		{name: "waiting", command: meets("a", "b"), beside: true},
		{name: "computing", command: meets("b", "a")},
		{name: "left", why: "nothing has changed"},
		{name: "left, too", why: "nothing has changed", beside: true},
	})
	require.ErrorIs(t, c.conclude(), errFailed)
	assert.ElementsMatch(t, []string{"first  exit status 3", "waiting in vain  exit status 1"}, c.failures)
	for _, line := range []string{"ok      waiting ", "ok      computing ", "FAILED  first ", "FAILED  waiting in "} {
		assert.Equal(t, 2, strings.Count(out.String(), line), "%s: as it ends, and in the table", line)
	}
	assert.Contains(t, out.String(), "left out: left: nothing has changed\n")
	assert.Contains(t, out.String(), "left out: left, too: nothing has changed\n")
	assert.Contains(t, out.String(), "\nFAILED\n  ")
	assert.True(t, strings.HasSuffix(out.String(), "\n0 passed, 2 failed, 0 skipped\n"))
}

// TestAPatternThatMatchesNothingProvesNothing: what was renamed would be left out for ever.
func TestAPatternThatMatchesNothingProvesNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := course{out: &out, root: "../.."}
	c.run(t.Context(), stage{name: "renamed", test: plainly("-run=^TestNoSuchTest$", "./internal/fold")})
	assert.Equal(t, []string{"renamed  no test has run"}, c.failures)
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

// TestWhatIsBuiltFromAFileIsConcerned, and what is deployed with it, and nothing else.
func TestWhatIsBuiltFromAFileIsConcerned(t *testing.T) {
	t.Parallel()
	r := thisRepository(t)
	for file, want := range map[string][]string{
		"examples/orders/main.go":     {"end to end", "controls", "template"},
		"proof/e2e/kill_test.go":      {"end to end", "controls"},
		"proof/explore/action.go":     {"explorer, with long worlds", "controls"},
		"README.md":                   {"controls"},
		"template.yaml":               {"controls", "template"},
		".ci/template":                {"controls", "template"},
		"deploy/terraform/main.tf":    {"controls", "template"},
		"cmd/idempotent/main.go":      {"controls", "template"},
		"cmd/idempotent/main_test.go": {"controls"},
	} {
		var concerned []string
		for _, s := range r.concerned(changes.Change{Files: []string{file}}) {
			if s.why == "" {
				concerned = append(concerned, s.name)
			}
		}
		assert.Equal(t, want, concerned, file)
	}
}

// thisRepository is the one that the test is in.
func thisRepository(t *testing.T) *repository {
	t.Helper()
	r, err := openRepository(t.Context())
	require.NoError(t, err)
	return r
}

func TestEachPackageIsTestedInEachRing(t *testing.T) {
	t.Parallel()
	r := thisRepository(t)
	for _, name := range []string{"test", "change", "prove"} {
		stages, err := r.ring(t.Context(), name)
		require.NoError(t, err)
		tested := make(map[string]bool)
		for _, s := range stages {
			for _, arg := range s.test {
				tested[path.Join(s.in, arg)] = true
			}
		}
		for _, module := range r.packages.Modules {
			if module != proof {
				assert.Contains(t, tested, path.Join(module, "..."))
			}
		}
		for _, folder := range r.packages.Of(proof) {
			if name != "test" || folder != peers {
				assert.Contains(t, tested, folder, name)
			}
		}
	}
	_, err := r.ring(t.Context(), "other")
	require.ErrorContains(t, err, "no ring is")
}

// TestWhereGoroutinesMeetIsReadFromTheSources: in a whole package, also through what it imports, or
// in some of its tests.
func TestWhereGoroutinesMeetIsReadFromTheSources(t *testing.T) {
	t.Parallel()
	r := &repository{root: t.TempDir(), packages: new(changes.Packages)}
	for file, text := range map[string]string{
		"lease/lease.go":          "package lease\nfunc begin() { go func() {}() }",
		"internal/relay/relay.go": "package relay\nfunc all() {\n\tnew(sync.WaitGroup).Go(nil)\n}",
		"internal/table/table.go": "package table\nfunc Create() {}",
		"outbox/outbox.go":        "package outbox",
		"dynamo/dynamo.go":        "package dynamo\nfunc Get() {}",
		"dynamo/dynamo_test.go":   "package dynamo\nfunc TestGet(t *testing.T) {\n\tGet()\n}\n",
		"dynamo/at_once_test.go":  "package dynamo\nfunc (*x) both() { go Get() }\nfunc more() {\n\tboth()\n}\nfunc TestBoth() { more() }\nfunc TestOne() {}\n",
		"dynamo/conforms_test.go": "package dynamo\nfunc TestStore() {\n\tif true {\n\t}\n\tstoretest.Run()\n}\n",
		"dynamo/entry_test.go":    "package dynamo\nfunc TestMain() { go Get() }\n",
	} {
		path := filepath.Join(r.root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	r.packages.Imports = map[string][]string{
		"outbox": {"internal/relay", "lease"}, "dynamo": {"internal/table", "lease"},
	}
	for folder, want := range map[string]bool{"lease": true, "outbox": true, "internal/relay": true, "dynamo": false} {
		assert.Equal(t, want, r.meet(folder), folder)
	}
	assert.ElementsMatch(t, []string{"TestBoth", "TestStore"}, r.meetings("dynamo"))
}
