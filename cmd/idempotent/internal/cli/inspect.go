package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

func (a *app) inspect() *cobra.Command {
	var result bool
	var step string
	var derived []string
	cmd := &cobra.Command{
		Use:   "inspect KEY",
		Short: "Shows one record: what happened, and what the next retry gets",
		Long: `Shows one record: what happened to it, and what the next retry of the client
gets.

KEY is a record key, or a derived key: the one that another service has seen.

The derived keys are what the handler passed to other services: search for
the charge with them. Their names are those that the handler gives to
DerivedKey, and those of its steps; where the record does not know them, it
says so, and --derived NAME computes one; of a derived key it is a name to try.

The stored result is shown with --result only: it is what the client got,
and may be personal. So is the result of a step, with --step NAME.

Seen is a text for --seen of settle and delete: they then do nothing if the
record has changed since.`,
		Example: `  idempotent inspect 'charge#JKJaXmPLvHcESHA' --table idempotency
  idempotent inspect 'charge#JKJaXmPLvHcESHA' --result -o json | jq .result
  idempotent inspect charge#result-lost --demo
  idempotent inspect order#stopped --step reserve --demo`,
		Args: oneKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			ofStep := cmd.Flags().Changed("step")
			switch {
			case ofStep && result:
				return usagef("--result and --step contradict each other: a record with a result has no steps any more")
			case ofStep && step == "":
				return usagef("--step is empty")
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			shown, err := a.read(cmd.Context(), args[0], derived...)
			if err != nil {
				return err
			}
			i := show.Inspect(shown, derived...)
			i.Where, i.ResultOfStep = a.place, step
			var stored []byte
			switch {
			case result:
				stored, err = a.operator.Result(cmd.Context(), shown)
			case ofStep:
				stored, err = a.operator.StepResult(cmd.Context(), shown, step)
			}
			if err != nil {
				return err
			}
			if result || ofStep {
				i.WithResult(stored)
			}
			return a.show(&i)
		},
	}
	cmd.Flags().BoolVar(&result, flagResult, false, "show the stored result, too")
	cmd.Flags().StringVar(&step, "step", "", "show the recorded result of the step with this `name`, too")
	cmd.Flags().StringSliceVar(&derived, "derived", nil, "compute the derived key of this `name`, too; may be repeated")
	return cmd
}

// read reads a record.
func (a *app) read(ctx context.Context, key string, names ...string) (shown operate.Shown, err error) {
	if shown, err = a.operator.Inspect(ctx, key); !errors.Is(err, operate.ErrNotFound) {
		return shown, err
	}
	text := "there is no record of this key: it was never written, or was released, or has expired and was deleted"
	if !strings.Contains(key, "#") {
		shown, _, err = a.operator.FindDerived(ctx, "", key, names...)
	}
	switch {
	case err == nil:
		return shown, nil
	case errors.Is(err, operate.ErrInput):
		text = "there is no such record: a record key is <operation>#<digest>, and \"idempotent key\" computes it " +
			"from what a client sent"
	case !errors.Is(err, operate.ErrNotFound):
		return shown, err
	case !strings.Contains(key, "#"):
		text = "no record that somebody has to settle is known to have handed out this derived key. --derived NAME " +
			"tries a name that the handler passes to DerivedKey. Any other record is found by what the client sent: " +
			"idempotent key --help"
	}
	return shown, said(operate.ErrNotFound, "%s", text)
}

// show prints an inspection.
func (a *app) show(i *show.Inspection) error {
	if a.output == outputJSON {
		return a.json(i)
	}
	if err := tell(a.out(), i, a.world.Now()); err != nil {
		return err
	}
	switch {
	case i.Result != nil:
		return a.out().Line("\n" + show.Document(string(i.Result)))
	case i.ResultText != nil:
		return a.out().Line("\n" + show.Document(*i.ResultText))
	default:
		return nil
	}
}

// tell prints a record with its story.
func tell(p show.Printer, i *show.Inspection, now time.Time) error {
	timeline := i.Timeline()
	moments := make([][]show.Cell, 0, len(timeline))
	for _, m := range timeline {
		moments = append(moments, []show.Cell{
			{Text: show.Instant(m.At)},
			{Text: show.Relative(m.At, now)},
			{Text: m.What, Colour: m.Colour},
		})
	}
	return errors.Join(p.Table(factsOf(i)), p.Line("\nWhat happened"), p.Table(moments))
}

// factsOf are a record as it is, for people.
func factsOf(i *show.Inspection) (rows show.Rows) {
	rows.Add("Record", i.RecordKey)
	rows.AddIn(show.StateColour(i.State), "State", string(i.State)+": "+i.Meaning())
	rows = append(rows, i.Facts()...)
	for _, s := range i.Steps {
		means := s.Name + ": " + show.StepMeaning(s)
		if show.HasResult(s) {
			means += "; --step " + s.Name + " shows it"
		}
		rows.Add("Step", means)
	}
	if result := i.HasResult(); result != "" {
		rows.Add("Result", result+"; --result shows it")
	}
	rows.Add("Seen", i.Seen)
	if i.Due {
		rows.Add("To settle it", "idempotent settle --help")
	}
	return rows
}
