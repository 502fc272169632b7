// Package e2e_test runs the deployable examples as Lambda does: the real binaries, killed and
// restarted at will, talk over a faulty network to DynamoDB Local and to services that honour
// idempotency keys. A shop charges, a warehouse takes orders, whose effects are steps, and which
// are rows that are committed with their answers. Messages are committed with them, too, and a
// relay and a drain deliver them.
//
// Every scenario looks at four things: how many distinct effects and rows there are, what the
// clients were answered, what is stored in the table, and which calls went over the wire.
package e2e_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/store"
)

// The functions, as they are deployed: each is a folder of the examples, and the name of its binary
// is the last part.
const (
	charging = "apigw-charge"
	ordering = "orders"
	relaying = "orders/relay"
	draining = "orders/drain"
)

var (
	// folder holds the binaries.
	folder string
	// transport is that of ofThisProcess.
	transport = new(http.Transport)
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the front says of each kill that the function failed
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run builds the functions, and then runs the scenarios, ten at once unless the command line says
// otherwise: they mostly wait. No scenario runs beside the compiler, which would take the time that
// their deadlines count on.
func run(m *testing.M) (code int, err error) {
	if err = flag.Set("test.parallel", "10"); err != nil {
		return 1, err
	}
	if folder, err = os.MkdirTemp("", "e2e-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", folder+string(os.PathSeparator),
		"./"+charging, "./"+ordering, "./"+relaying, "./"+draining)
	build.Dir, build.Env = "../../examples", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	end, err := dynamolocal.Provide(context.Background())
	if err != nil {
		return 1, err
	}
	if err = warm(os.Getenv(dynamolocal.EndpointVariable)); err == nil {
		code = m.Run()
	}
	transport.CloseIdleConnections()
	end()
	return code, errors.Join(err, goleak.Find())
}

// warm writes until DynamoDB Local is awake: its first writes take longer than a claim may.
func warm(endpoint string) error {
	if endpoint == "" {
		return nil // the scenarios are skipped, and say why
	}
	ctx, table := context.Background(), "e2e-"+rand.Text()
	client := dynamolocal.Client(endpoint, ofThisProcess)
	err := dynamo.CreateTable(ctx, client, table)
	for quick := 0; err == nil && quick < 20; quick++ {
		began := time.Now()
		record := store.Record{Key: rand.Text(), Owner: rand.Text(), Status: store.StatusInProgress}
		record.Lease, record.Expiry = began.Add(time.Minute), began.Add(time.Hour)
		if _, _, err = dynamo.New(client, table).Claim(ctx, record, began); time.Since(began) > 100*time.Millisecond {
			quick = 0
		}
	}
	return err
}

// ofThisProcess gives a client of DynamoDB that goes through no proxy the transport of all of them.
func ofThisProcess(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} }
