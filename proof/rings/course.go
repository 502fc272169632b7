package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stage is a command of a ring.
type stage struct {
	name string
	// in is the folder where it runs, from the root of the repository.
	in string
	// test are the arguments of go test. Its tests are counted.
	test []string
	// command is what runs instead of go test.
	command []string
	// env is added to the environment.
	env []string
	// why says why a stage is left out. It is not run then.
	why string
	// beside is true of a stage that runs beside the others: it waits more than it computes, or
	// they do.
	beside bool
}

// args are its command.
func (s stage) args() []string {
	if s.test != nil {
		return append([]string{"go", "test", "-json"}, s.test...)
	}
	return s.command
}

// String says what the stage is, for a person.
func (s stage) String() string {
	what := strings.Join(append(slices.Clone(s.env), s.args()...), " ")
	if s.why != "" {
		what = "left out: " + s.why
	}
	return fmt.Sprintf("%s\n\tin %s: %s", s.name, path.Join(".", s.in), what)
}

// grace is how long a stage that is interrupted has to end by itself.
const grace = 10 * time.Second

// course is a ring as it runs: it counts tests and remembers what failed.
type course struct {
	tally

	out    io.Writer
	root   string
	strict bool
	// table has a line for each stage, and left one for each that was left out.
	table, left []string
}

// follow runs the stages one after another, and beside them, one after another, those that say so.
func (c *course) follow(ctx context.Context, stages []stage) {
	ended := make(chan *course, len(stages))
	go func() {
		defer close(ended)
		for _, s := range stages {
			if s.beside {
				one := &course{out: new(bytes.Buffer), root: c.root, strict: c.strict}
				one.run(ctx, s)
				ended <- one
			}
		}
	}()
	for _, s := range stages {
		if s.beside {
			continue
		}
		c.run(ctx, s)
		for len(ended) > 0 {
			c.join(<-ended)
		}
	}
	for one := range ended {
		c.join(one)
	}
}

// join adds what a stage has printed and found that ran beside the others.
func (c *course) join(one *course) {
	fmt.Fprint(c.out, one.out)
	c.add(one.tally)
	c.left, c.table = append(c.left, one.left...), append(c.table, one.table...)
}

// run runs a stage, or notes that it is left out. It prints a line before and a line after, which
// it keeps for the end.
func (c *course) run(ctx context.Context, s stage) {
	if ctx.Err() != nil {
		return
	}
	if s.why != "" {
		c.left = append(c.left, fmt.Sprintf("left out: %s: %s\n", s.name, s.why))
		return
	}
	fmt.Fprintf(c.out, "... %s\n", s.name)
	started := time.Now()
	t, err := c.start(ctx, s)
	if ctx.Err() != nil {
		return
	}
	word, counts := "ok", ""
	if s.test != nil {
		counts = t.String()
	}
	switch {
	case err != nil && t.failures == nil:
		// A command that is no test fails by itself. So does go test, where no test of its output
		// did.
		t.fail(s.name + "  " + err.Error())
	case s.test != nil && err == nil && t.passed+t.failed+t.skipped == 0:
		t.fail(s.name + "  no test has run")
	}
	if t.failures != nil {
		word = "FAILED"
	}
	c.add(t)
	took := fmt.Sprintf("%.1fs", time.Since(started).Seconds())
	line := strings.TrimRight(fmt.Sprintf("%-6s  %-36s  %8s  %s", word, s.name, took, counts), " ") + "\n"
	c.table = append(c.table, line)
	fmt.Fprint(c.out, line)
}

// start runs the command of a stage in a group of processes, so that an interrupt reaches all that
// it started.
func (c *course) start(ctx context.Context, s stage) (t tally, err error) {
	args := s.args()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Join(c.root, s.in), append(os.Environ(), s.env...), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		time.AfterFunc(grace, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	if s.test == nil {
		cmd.Stdout = c.out
		return t, cmd.Run()
	}
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return t, err
	}
	err = t.read(c.out, events, c.strict)
	return t, errors.Join(err, cmd.Wait())
}

// errFailed is a ring of which something has failed.
var errFailed = errors.New("something has failed")

// conclude prints the table of stages, what was left out, what failed, and the counts.
func (c *course) conclude() error {
	fmt.Fprintf(c.out, "\n%s%s", strings.Join(c.table, ""), strings.Join(c.left, ""))
	if c.failures != nil {
		fmt.Fprintf(c.out, "\nFAILED\n  %s\n", strings.Join(c.failures, "\n  "))
	}
	fmt.Fprintf(c.out, "\n%s\n", &c.tally)
	if c.failures != nil {
		return errFailed
	}
	return nil
}
