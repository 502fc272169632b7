package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// source is where the records are, and who may act on them.
type source struct {
	operator *operate.Operator
	now      func() time.Time
	// conn is nil in the demo.
	conn *connect.Connection
}

// open connects to the table, or makes the demo, and says where that is.
func (a *app) open(ctx context.Context) (*source, error) {
	if a.demo {
		now := demo.Now()
		s, err := demo.Store(ctx, now)
		if err != nil {
			return nil, err
		}
		a.target = connect.Target{}
		clock := func() time.Time { return now }
		return &source{operate.New(s, operate.Config{Clock: clock}), clock, nil}, a.sayWhere()
	}
	conn, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &source{operate.New(conn.Store, operate.Config{Clock: a.world.Now}), a.world.Now, conn}, nil
}

func (a *app) connect(ctx context.Context) (*connect.Connection, error) {
	conn, err := connect.Open(ctx, a.target)
	if err != nil {
		return nil, err
	}
	a.place, a.unnamed = conn.Where(ctx)
	return conn, a.sayWhere()
}

// sayWhere says on standard error where the command acts. A program finds it in what it reads, but
// for one that reads a list, which may be empty.
func (a *app) sayWhere() error {
	if a.output == outputJSON && !a.lists {
		return nil
	}
	text := "On " + a.place.String()
	if a.unnamed != nil {
		text += "; AWS does not say whose credentials these are (" + cause(a.unnamed) + ")"
	}
	return a.err().Line(show.Printable(text) + ".")
}

// who says who acts: what was given, or whom the credentials belong to, or the user of this machine
// where AWS is not asked.
func (a *app) who() (string, error) {
	switch {
	case a.by != "":
		return a.by, nil
	case a.unnamed != nil:
		return "", usagef("nobody says who acts: set --by (%s)", cause(a.unnamed))
	case a.place.As != "":
		return a.place.As, nil
	case a.world.User == "":
		return "", usagef("nobody says who acts: set --by")
	default:
		return a.world.User, nil
	}
}

// ask asks on the terminal, and repeats where the command acts. Any other answer than yes is an
// error.
func (a *app) ask(ctx context.Context, question, by string) error {
	question += " (on " + a.place.String()
	if by != "" && by != a.place.As {
		question += ", by " + by
	}
	if _, err := fmt.Fprint(a.world.Err, show.Printable(question+") [y/N] ")); err != nil {
		return err
	}
	answered := make(chan string, 1)
	go func() { // ends with the process if nobody answers
		line, _ := bufio.NewReader(a.world.In).ReadString('\n') // the end of the input is an answer, too: not yes
		answered <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-answered:
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			return errors.New("not confirmed; nothing was done")
		}
		return nil
	}
}
