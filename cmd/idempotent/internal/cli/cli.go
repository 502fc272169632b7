// Package cli is the command line: its commands, what they print, and their exit codes.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

// World is what a process has around it.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	// These say which of the three is a terminal.
	InTerminal, OutTerminal, ErrTerminal bool
	// OutSize is how many columns and lines the terminal behind Out has now.
	OutSize func() (columns, lines int, err error)
	// Getenv reads the environment.
	Getenv func(string) string
	// Now is the clock.
	Now func() time.Time
	// Version is that of the program.
	Version string
	// User is the name of the user of the operating system, empty if it has none.
	User string
}

// Main runs the command that the arguments name, and returns its exit code: 0 fine, 1 error, 2 usage, 3 not found, 4 refused
// because the record has changed.
func Main(ctx context.Context, args []string, w World) int {
	a := &app{world: w}
	root := a.root() //nolint:contextcheck // cobra hands the context to the command
	root.SetArgs(args)
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.began {
		err = &usageError{err.Error()} // cobra refused the command line
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
	// began is true once the command line has been understood.
	began bool
}

// The forms of output.
const (
	outputTable = "table"
	outputJSON  = "json"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "idempotent",
		Short: "Shows and settles the records of idempotent handlers, and the messages that leave with them",
		Long: `Shows and settles the records of idempotent handlers, in a DynamoDB table, and redrives messages of an outbox.

What do you have to do?
  Find what somebody has to settle            idempotent list
  See what happened to one key                idempotent inspect KEY
  It had its effect: store its result         idempotent settle KEY --executed result.json --reason TEXT
  It had no effect: let the next retry run    idempotent settle KEY --not-executed --reason TEXT
  It failed for good: store the error         idempotent settle KEY --failed TYPE:MESSAGE --reason TEXT
  Free a key without a verdict                idempotent release KEY --reason TEXT
  Forget a stored answer                      idempotent delete KEY --reason TEXT
  A client complains, and tells its key       idempotent key --help
  Do all this in a browser                    idempotent serve
  Check the table, and a function             idempotent doctor
  Check a template before it is deployed      idempotent doctor --template FILE
  Find messages that nobody delivers          idempotent parked --table OUTBOX
  Let them be delivered again                 idempotent redrive --table OUTBOX --all --reason TEXT
  Find what crashed and nobody retries        idempotent sweep --dry-run
  Delete what has expired, without TTL        idempotent sweep --delete-expired
  See what happens now                        aws logs tail --follow GROUP | idempotent watch

KEY is a record key, <operation>#<digest>, as it is in logs and metrics. Put it in quotes.

Whatever changes a record shows first what it does, and what the next retry of the client gets. It asks on a terminal, and needs
--yes elsewhere. It is conditional on what it has shown: if the record has changed, nothing happens.

Try it: idempotent list --demo, or idempotent serve --demo

Exit codes: 0 fine, 1 error, 2 usage, 3 not found, 4 refused because the record, or a message, has changed.`,
		Version:       a.world.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&a.target.Table, "table", a.world.Getenv("IDEMPOTENCY_TABLE"), "the DynamoDB `table`, by name or ARN; by default IDEMPOTENCY_TABLE")
	f.StringVar(&a.target.Profile, "profile", "", "the `profile` of the AWS configuration")
	f.StringVar(&a.target.Region, "region", "", "the AWS `Region`")
	f.StringVar(&a.target.Endpoint, "endpoint-url", "", "another endpoint, such as the `URL` of DynamoDB Local")
	f.StringVar(&a.target.SortKey, "sort-key", "", "the `attribute` that holds the record key, in a table with a sort key")
	f.StringVar(&a.target.Partition, "partition", "", "the `value` of the partition key of all records, with --sort-key")
	f.StringToStringVar(&a.target.Attributes, "attribute", nil, "an attribute with another name, `default=name`; may be repeated")
	f.BoolVar(&a.demo, "demo", false, "try it on records in memory, one in each state; nothing is kept")
	f.StringVarP(&a.output, "output", "o", outputTable, "the `form`: table for people, json for programs, one line each")
	f.Lookup("attribute").DefValue = "" // not "[]"
	root.AddCommand(a.list(), a.inspect(), a.settle(), a.release(), a.delete(), a.key(), a.doctor(), a.parked(), a.redrive(), a.sweep(), a.serve(), a.watch())
	must(root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputTable, outputJSON}, cobra.ShellCompDirectiveNoFileComp)))
	noCompletion(root, "table", "profile", "region", "endpoint-url", "sort-key", "partition", "attribute")
	return root
}

// noCompletion keeps shells from proposing files for flags that take something else.
func noCompletion(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// flagOperation is a flag of several commands.
const flagOperation = "operation"

// must panics on what only a mistake in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// run makes the function of a command that needs no store: it looks at what all commands have in common.
func (a *app) run(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		if !slices.Contains([]string{outputTable, outputJSON}, a.output) {
			return usagef("--output %q is neither %s nor %s", a.output, outputTable, outputJSON)
		}
		return do(cmd, args)
	}
}

// oneKey is the only argument of a command.
func oneKey(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("%s needs the key of a record; see --help", cmd.CommandPath())
	case len(args) > 1:
		return fmt.Errorf("%s takes one key, not %d; put it in quotes", cmd.CommandPath(), len(args))
	default:
		return nil
	}
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

// json prints one line for a program.
func (a *app) json(v any) error { return jsonLine(a.world.Out, v) }

// jsonLine escapes what a terminal may act on: controls, and marks that turn the direction of text. They stand only within texts.
func jsonLine(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	line := make([]byte, 0, text.Len())
	for _, r := range text.String() {
		if r < 0x7f || unicode.IsPrint(r) {
			line = utf8.AppendRune(line, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			line = fmt.Appendf(line, `\u%04x`, unit)
		}
	}
	_, err := w.Write(line)
	return err
}

// report says on standard error why a command failed, in the form that was asked for.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	text := a.sentence(err)
	if a.output == outputJSON {
		line := failure{Error: text, Exit: exitCode(err)}
		if changed, ok := errors.AsType[*changedError](err); ok {
			line.Seen, line.Now = changed.lines()
		}
		_ = jsonLine(a.world.Err, line) // there is nowhere else to say it
		return
	}
	_ = a.err().Line("idempotent: " + strings.TrimSuffix(show.Printable(text), "."))
}

// failure is an error for programs.
type failure struct {
	Error string `json:"error"`
	Exit  int    `json:"exit"`
	// Seen and Now are of a record that has changed: what was seen, and what is there, nil if it is gone.
	Seen *recordLine `json:"seen,omitempty"`
	Now  *inspection `json:"now,omitempty"`
}
