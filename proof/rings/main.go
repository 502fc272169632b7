// Command rings runs the checks of the repository, in one of three rings:
//
//	rings test    what a contributor needs to trust a change
//	rings change  what a change must pass: the tests, with all that tells more about what the change touches
//	rings prove   everything there is
//	rings -n …    says what it would run
//
// Each ring is a list of stages, in stages.go. A stage that fails does not end its ring. A line for
// each stage says how long it took. What failed stands in one list at the end. The last line counts
// tests: passed, failed, skipped.
//
// IDEMPOTENT_TEST_STRICT=1 in the environment turns a test that is skipped into one that fails.
// DynamoDB Local runs once for all stages, unless DYNAMODB_ENDPOINT names another endpoint. An
// interrupt ends everything that was started.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, errFailed) { // which has been told, and the counts come last
			fmt.Fprintln(os.Stderr, "rings:", err)
		}
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, args []string) error {
	only := len(args) == 2 && args[0] == "-n"
	if only {
		args = args[1:]
	}
	if len(args) != 1 {
		return errors.New("usage: rings [-n] test, rings [-n] change or rings [-n] prove")
	}
	r, err := openRepository(ctx)
	if err != nil {
		return err
	}
	stages, err := r.ring(ctx, args[0])
	if err != nil {
		return err
	}
	if only {
		for _, s := range stages {
			fmt.Println(s)
		}
		return nil
	}
	c := course{out: os.Stdout, strict: dynamolocal.Strict(), root: r.root}
	database := make(chan error)
	end := func() {}
	go func() { // the first time it is fetched, which takes as long as a part of the build
		var err error
		end, err = dynamolocal.Provide(ctx)
		database <- err
	}()
	c.run(ctx, stage{name: "build", command: []string{"go", "build", "./..."}})
	err = <-database
	defer end()
	if err != nil {
		return err
	}
	c.follow(ctx, stages)
	if ctx.Err() != nil {
		c.failures = append(c.failures, "rings "+args[0]+"  was interrupted")
	}
	return c.conclude()
}
