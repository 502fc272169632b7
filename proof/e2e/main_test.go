// Package e2e_test runs the deployable examples as Lambda does: the real binaries, killed and
// restarted at will, talk over a faulty network to DynamoDB Local and to services that honour
// idempotency keys. A shop charges, a warehouse takes orders, whose effects are steps, and which
// are rows that are committed with their answers. Messages are committed with them, too, and relays
// deliver them from the stream of their table to a receiver.
//
// Every scenario looks at four things: how many distinct effects and rows there are, what the
// clients were answered, what is stored in the table, and which calls went over the wire.
package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const (
	module = "../../examples"

	// parallel is how many scenarios run at once unless the command line says otherwise. They
	// mostly wait.
	parallel = "10"
)

// folder holds the binaries.
var folder string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	flag.Parse()
	if !isSet("test.parallel") {
		if err := flag.Set("test.parallel", parallel); err != nil {
			panic(err)
		}
	}
	var err error
	if folder, err = os.MkdirTemp("", "e2e-"); err != nil {
		panic(err)
	}
	if err = build(); err == nil {
		code = m.Run()
	}
	for _, err := range []error{err, os.RemoveAll(folder), platform.leaks()} {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// The functions, as they are deployed: each is a folder of the examples, and the name of its binary
// is the last part.
const (
	charging = "apigw-charge"
	ordering = "orders"
	relaying = "orders/relay"
	draining = "orders/drain"
)

// build builds the functions. No scenario runs beside it: a compiler would take the time that their
// deadlines count on.
func build() error {
	args := []string{"build", "-tags", "lambda.norpc", "-o", folder + string(filepath.Separator)}
	for _, function := range []string{charging, ordering, relaying, draining} {
		args = append(args, "./"+function)
	}
	build := exec.Command("go", args...)
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// platform is what all scenarios share.
var platform shared

// shared is DynamoDB Local, which runs as long as this process, and the goroutines that came
// with it.
type shared struct {
	mu      sync.Mutex
	own     goleak.Option
	started bool
}

// endpoint is that of DynamoDB Local.
func (s *shared) endpoint(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	endpoint := dynamolocal.Endpoint(t)
	if !s.started {
		s.own, s.started = goleak.IgnoreCurrent(), true
	}
	return endpoint
}

// leaks finds goroutines that outlive the tests.
func (s *shared) leaks() error {
	if !s.started {
		return goleak.Find()
	}
	return goleak.Find(s.own)
}
