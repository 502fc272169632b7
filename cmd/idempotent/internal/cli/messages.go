package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
)

func (a *app) messages() *cobra.Command {
	cmd := &cobra.Command{
		Use:        "messages",
		Short:      "Lists messages that were given up, and has them delivered again",
		SuggestFor: []string{"redrive", "outbox"},
		Args:       noArgument,
		RunE:       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.messagesList(), a.redrive())
	return cmd
}

// givenUp reads the messages of a topic, or of all, that were given up, the oldest first.
func (a *app) givenUp(ctx context.Context, table, topic string) (found []outbox.GivenUpMessage, err error) {
	for message, err := range outbox.GivenUp(ctx, a.conn.Client, table) {
		if err != nil {
			return nil, err
		}
		if topic == "" || message.Topic == topic {
			found = append(found, message)
		}
	}
	slices.SortStableFunc(found, func(a, b outbox.GivenUpMessage) int { return a.GivenUpAt.Compare(b.GivenUpAt) })
	return found, nil
}

// openOutbox connects to the table of an outbox, which is another one than that of the records.
func (a *app) openOutbox(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case a.demo:
		return usagef("--demo has records and no messages")
	case given("sort-key") || given("partition") || given("attribute"):
		return usagef("--sort-key, --partition and --attribute are about records: the attributes of messages " +
			"have fixed names")
	}
	if !given("table") {
		a.target.Table = a.world.Getenv("OUTBOX_TABLE")
	}
	if a.target.Table == "" {
		return usagef("there is no outbox: set --table or OUTBOX_TABLE")
	}
	return a.connect(cmd.Context())
}

type messageLine struct {
	ID        string    `json:"id"`
	Topic     string    `json:"topic"`
	Tries     int       `json:"tries"`
	CreatedAt time.Time `json:"created_at"`
	GivenUpAt time.Time `json:"given_up_at"`
	ErrorType string    `json:"error_type,omitempty"`
	Group     string    `json:"group,omitempty"`
	Tenant    string    `json:"tenant,omitempty"`
	Trace     string    `json:"trace,omitempty"`
	BodyBytes int       `json:"body_bytes,omitempty"`
	// Body and Attributes are there if they were asked for.
	Body       any               `json:"body,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

func (a *app) listMessages(messages []outbox.GivenUpMessage, body bool) error {
	lines := make([]messageLine, len(messages))
	for i, m := range messages {
		lines[i] = messageLine{
			ID: m.ID, Topic: m.Topic, Tries: m.Tries, CreatedAt: m.CreatedAt, GivenUpAt: m.GivenUpAt,
			ErrorType: m.Failure, Group: m.Group, Tenant: m.Tenant, Trace: m.Trace, BodyBytes: len(m.Body),
		}
		if body {
			lines[i].Body, lines[i].Attributes = string(m.Body), m.Attributes
			if json.Valid(m.Body) {
				lines[i].Body = m.Body
			}
		}
	}
	return printAll(a, lines, a.tableOf(messages, body))
}

// tableOf are messages for people, who get the bodies as columns of their own.
func (a *app) tableOf(messages []outbox.GivenUpMessage, body bool) [][]show.Cell {
	table := append(make([][]show.Cell, 0, 1+len(messages)),
		show.Cells("GIVEN UP", "", "CREATED", "TRIES", "ERROR", "TOPIC", "ID"))
	if body {
		table[0] = append(table[0], show.Cells("BODY", "ATTRIBUTES")...)
	}
	now := a.world.Now()
	for _, m := range messages {
		row := append([]show.Cell{{Text: show.Instant(m.GivenUpAt), Colour: show.Red}}, show.Cells(
			show.Relative(m.GivenUpAt, now), show.Relative(m.CreatedAt, now), strconv.Itoa(m.Tries), m.Failure,
			m.Topic, m.ID)...)
		if body {
			attributes, _ := json.Marshal(m.Attributes) //nolint:errchkjson // texts
			row = append(row, show.Cells(string(m.Body), strings.TrimPrefix(string(attributes), "null"))...)
		}
		table = append(table, row)
	}
	return table
}

func (a *app) messagesList() *cobra.Command {
	var topic string
	var limit int
	var body bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists the messages that nobody delivers any more",
		Long: `Lists the messages of an outbox that were given up: they were tried as often
as they may be, or can never be delivered. Those that have waited longest
come first. Nobody delivers them before somebody has redriven them.

--table is the table of the outbox here, by default OUTBOX_TABLE.

Bodies and attributes are shown with --body only: they are what the receiver
gets, and may be personal.`,
		Example: `  idempotent messages list --table outbox
  idempotent messages list --topic order-placed --limit 10 --body -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit %d is negative", limit)
			}
			a.lists = true
			if err := a.openOutbox(cmd); err != nil {
				return err
			}
			messages, err := a.givenUp(cmd.Context(), a.target.Table, topic)
			if err != nil {
				return err
			}
			found := len(messages)
			if limit > 0 {
				messages = messages[:min(limit, found)]
			}
			if err := a.listMessages(messages, body); err != nil {
				return err
			}
			text := show.Count(found, "message")
			switch {
			case found > len(messages):
				text += fmt.Sprintf(", of which --limit left out %d", found-len(messages))
			case found == 0:
				text = "No message was given up"
			}
			return a.err().Line(text + ".")
		},
	}
	f := cmd.Flags()
	f.StringVar(&topic, "topic", "", "messages of this `topic` only")
	f.IntVar(&limit, "limit", 0, "the oldest of them, up to this `number`; 0 for all")
	f.BoolVar(&body, "body", false, "show bodies and attributes, too")
	return cmd
}

// redriving lets messages that were given up be delivered again.
type redriving struct {
	change

	ids   []string
	all   bool
	topic string
}

func (a *app) redrive() *cobra.Command {
	r := &redriving{change: change{app: a}}
	cmd := &cobra.Command{
		Use:   "redrive (--id ID … | --all) --reason TEXT",
		Short: "Lets messages that were given up be delivered again",
		Long: `Lets messages of an outbox that were given up be delivered again, with their
tries counted anew: at once where there is a relay on the stream of the
table, else by the next drain. Mend first what kept them from being
delivered.

--table is the table of the outbox here, by default OUTBOX_TABLE. --all takes
every message that was given up, of one topic with --topic.

A message is redriven only if it is still as it was shown. If somebody else
has redriven it meanwhile, it is left as it is, the others are redriven all
the same, and the exit code is 4. Each message keeps who has redriven it
last, when and why.`,
		Example: `  idempotent messages redrive --id 0198c1f2-5b7e-7c3a-9d41-6f0e2b8a4c11 \
    --reason 'ticket 4711'
  idempotent messages redrive --all --topic order-placed \
    --reason 'ticket 4711' --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.ids, "id", nil, "the `id` of a message; may be repeated")
	f.BoolVar(&r.all, "all", false, "every message that was given up")
	f.StringVar(&r.topic, "topic", "", "with --all, messages of this `topic` only")
	f.StringVar(&r.reason, "reason", "", "why, for the messages and the audit `text`; required; no secrets")
	f.BoolVar(&r.dryRun, "dry-run", false, "say what would happen, and change nothing")
	return cmd
}

// run shows the messages, asks, and redrives each on the condition that it is as shown. One that
// has changed does not keep the others from it, any other failure does.
func (r *redriving) run(cmd *cobra.Command) error {
	switch {
	case r.all == (len(r.ids) > 0):
		return usagef("redrive needs either --id ID or --all; messages list tells the ids")
	case slices.Contains(r.ids, ""):
		return usagef("--id is empty")
	case r.topic != "" && !r.all:
		return usagef("--topic is for --all")
	}
	a, ctx := r.app, cmd.Context()
	if err := r.check("message"); err != nil {
		return err
	}
	if err := a.openOutbox(cmd); err != nil {
		return err
	}
	by, err := a.who()
	if err != nil {
		return err
	}
	messages, err := r.find(ctx)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return a.err().Line("No message was given up.")
	}
	agreed, err := r.confirm(ctx, "Redrive "+show.Count(len(messages), "message")+"?", by,
		func(p show.Printer) error {
			return errors.Join(p.Table(a.tableOf(messages, false)),
				p.Line("\n- Each is delivered again, with the id that it had before, and with its tries counted anew.\n"))
		},
		func() error { return a.listMessages(messages, false) })
	if err != nil || !agreed {
		return err
	}
	changed := 0
	for _, message := range messages {
		err := outbox.Redrive(ctx, a.conn.Client, a.target.Table, message, by, r.reason)
		if errors.Is(err, outbox.ErrNotGivenUp) {
			changed++
		} else if err != nil {
			return a.doubtful(message, err)
		}
		if err := a.redriven(message, by, r.reason, err == nil); err != nil {
			return err
		}
	}
	if changed > 0 {
		return said(operate.ErrChanged, "refused: of %s, %d changed since: somebody else has redriven or delivered it; "+
			"nothing was changed of that", show.Count(len(messages), "message"), changed)
	}
	return nil
}

// find reads the messages. Their bodies are nobody's business here.
func (r *redriving) find(ctx context.Context) (found []outbox.GivenUpMessage, err error) {
	table := r.app.target.Table
	if r.all {
		return r.app.givenUp(ctx, table, r.topic)
	}
	slices.Sort(r.ids)
	for _, id := range slices.Compact(r.ids) {
		m, err := outbox.FindGivenUp(ctx, r.app.conn.Client, table, id)
		if errors.Is(err, outbox.ErrNotGivenUp) {
			return nil, said(operate.ErrNotFound, "no message %q was given up: it was redriven or delivered, or there never "+
				"was one; nothing was changed", id)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

// redriven prints what was done to a message: nothing, if it has changed.
func (a *app) redriven(m outbox.GivenUpMessage, by, why string, done bool) error {
	if a.output == outputJSON {
		return a.json(redriven{m.ID, m.Topic, done, by, why, a.world.Now().UTC()})
	}
	said := show.Cell{Text: "redriven", Colour: show.Green}
	if !done {
		said = show.Cell{Text: "changed meanwhile", Colour: show.Yellow}
	}
	return a.out().Table([][]show.Cell{{said, {Text: m.Topic}, {Text: m.ID}}})
}

// doubtful is the error of a redrive that may have happened.
func (a *app) doubtful(m outbox.GivenUpMessage, err error) error {
	return fmt.Errorf("nobody knows whether message %q was redriven: %s; messages list tells what is left",
		m.ID, a.tableSentence(err))
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
