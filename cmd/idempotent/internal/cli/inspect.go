package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func (a *app) inspect() *cobra.Command {
	var result bool
	var derived []string
	cmd := &cobra.Command{
		Use:   "inspect KEY",
		Short: "Shows one record: what happened, and what the next retry gets",
		Long: `Shows one record: what happened to it, and what the next retry of the client gets.

The derived keys are what the handler passed to other services: search for the charge with it. A record that somebody has to settle
names those that were handed out, as far as they are known; --derived NAME computes others.

The stored result is shown with --result only: it is what the client got, and may be personal.

Seen is a text for --seen of settle, release and delete: they then do nothing if the record has changed since.`,
		Example: `  idempotent inspect 'charge#JKJaXmPLvHcESHA' --table idempotency
  idempotent inspect 'charge#JKJaXmPLvHcESHA' --result -o json | jq .result
  idempotent inspect charge#result-lost --demo`,
		Args: oneKey,
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			s, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			shown, err := s.inspect(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			i := inspectionOf(shown, derivedKeys(shown.Record, derived))
			if !result {
				return a.show(s, &i)
			}
			stored, err := s.operator.Result(cmd.Context(), shown)
			if err != nil {
				return err
			}
			i.withResult(stored)
			return a.show(s, &i)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&result, "result", false, "show the stored result, too")
	cmd.Flags().StringSliceVar(&derived, "derived", nil, "compute the derived key of this `name`, too; may be repeated")
	noCompletion(cmd, "derived")
	return cmd
}

// inspect reads a record.
func (s *source) inspect(ctx context.Context, key string) (operate.Shown, error) {
	shown, err := s.operator.Inspect(ctx, key)
	if errors.Is(err, operate.ErrNotFound) {
		return shown, &notFoundError{key}
	}
	return shown, err
}

// notFoundError is a key without a record.
type notFoundError struct{ key string }

func (e *notFoundError) Error() string {
	if !strings.Contains(e.key, "#") {
		return "there is no such record: a record key is <operation>#<digest>, and \"idempotent key\" computes it from what a client sent"
	}
	return "there is no record of this key: it was never written, or was released, or has expired and was deleted"
}

// Is reports whether target is [operate.ErrNotFound].
func (*notFoundError) Is(target error) bool { return target == operate.ErrNotFound }

// show prints an inspection.
func (a *app) show(s *source, i *inspection) error {
	if a.output == outputJSON {
		return a.json(i)
	}
	rows := i.rows(s.now())
	if i.State == operate.StateUnknown {
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

// derivedKeys are the derived keys that are known to have been handed out, and those of other names.
func derivedKeys(r store.Record, names []string) map[string]string {
	d := idempotent.Description{Protected: true, RecordKey: r.Key, Fingerprint: r.Fingerprint}
	keys := make(map[string]string)
	for _, name := range append(slices.Clone(names), r.Derived...) {
		keys[name] = d.DerivedKey(name)
	}
	return keys
}

func sortedNames(keys map[string]string) []string { return slices.Sorted(maps.Keys(keys)) }
