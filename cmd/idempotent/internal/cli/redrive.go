package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
)

// redriving lets parked messages be delivered again.
type redriving struct {
	app    *app
	ids    []string
	all    bool
	topic  string
	reason string
	by     string
	yes    bool
	dryRun bool
}

func (a *app) redrive() *cobra.Command {
	r := &redriving{app: a}
	cmd := &cobra.Command{
		Use:   "redrive (--id ID … | --all) --reason TEXT",
		Short: "Lets messages that are parked be delivered again",
		Long: `Lets messages of an outbox that are parked be delivered again, with their tries counted anew: at once where there is a relay on the
stream of the table, else by the next drain. Mend first what kept them from being delivered: otherwise they are parked again.

--table is the table of the outbox here, by default OUTBOX_TABLE. --all takes every message that is parked, of one topic with --topic.

A message is redriven only if it is still parked as it was shown. If somebody else has redriven it meanwhile, it is left as it is, the
others are redriven all the same, and the exit code is 4. Each message keeps who has redriven it last, when and why.`,
		Example: `  idempotent redrive --table outbox --id 0198c1f2-5b7e-7c3a-9d41-6f0e2b8a4c11 --reason 'ticket 4711: the mail is back'
  idempotent redrive --table outbox --all --topic order-placed --reason 'ticket 4711: the mail is back' --dry-run`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error { return r.run(cmd) }),
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.ids, "id", nil, "the `id` of a message; may be repeated")
	f.BoolVar(&r.all, "all", false, "every message that is parked")
	f.StringVar(&r.topic, flagTopic, "", "with --all, messages of this `topic` only")
	f.StringVar(&r.reason, "reason", "", "why, for the messages and the audit `text`; required; no secrets")
	f.StringVar(&r.by, "by", "", "who; by default the ARN of your credentials, or your user on this machine if AWS is not asked")
	f.BoolVarP(&r.yes, "yes", "y", false, "do not ask; needed if standard input is no terminal")
	f.BoolVar(&r.dryRun, "dry-run", false, "say what would happen, and change nothing")
	noCompletion(cmd, "id", flagTopic, "reason", "by")
	return cmd
}

// check finds what can be wrong before anything is read.
func (r *redriving) check() error {
	switch {
	case r.all == (len(r.ids) > 0):
		return usagef("redrive needs either --id ID or --all; parked lists the ids")
	case slices.Contains(r.ids, ""):
		return usagef("--id is empty")
	case r.topic != "" && !r.all:
		return usagef("--topic is for --all")
	case strings.TrimSpace(r.reason) == "":
		return usagef("--reason is missing: say why, for whoever looks at the message later")
	case !r.yes && !r.dryRun && !r.app.world.InTerminal:
		return usagef("standard input is no terminal, so nobody can be asked: add --yes, or --dry-run to see what would happen")
	default:
		return nil
	}
}

// run shows the messages, asks, and redrives each on the condition that it is as shown.
func (r *redriving) run(cmd *cobra.Command) error {
	if err := r.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	s, err := r.app.openOutbox(ctx, cmd)
	if err != nil {
		return err
	}
	by, err := r.app.who(ctx, s, r.by)
	if err != nil {
		return err
	}
	messages, err := r.find(ctx, s)
	switch {
	case err != nil:
		return err
	case len(messages) == 0:
		return r.app.err().Line("No messages are parked.")
	case r.dryRun:
		return r.dry(s, messages)
	}
	if err := r.confirm(ctx, s, messages, by); err != nil {
		return err
	}
	return r.redrive(ctx, s, messages, by)
}

// find reads the messages. Their bodies are nobody's business here.
func (r *redriving) find(ctx context.Context, s *source) (found []outbox.ParkedMessage, err error) {
	add := func(m outbox.ParkedMessage) {
		m.Body = nil
		found = append(found, m)
	}
	if r.all {
		for m, err := range outbox.Parked(ctx, s.conn.Client, s.conn.Table) {
			if err != nil {
				return nil, err
			}
			if r.topic == "" || m.Topic == r.topic {
				add(m)
			}
		}
		return found, nil
	}
	ids := slices.Clone(r.ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		m, err := outbox.FindParked(ctx, s.conn.Client, s.conn.Table, id)
		switch {
		case errors.Is(err, outbox.ErrNotParked):
			return nil, &notParkedError{id}
		case err != nil:
			return nil, err
		}
		add(m)
	}
	return found, nil
}

// dry prints what would happen.
func (r *redriving) dry(s *source, messages []outbox.ParkedMessage) error {
	if r.app.output == outputJSON {
		for _, m := range messages {
			if err := r.app.json(lineOfMessage(m)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := r.list(r.app.out(), s, messages); err != nil {
		return err
	}
	return r.app.out().Line("\nNothing was changed: --dry-run.")
}

// list shows the messages, and what happens to them.
func (r *redriving) list(p show.Printer, s *source, messages []outbox.ParkedMessage) error {
	table := make([][]show.Cell, 0, 1+len(messages))
	table = append(table, show.Cells("PARKED", "", "CREATED", "TRIES", "TOPIC", "ID"))
	for _, m := range messages {
		table = append(table, rowOfMessage(s, m))
	}
	if err := p.Table(table); err != nil {
		return err
	}
	return p.Line("\n- Each is delivered again, with the id that it had before, and with its tries counted anew.")
}

// confirm shows what is about to happen and asks, unless that was answered in advance. A program that has answered is shown nothing.
func (r *redriving) confirm(ctx context.Context, s *source, messages []outbox.ParkedMessage, by string) error {
	if r.yes && r.app.output == outputJSON {
		return nil
	}
	e := r.app.err()
	if err := r.list(e, s, messages); err != nil {
		return err
	}
	if err := e.Line(""); err != nil || r.yes {
		return err
	}
	return r.app.ask(ctx, fmt.Sprintf("Redrive %s? (by %s)", count(int64(len(messages)), "message"), show.Printable(by)))
}

// redriven is what was done to a message, for programs.
type redriven struct {
	ID    string    `json:"id"`
	Topic string    `json:"topic"`
	Done  bool      `json:"redriven"`
	By    string    `json:"by"`
	Why   string    `json:"why"`
	Time  time.Time `json:"time"`
}

// redrive redrives the messages. One that has changed does not keep the others from it, any other failure does.
func (r *redriving) redrive(ctx context.Context, s *source, messages []outbox.ParkedMessage, by string) error {
	changed := 0
	rows := [][]show.Cell{show.Cells("OUTCOME", "TOPIC", "ID")}
	for _, m := range messages {
		err := outbox.Redrive(ctx, s.conn.Client, s.conn.Table, m, by, r.reason)
		line := redriven{m.ID, m.Topic, err == nil, by, r.reason, s.now().UTC()}
		said := show.Cell{Text: "redriven", Colour: show.Green}
		switch {
		case errors.Is(err, outbox.ErrNotParked):
			changed++
			said = show.Cell{Text: "not parked any more", Colour: show.Yellow}
		case err != nil:
			if err := r.print(rows); err != nil {
				return err
			}
			return &redriveError{m.ID, err}
		}
		rows = append(rows, []show.Cell{said, {Text: m.Topic}, {Text: m.ID}})
		if r.app.output == outputJSON {
			if err := r.app.json(line); err != nil {
				return err
			}
		}
	}
	if err := r.print(rows); err != nil || changed == 0 {
		return err
	}
	return &messagesChangedError{changed, len(messages)}
}

// print tells people what was done.
func (r *redriving) print(rows [][]show.Cell) error {
	if r.app.output == outputJSON || len(rows) == 1 {
		return nil
	}
	return r.app.out().Table(rows)
}

// messagesChangedError is a redrive of messages some of which are not parked any more.
type messagesChangedError struct{ changed, of int }

func (e *messagesChangedError) Error() string {
	return fmt.Sprintf("refused: %d of %s %s not parked any more as shown, so somebody else has redriven or delivered it; nothing was changed of that",
		e.changed, count(int64(e.of), "message"), is(e.changed))
}

// redriveError is a redrive of a message that may have been applied. Those behind it were not begun.
type redriveError struct {
	id  string
	err error
}

func (e *redriveError) Error() string { return e.err.Error() }

func (e *redriveError) Unwrap() error { return e.err }

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Is reports whether target is [operate.ErrChanged].
func (*messagesChangedError) Is(target error) bool { return target == operate.ErrChanged }
