// Command idempotent shows and settles the records of idempotent handlers:
//
//	go install github.com/go-idempotent/idempotent/cmd/idempotent@latest
//	idempotent list --demo
//
// docs/runbook.md says what to do about each alarm.
package main

import (
	"context"
	"os"
	"os/signal"
	"os/user"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/cli"
)

func main() {
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], cli.World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerminal: terminal(os.Stdin), OutTerminal: terminal(os.Stdout), ErrTerminal: terminal(os.Stderr),
		Getenv: os.Getenv, Now: time.Now, User: name, Version: version(),
	})
	stop()
	os.Exit(code)
}

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// version is that of the module, as go install has resolved it, with the commit of a clone.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return info.Main.Version + " (" + setting.Value + ")"
		}
	}
	return info.Main.Version
}
