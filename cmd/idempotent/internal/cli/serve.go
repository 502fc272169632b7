package cli

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
)

// serving is the page, for one person on this machine.
type serving struct {
	app      *app
	port     int
	readOnly bool
	// printing is held while something is printed: requests run side by side.
	printing sync.Mutex
}

func (a *app) serve() *cobra.Command {
	s := &serving{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Shows what is stuck in a browser, and settles it",
		Long: `Serves a page for a browser on this machine: what is stuck, a search by
record key or derived key, one record as a timeline, settle and release with
a reason; with OUTBOX_TABLE also messages that were given up, and their
redrive. It ends with Ctrl-C.

It listens on 127.0.0.1 only. The address that it prints lets in one browser,
once: paste it into the address bar. Nobody else on this machine, and no
other site in this browser, gets in. Whatever changes a record shows first
what it does, and asks. Each change is printed, as settle prints it. Results
are read only if you ask for them.

In a tunnel such as ssh -L 8000:127.0.0.1:8000 take the same --port on both
sides: the page answers to its own port only.`,
		Example: `  idempotent serve --demo
  idempotent serve --table idempotency --profile production --read-only`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntVar(&s.port, "port", 0, "the `port`; by default one that is free")
	f.BoolVar(&s.readOnly, "read-only", false, "change nothing")
	return cmd
}

func (s *serving) run(ctx context.Context) error {
	if s.port < 0 || s.port > 65535 {
		return usagef("--port %d is none: 1 to 65535, or 0 for one that is free", s.port)
	}
	// A reader of standard output that goes away must not end the program amid a change.
	signal.Ignore(syscall.SIGPIPE)
	if err := s.app.open(ctx); err != nil {
		return err
	}
	by, err := s.app.who()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return usagef("--port %d cannot be listened on: %s", s.port, connect.Cause(err))
	}
	config := page.Config{ //nolint:forcetypeassert // a TCP listener has an address of TCP
		Operator: s.app.operator, Now: s.app.world.Now, Store: s.app.place.String(), By: by,
		ReadOnly: s.readOnly, Demo: s.app.demo, Port: listener.Addr().(*net.TCPAddr).Port,
		Sentence: s.app.sentence, Done: s.done, Wrong: s.wrong,
	}
	if table := s.app.world.Getenv("OUTBOX_TABLE"); table != "" && s.app.conn != nil {
		config.Messages = func(ctx context.Context) ([]outbox.GivenUpMessage, error) {
			return s.app.givenUp(ctx, table, "")
		}
		config.Redrive = func(ctx context.Context, m outbox.GivenUpMessage, by, why string) error {
			err := outbox.Redrive(ctx, s.app.conn.Client, table, m, by, why)
			s.redriven(m, by, why, err)
			return err
		}
	}
	p := page.New(config)
	// the only place where the token is
	if s.app.output == outputJSON {
		err = s.app.json(map[string]string{"url": p.URL()})
	} else {
		err = errors.Join(s.app.out().Line(p.URL()),
			s.app.err().Line("Open this address: it lets in one browser, once. Ctrl-C ends the page."))
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.serve(ctx, listener, p)
}

func (s *serving) serve(ctx context.Context, listener net.Listener, p *page.Page) error {
	server := &http.Server{ // nobody sends much to it, and a scan may take long
		Handler: p, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: log.New(s, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the page has ended: %w", err)
	case <-ctx.Done():
	}
	p.Wait()
	defer p.Wait() // for one that has begun since
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

// done prints a change of a record, as the commands that change something do.
func (s *serving) done(entry operate.Entry) error {
	return s.print(func(a *app) error {
		if err := a.done(entry, ""); err != nil || a.output == outputJSON {
			return err
		}
		return a.out().Line("")
	})
}

// print prints a change: on standard error, if standard output does not take it.
func (s *serving) print(change func(*app) error) error {
	s.printing.Lock()
	defer s.printing.Unlock()
	err := change(s.app)
	if err == nil {
		return nil
	}
	other := *s.app
	other.world.Out, other.world.OutTerminal = other.world.Err, other.world.ErrTerminal
	return errors.Join(fmt.Errorf("standard output does not take it: %w", err), change(&other))
}

// redriven prints what became of a message. One of which nobody knows is told as what went wrong.
func (s *serving) redriven(m outbox.GivenUpMessage, by, why string, err error) {
	if err != nil && !errors.Is(err, outbox.ErrNotGivenUp) {
		s.wrong(fmt.Errorf("by %s, because of %q: %w", by, why, s.app.doubtful(m, err)))
		return
	}
	if failed := s.print(func(a *app) error { return a.redriven(m, by, why, err == nil) }); failed != nil {
		s.wrong(fmt.Errorf("the redrive of message %q by %s: %w", m.ID, by, failed))
	}
}

func (s *serving) wrong(err error) { _, _ = s.Write([]byte(err.Error())) }

// Write prints what the server reports, which may quote what it was sent.
func (s *serving) Write(line []byte) (int, error) {
	s.printing.Lock()
	defer s.printing.Unlock()
	return len(line), s.app.err().Line("idempotent: " + show.Printable(strings.TrimSpace(string(line))))
}
