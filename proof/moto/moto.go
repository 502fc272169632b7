// Package moto runs the server of moto, which is written in Python and speaks the protocol of SQS,
// beside the tests of this folder.
//
// Its packages are pinned in requirements.txt and installed into .tools at the root.
package moto

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// program prints the port that it listens on.
//
//go:embed server.py
var program string

// SQS returns a client of the server that all tests share. Without it the test cannot run.
func SQS(t *testing.T) *sqs.Client {
	t.Helper()
	moto, err := server()
	if err != nil {
		dynamotest.CannotRun(t, fmt.Errorf("moto cannot be run: %w", err))
	}
	return sqs.New(sqs.Options{
		BaseEndpoint: aws.String(moto.endpoint), Region: dynamolocal.Region,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
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

// process is a server that runs.
type process struct {
	endpoint string
	stdin    io.Closer // kept, because it is closed when nobody does
}

// server starts moto. Nobody stops it: it ends with its standard input, which ends with this
// process.
var server = sync.OnceValues(func() (p process, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return p, err
	}
	folder := filepath.Join(root, ".tools", "moto")
	if out, err := exec.Command("../../.ci/venv", folder, "requirements.txt").CombinedOutput(); err != nil {
		return p, fmt.Errorf("%w: %s", err, out)
	}
	cmd := exec.Command(filepath.Join(folder, "bin", "python"), "-c", program)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	out, errOfOutput := cmd.StdoutPipe()
	if err := errors.Join(err, errOfOutput); err != nil {
		return p, err
	}
	if err := cmd.Start(); err != nil {
		return p, err
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return p, errors.Join(err, cmd.Wait())
	}
	return process{"http://127.0.0.1:" + strings.TrimSpace(port), stdin}, nil
})
