package dynamolocal

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of DynamoDB Local that is started.
const Version = "3.1.0"

// ErrUnavailable is returned when nothing here can run DynamoDB Local; it says what was tried.
var ErrUnavailable = errors.New("DynamoDB Local is not available")

// launcher gives the command that serves DynamoDB on a port.
type launcher func(port string) []string

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

func dockerLauncher(ctx context.Context) (launcher, error) {
	const image = "amazon/dynamodb-local:" + Version
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, err
	}
	if run(ctx, docker, "image", "inspect", image) != nil {
		if err := run(ctx, docker, "pull", "--quiet", image); err != nil {
			return nil, err
		}
	}
	return func(port string) []string {
		return []string{
			docker, "run", "--rm", "--init", "--publish", "127.0.0.1:" + port + ":8000",
			image, "-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-disableTelemetry",
		}
	}, nil
}

func javaLauncher(ctx context.Context) (launcher, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	jars := filepath.Join(cache, "go-idempotent", "dynamodb-local-"+Version)
	if !complete(jars) {
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return nil, fmt.Errorf("the jars are not in %s: %w", jars, err)
		}
		fmt.Fprintf(os.Stderr, "dynamolocal: fetching DynamoDB Local %s from Maven Central into %s\n", Version, jars)
		if err := fetch(ctx, mvn, jars); err != nil {
			return nil, err
		}
	}
	return func(port string) []string {
		// A small heap, one collector thread and the quick compiler: tests share the machine.
		return []string{
			java, "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Djava.library.path=" + jars, "-cp", filepath.Join(jars, "*"),
			"software.amazon.dynamodb.services.local.main.ServerRunner",
			"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
		}
	}, nil
}

const (
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
	mainJar  = "DynamoDBLocal-" + Version + ".jar"
)

//go:embed pom.xml
var pom []byte

// fetch fills a folder beside dir and renames it, so that a folder of this name is always complete.
// Of several processes that fetch at once the first one to rename wins.
func fetch(ctx context.Context, mvn, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()

	pomFile, jars := filepath.Join(tmp, "pom.xml"), filepath.Join(tmp, "jars")
	if err := os.WriteFile(pomFile, pom, 0o600); err != nil {
		return err
	}
	err = run(ctx, mvn, "-q", "-B", "-f", pomFile, copyGoal, "-Ddynamodb-local="+Version, "-DoutputDirectory="+jars)
	if err != nil {
		return err
	}
	if !complete(jars) {
		return fmt.Errorf("fetch DynamoDB Local with Maven: %s is missing", mainJar)
	}
	err = os.Rename(jars, dir)
	if errors.Is(err, fs.ErrExist) && complete(dir) {
		return nil
	}
	return err
}

func complete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, mainJar))
	return err == nil
}

// run runs a command; an error carries what it printed.
func run(ctx context.Context, command string, args ...string) error {
	out, err := exec.CommandContext(ctx, command, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(command), args[0], err, bytes.TrimSpace(out))
	}
	return err
}
