package cli

import (
	"context"
	"errors"
	"strings"

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
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			ofStep := cmd.Flags().Changed("step")
			switch {
			case ofStep && result:
				return usagef("--result and --step contradict each other: a record with a result has no steps any more")
			case ofStep && step == "":
				return usagef("--step is empty")
			}
			s, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			shown, err := s.inspect(cmd.Context(), args[0], derived...)
			if err != nil {
				return err
			}
			i := inspectionOf(shown, derived...)
			i.Where, i.ResultOfStep = a.place, step
			var stored []byte
			switch {
			case result:
				stored, err = s.operator.Result(cmd.Context(), shown)
			case ofStep:
				stored, err = s.operator.StepResult(cmd.Context(), shown, step)
			}
			if err != nil {
				return err
			}
			if result || ofStep {
				i.withResult(stored)
			}
			return a.show(s, &i)
		}),
		ValidArgsFunction: a.completeKeys,
	}
	cmd.Flags().BoolVar(&result, flagResult, false, "show the stored result, too")
	cmd.Flags().StringVar(&step, "step", "", "show the recorded result of the step with this `name`, too")
	cmd.Flags().StringSliceVar(&derived, "derived", nil, "compute the derived key of this `name`, too; may be repeated")
	noFiles(cmd)
	return cmd
}

// inspect reads a record.
func (s *source) inspect(ctx context.Context, key string, names ...string) (shown operate.Shown, err error) {
	if operate.IsDerivedKey(key) {
		shown, _, err = s.operator.FindDerived(ctx, "", key, names...)
	} else {
		shown, err = s.operator.Inspect(ctx, key)
	}
	if errors.Is(err, operate.ErrNotFound) {
		return shown, &notFoundError{key}
	}
	return shown, err
}

// notFoundError is a key without a record.
type notFoundError struct{ key string }

func (e *notFoundError) Error() string {
	switch {
	case operate.IsDerivedKey(e.key):
		return "no record that somebody has to settle is known to have handed out this derived key. --derived NAME " +
			"tries a name that the " +
			"handler passes to DerivedKey. A completed record is found by what the client sent: idempotent key --help"
	case !strings.Contains(e.key, "#"):
		return "there is no such record: a record key is <operation>#<digest>, and \"idempotent key\" computes it " +
			"from what a client sent"
	default:
		return "there is no record of this key: it was never written, or was released, or has expired and was deleted"
	}
}

// Is reports whether target is [operate.ErrNotFound].
func (*notFoundError) Is(target error) bool { return target == operate.ErrNotFound }

// show prints an inspection.
func (a *app) show(s *source, i *inspection) error {
	if a.output == outputJSON {
		return a.json(i)
	}
	rows := i.rows(s.now())
	if i.State == operate.StateUnknown || i.State == operate.StateReleased && len(show.OpenSteps(i.Steps)) > 0 {
		rows = append(rows, show.Cells("To settle it", "idempotent settle --help"))
	}
	if err := a.out().Table(rows); err != nil {
		return err
	}
	if i.Result != nil {
		return a.out().Line("\n" + show.Document(string(i.Result)))
	}
	if i.ResultText != nil {
		return a.out().Line("\n" + show.Document(*i.ResultText))
	}
	return nil
}
