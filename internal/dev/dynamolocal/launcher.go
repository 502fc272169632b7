package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrUnavailable is returned when nothing on this machine can run DynamoDB Local; the error says
// what was tried.
var ErrUnavailable = errors.New("DynamoDB Local is not available")

const (
	dockerImage  = "amazon/dynamodb-local:" + Version
	dockerAnswer = 10 * time.Second
)

// launcher gives the command that serves DynamoDB on a port, and what to do after it has ended.
type launcher func(port int) (args []string, cleanup func() error)

func chooseLauncher(ctx context.Context) (launcher, error) {
	l, javaErr := javaLauncher(ctx)
	if javaErr == nil {
		return l, nil
	}
	l, dockerErr := dockerLauncher(ctx)
	if dockerErr == nil {
		return l, nil
	}
	return nil, fmt.Errorf("%w: with Java: %w; with Docker: %w", ErrUnavailable, javaErr, dockerErr)
}

func javaLauncher(ctx context.Context) (launcher, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	jars, err := fetchedJars(ctx)
	if err != nil {
		return nil, err
	}
	return func(port int) ([]string, func() error) {
		// A small heap, one collector thread and the quick compiler: the server shares the machine
		// with the tests.
		return []string{
			java, "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Djava.library.path=" + jars, "-cp", filepath.Join(jars, "*"),
			"software.amazon.dynamodb.services.local.main.ServerRunner",
			"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port),
		}, func() error { return nil }
	}, nil
}

func dockerLauncher(ctx context.Context) (launcher, error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, err
	}
	if err := dockerReady(ctx, docker); err != nil {
		return nil, err
	}
	return func(port int) ([]string, func() error) { //nolint:contextcheck // the context of the start is over by then
		name := "go-idempotent-dynamodb-" + strconv.Itoa(port)
		return []string{
			docker, "run", "--rm", "--init", "--name", name,
			"--publish", "127.0.0.1:" + strconv.Itoa(port) + ":8000",
			dockerImage, "-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-disableTelemetry",
		}, func() error { return removeContainer(docker, name) }
	}, nil
}

// dockerReady reports whether an engine answers and has the image, which is fetched if need be.
func dockerReady(ctx context.Context, docker string) error {
	short, cancel := context.WithTimeout(ctx, dockerAnswer)
	defer cancel()
	if _, err := output(exec.CommandContext(short, docker, "version", "--format", "{{.Server.Version}}")); err != nil {
		return fmt.Errorf("no engine answers: %w", err)
	}
	if _, err := output(exec.CommandContext(short, docker, "image", "inspect", dockerImage)); err == nil {
		return nil
	}
	if _, err := output(exec.CommandContext(ctx, docker, "pull", "--quiet", dockerImage)); err != nil {
		return fmt.Errorf("fetch the image: %w", err)
	}
	return nil
}

// removeContainer removes a container that outlived its client. Usually there is none left: it was
// started with --rm.
func removeContainer(docker, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerAnswer)
	defer cancel()
	left, err := output(exec.CommandContext(ctx, docker, "ps", "--all", "--quiet", "--filter", "name=^"+name+"$"))
	if err != nil || left == "" {
		return err
	}
	_, err = output(exec.CommandContext(ctx, docker, "rm", "--force", name))
	return err
}

// output runs a command and returns what it printed; an error carries what it printed on its error
// stream.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ee.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
