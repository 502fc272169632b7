// Package cli is the command line: its commands, what they print, and their exit codes.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// World is what a process has around it.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	// These say which of the three is a terminal.
	InTerminal, OutTerminal, ErrTerminal bool
	Getenv                               func(string) string
	Now                                  func() time.Time
	// Version is that of the program, User the name of who runs it, empty if nobody knows.
	Version, User string
}

// Main runs the command that the arguments name, and returns its exit code: 0 fine, 1 error, 2
// usage, 3 not found, 4 refused because the record has changed.
func Main(ctx context.Context, args []string, w World) int {
	a := &app{world: w}
	root := a.root() //nolint:contextcheck // cobra hands the context to the command
	root.SetArgs(args)
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.began {
		err = usagef("%s", err) // cobra refused the command line
	}
	a.report(err)
	return exitCode(err)
}

// app is one run of the program.
type app struct {
	world  World
	target connect.Target
	demo   bool
	output string
	by     string
	yes    bool
	// operator acts on the records at a place. conn is nil in the demo.
	operator *operate.Operator
	conn     *connect.Connection
	place    connect.Place
	unnamed  error // why AWS does not say who acts
	// lists is true of a command that prints a line for each thing that it finds.
	lists bool
	// began is true once the command line has been understood.
	began bool
}

const (
	outputTable = "table"
	outputJSON  = "json"
)

const help = `Shows and settles the records of idempotent handlers in a DynamoDB table, and
redrives the messages of an outbox.

What do you have to do?
  Find what somebody has to settle    idempotent list
  See what happened to one key        idempotent inspect KEY
  Go from a client's key to a record  idempotent key --help
  Go from a provider's key to one     idempotent inspect DERIVED_KEY
  Say what became of an execution     idempotent settle KEY --executed FILE
                                        | --not-executed | --failed TYPE:MESSAGE
                                        | --released, and --reason TEXT
  Forget a stored answer              idempotent delete KEY --reason TEXT
  Find messages nobody delivers       idempotent messages list
  Let them be delivered again         idempotent messages redrive --all
  Check the table, and a function     idempotent doctor
  Check a template                    idempotent doctor --template FILE
  Do all this in a browser            idempotent serve

KEY is a record key, <operation>#<digest>, as it is in logs and metrics. Put
it in quotes.

Every command says first, on standard error, where it acts and as whom.
Whatever changes a record shows what it does, and what the next retry of the
client gets. It asks on a terminal, and needs --yes elsewhere. It is
conditional on what it has shown: if the record has changed, nothing happens.

Try it: idempotent list --demo, or idempotent serve --demo

Exit codes: 0 fine, 1 error, 2 usage, 3 not found, 4 refused because the
record, or a message, has changed.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "idempotent",
		Short:         "Shows and settles the records of idempotent handlers, and the messages that leave with them",
		Long:          help,
		Version:       a.world.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgument,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.began = true
			if a.output != outputTable && a.output != outputJSON {
				return usagef("--output %q is neither %s nor %s", a.output, outputTable, outputJSON)
			}
			return nil
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	f := root.PersistentFlags()
	f.StringVar(&a.target.Table, "table", a.world.Getenv("IDEMPOTENCY_TABLE"),
		"the DynamoDB `table`, by name or ARN; by default IDEMPOTENCY_TABLE")
	f.StringVar(&a.target.Profile, "profile", "", "the `profile` of the AWS configuration")
	f.StringVar(&a.target.Region, "region", "", "the AWS `Region`")
	f.StringVar(&a.target.Endpoint, "endpoint-url", "", "another endpoint, such as the `URL` of DynamoDB Local")
	f.StringVar(&a.target.SortKey, "sort-key", "", "the `attribute` with the record key, in a table with a sort key")
	f.StringVar(&a.target.Partition, "partition", "", "the `value` of the partition key, with --sort-key")
	f.StringToStringVar(&a.target.Attributes, "attribute", nil, "an attribute with another name, `default=name`")
	f.StringVar(&a.by, "by", "",
		"`who` changes something; by default whose credentials they are, or your user where AWS is not asked")
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask; needed if standard input is no terminal")
	f.BoolVar(&a.demo, "demo", false, "try it on records in memory; nothing is kept")
	f.StringVarP(&a.output, "output", "o", outputTable, "the `form`: table for people, json for programs")
	f.Lookup("attribute").DefValue = "" // not "[]"
	root.AddCommand(a.list(), a.inspect(), a.key(), a.settle(), a.delete(), a.messages(), a.doctor(), a.serve())
	return root
}

// oneKey is the only argument of a command.
func oneKey(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("%s needs the key of a record; see --help", cmd.CommandPath())
	case len(args) > 1:
		return fmt.Errorf("%s takes one key, not %d; put it in quotes", cmd.CommandPath(), len(args))
	}
	return nil
}

// noArgument refuses a command that there is not, and says which one was meant.
func noArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		text += ": did you mean " + strings.Join(meant, " or ") + "?"
	}
	return errors.New(text)
}

// out prints to standard output, and err to standard error.
func (a *app) out() show.Printer {
	return show.Printer{Out: a.world.Out, Colours: a.world.OutTerminal && a.colours()}
}

func (a *app) err() show.Printer {
	return show.Printer{Out: a.world.Err, Colours: a.world.ErrTerminal && a.colours()}
}

// colours reports whether a terminal may get colours. See https://no-color.org.
func (a *app) colours() bool {
	return a.world.Getenv("NO_COLOR") == "" && a.world.Getenv("TERM") != "dumb"
}

func (a *app) json(v any) error { return show.JSON(a.world.Out, v) }

// printAll prints values, if there are any: a line of each for a program, else a table.
func printAll[T any](a *app, lines []T, table [][]show.Cell) error {
	switch {
	case len(lines) == 0:
		return nil
	case a.output != outputJSON:
		return a.out().Table(table)
	}
	for _, l := range lines {
		if err := a.json(l); err != nil {
			return err
		}
	}
	return nil
}

// open connects to the table, or makes the demo, and says where that is.
func (a *app) open(ctx context.Context) error {
	if !a.demo {
		return a.connect(ctx)
	}
	a.target, a.world.Now = connect.Target{}, demo.Now
	a.operator = operate.New(demo.Store(), operate.Config{Clock: demo.Now}) //nolint:contextcheck // nothing waits
	return a.sayWhere()
}

func (a *app) connect(ctx context.Context) (err error) {
	if a.conn, err = connect.Open(ctx, a.target); err != nil {
		return err
	}
	a.operator = operate.New(a.conn.Store, operate.Config{Clock: a.world.Now})
	a.place, a.unnamed = a.conn.Where(ctx)
	return a.sayWhere()
}

// sayWhere says on standard error where the command acts. A program finds it in what it reads, but
// for one that reads a list, which may be empty.
func (a *app) sayWhere() error {
	if a.output == outputJSON && !a.lists {
		return nil
	}
	text := "On " + a.place.String()
	if a.unnamed != nil {
		text += "; AWS does not say whose credentials these are (" + connect.Cause(a.unnamed) + ")"
	}
	return a.err().Line(show.Printable(text) + ".")
}

// who says who acts: as given, else the owner of the credentials, else the user of this machine.
func (a *app) who() (string, error) {
	switch {
	case a.by != "":
		return a.by, nil
	case a.unnamed != nil:
		return "", usagef("nobody says who acts: set --by (%s)", connect.Cause(a.unnamed))
	case a.place.As != "":
		return a.place.As, nil
	case a.world.User == "":
		return "", usagef("nobody says who acts: set --by")
	}
	return a.world.User, nil
}

// ask asks on the terminal, and repeats where the command acts. Any answer but yes is an error.
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
