package queue

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dynamolocal"
)

const (
	root = "../.."
	// startLimit bounds the start of the server, with the installation of its packages.
	startLimit = 5 * time.Minute
)

// newClient returns a client of the server that all tests of the process share. Without it the test is skipped and says why on standard
// error, or fails where none may be left out.
func newClient(t *testing.T) *sqs.Client {
	t.Helper()
	moto, err := server()
	if err != nil && dynamolocal.Strict() {
		t.Fatalf("moto cannot be run: %v", err)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "!!! SKIPPED %s: moto cannot be run: %v\n", t.Name(), err)
		t.Skipf("!!! SKIPPED: moto cannot be run: %v", err)
	}
	return sqs.New(sqs.Options{
		BaseEndpoint: aws.String(moto.endpoint), Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// process is a server that runs.
type process struct {
	endpoint string
	stdin    io.Closer // kept, because it is closed when nobody does
}

// server starts moto. Nobody stops it: it ends with its standard input, which ends with this process.
var server = sync.OnceValues(func() (p process, err error) {
	python, err := environment()
	if err != nil {
		return p, err
	}
	cmd := exec.Command(python, "server.py")
	var problems bytes.Buffer
	cmd.Stderr = &problems
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
		return p, fmt.Errorf("%w: %s", errors.Join(err, cmd.Wait()), problems.Bytes())
	}
	p.endpoint = "http://127.0.0.1:" + strings.TrimSpace(port)
	return p, nil
})

// environment returns the interpreter of an environment with the packages. One that was made from the same file stays.
func environment() (python string, err error) {
	folder, err := filepath.Abs(filepath.Join(root, ".tools", "queue-venv"))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, filepath.Join(root, ".ci", "venv"), folder, "requirements.txt").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(folder, "bin", "python"), nil
}

// newQueue makes a queue of the test and returns its URL.
func newQueue(t *testing.T, client *sqs.Client, name string, attributes map[string]string) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name), Attributes: attributes})
	require.NoError(t, err)
	return *out.QueueUrl
}
