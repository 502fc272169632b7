// Package moto runs the server of moto, which is written in Python and speaks the protocol of SQS,
// beside the tests of a package.
//
// Its packages are pinned in requirements.txt and installed into .tools at the root.
package moto

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// startLimit bounds the installation of the packages.
const startLimit = 5 * time.Minute

// program prints the port that it listens on.
//
//go:embed server.py
var program string

var keys = credentials.NewStaticCredentialsProvider("local", "local", "")

// SQS returns a client of the server that all tests of the process share. Without it the test is
// skipped and says why on standard error, or fails where none may be left out.
func SQS(t *testing.T) *sqs.Client {
	t.Helper()
	return sqs.New(sqs.Options{BaseEndpoint: aws.String(endpoint(t)), Region: dynamolocal.Region, Credentials: keys})
}

// NewQueue makes a queue of the test and returns its URL.
func NewQueue(t *testing.T, client *sqs.Client, name string, attributes map[string]string) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String(name), Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return *out.QueueUrl
}

// endpoint is the URL of the server.
func endpoint(t *testing.T) string {
	t.Helper()
	moto, err := server()
	if err != nil && dynamolocal.Strict() {
		t.Fatalf("moto cannot be run: %v", err)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "!!! SKIPPED %s: moto cannot be run: %v\n", t.Name(), err)
		t.Skipf("!!! SKIPPED: moto cannot be run: %v", err)
	}
	return moto.endpoint
}

// process is a server that runs.
type process struct {
	endpoint string
	stdin    io.Closer // kept, because it is closed when nobody does
}

// server starts moto. Nobody stops it: it ends with its standard input, which ends with this
// process.
var server = sync.OnceValues(func() (p process, err error) {
	python, err := environment()
	if err != nil {
		return p, err
	}
	cmd := exec.Command(python, "-c", program)  //nolint:noctx // it lives as long as this process
	problems, err := os.CreateTemp("", "moto-") // a buffer would need a goroutine, which would outlive the tests
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, problems.Close(), os.Remove(problems.Name())) }()
	cmd.Stderr = problems
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return p, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return p, err
	}
	if err := cmd.Start(); err != nil {
		return p, err
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		ended := cmd.Wait()
		text, unread := os.ReadFile(problems.Name())
		return p, fmt.Errorf("%w: %s", errors.Join(err, ended, unread), text)
	}
	p.endpoint = "http://127.0.0.1:" + strings.TrimSpace(port)
	return p, nil
})

// environment returns the interpreter of an environment with the packages. One that was made from
// the same file stays.
func environment() (python string, err error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the folder of the package is not known")
	}
	root := filepath.Join(filepath.Dir(here), "..", "..")
	folder := filepath.Join(root, ".tools", "moto")
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	venv := exec.CommandContext(ctx, filepath.Join(root, ".ci", "venv"), folder,
		filepath.Join(filepath.Dir(here), "requirements.txt"))
	if out, err := venv.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(folder, "bin", "python"), nil
}
