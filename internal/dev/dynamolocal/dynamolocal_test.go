package dynamolocal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
)

func TestServerAnswersUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context())
	if errors.Is(err, ErrUnavailable) && !Strict() {
		t.Skipf("!!! SKIPPED: %v", err)
	}
	require.NoError(t, err)
	require.True(t, answers(t.Context(), Client(s.Endpoint)))
	s.Stop()
	s.Stop()
	require.False(t, answers(t.Context(), Client(s.Endpoint, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })))
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, says string
		want         error
	}{
		"it ends":            {"echo no such option >&2; exit 3", "no such option", errExited},
		"it does not answer": {"echo still thinking; exec sleep 60", "still thinking", context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := startOnFreePort(ctx, func(string) []string { return []string{"sh", "-c", tc.script} })
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestNothingAvailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := Start(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `with Java: exec: "java"`)
	require.ErrorContains(t, err, `with Docker: exec: "docker"`)
}

// script puts an executable into the folder.
func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700))
	return file
}

func TestJarsAreFetchedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "jars")
	log := filepath.Join(t.TempDir(), "log")
	mvn := script(t, t.TempDir(), "mvn", `
		echo run >>"`+log+`"
		for a in "$@"; do case $a in -DoutputDirectory=*) out=${a#*=}; esac; done
		mkdir -p "$out" && : >"$out/`+mainJar+`"
	`)
	require.NoError(t, fetch(t.Context(), mvn, dir))
	require.True(t, complete(dir))
	require.NoError(t, fetch(t.Context(), mvn, dir), "another process was faster")
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing but the jars stays")
}

func TestFetchThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, problem string }{
		"Maven fails":     {"echo cannot resolve; exit 1", "cannot resolve"},
		"the jar is none": {"exit 0", mainJar + " is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "cache", "jars")
			err := fetch(t.Context(), script(t, t.TempDir(), "mvn", c.script), dir)
			require.ErrorContains(t, err, c.problem)
			require.False(t, complete(dir))
			left, err := os.ReadDir(filepath.Dir(dir))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestDockerCommands runs the Docker launcher against a program that only writes down what it is
// asked.
func TestDockerCommands(t *testing.T) {
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script(t, bin, "docker", `echo "$*" >>"`+log+`"; test $1 != image`)
	t.Setenv("PATH", bin)
	l, err := dockerLauncher(t.Context())
	require.NoError(t, err)
	require.Equal(t, "run --rm --init --publish 127.0.0.1:4567:8000 "+
		"amazon/dynamodb-local:3.1.0 -jar DynamoDBLocal.jar -inMemory -sharedDb -disableTelemetry",
		strings.Join(l("4567")[1:], " "))
	asked, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "image inspect amazon/dynamodb-local:3.1.0\npull --quiet amazon/dynamodb-local:3.1.0\n",
		string(asked))

	script(t, bin, "docker", "echo cannot connect >&2; exit 1")
	_, err = dockerLauncher(t.Context())
	require.ErrorContains(t, err, "cannot connect")
}
