package cli

import (
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/outbox"
)

// flagTopic is a flag of two commands.
const flagTopic = "topic"

// parking is a listing of parked messages.
type parking struct {
	app    *app
	topic  string
	limit  int
	body   bool
	listed int
	cut    bool
}

func (a *app) parked() *cobra.Command {
	p := &parking{app: a}
	cmd := &cobra.Command{
		Use:   "parked",
		Short: "Lists the messages that nobody delivers any more",
		Long: `Lists the messages of an outbox that are parked: they were tried as often as they may be, or can never be delivered. Those come first
that have waited longest. Nobody delivers them before somebody has redriven them.

--table is the table of the outbox here, by default OUTBOX_TABLE. The messages are found through an index, which holds nothing that is
delivered, and each is read.

Bodies and attributes are shown with --body only: they are what the receiver gets, and may be personal.`,
		Example: `  idempotent parked --table outbox
  idempotent parked --table outbox --topic order-placed --limit 10 --body -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error { return p.run(cmd) }),
	}
	f := cmd.Flags()
	f.StringVar(&p.topic, flagTopic, "", "messages of this `topic` only")
	f.IntVar(&p.limit, "limit", 0, "stop after this `number` of messages; 0 for all")
	f.BoolVar(&p.body, "body", false, "show bodies and attributes, too")
	noCompletion(cmd, flagTopic, "limit")
	return cmd
}

func (p *parking) run(cmd *cobra.Command) error {
	if p.limit < 0 {
		return usagef("--limit %d is negative", p.limit)
	}
	s, err := p.app.openOutbox(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	var rows []outbox.ParkedMessage
	for m, err := range outbox.Parked(cmd.Context(), s.conn.Client, s.conn.Table) {
		switch {
		case err != nil:
			return err
		case p.topic != "" && m.Topic != p.topic:
			continue
		case p.limit > 0 && p.listed == p.limit:
			p.cut = true
		}
		if p.cut {
			break
		}
		p.listed++
		if p.app.output == outputJSON {
			if err := p.print(m); err != nil {
				return err
			}
			continue
		}
		if rows = append(rows, m); len(rows) == chunk {
			if err := p.flush(s, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if err := p.flush(s, rows); err != nil {
		return err
	}
	return p.sum()
}

// print prints a message for programs.
func (p *parking) print(m outbox.ParkedMessage) error {
	line := lineOfMessage(m)
	if p.body {
		line.Body, line.Attributes = string(m.Body), m.Attributes
		if json.Valid(m.Body) {
			line.Body = m.Body
		}
	}
	return p.app.json(line)
}

// flush prints messages under a head of their own.
func (p *parking) flush(s *source, messages []outbox.ParkedMessage) error {
	if len(messages) == 0 {
		return nil
	}
	head := show.Cells("PARKED", "", "CREATED", "TRIES", "TOPIC", "ID")
	if p.body {
		head = append(head, show.Cells("BODY", "ATTRIBUTES")...)
	}
	table := [][]show.Cell{head}
	for _, m := range messages {
		row := rowOfMessage(s, m)
		if p.body {
			attributes := ""
			if len(m.Attributes) > 0 {
				text, err := json.Marshal(m.Attributes)
				if err != nil {
					return err
				}
				attributes = string(text)
			}
			row = append(row, show.Cells(string(m.Body), attributes)...)
		}
		table = append(table, row)
	}
	return p.app.out().Table(table)
}

// rowOfMessage is what people read of a message.
func rowOfMessage(s *source, m outbox.ParkedMessage) []show.Cell {
	return []show.Cell{
		{Text: show.Instant(m.ParkedAt), Colour: show.Red},
		{Text: show.Relative(m.ParkedAt, s.now())},
		{Text: show.Relative(m.CreatedAt, s.now())},
		{Text: strconv.Itoa(m.Tries)},
		{Text: m.Topic},
		{Text: m.ID},
	}
}

// sum says on standard error what was found.
func (p *parking) sum() error {
	text := count(int64(p.listed), "message")
	switch {
	case p.cut:
		text += ", and there may be more: --limit"
	case p.listed == 0:
		text = "No messages are parked"
	}
	return p.app.err().Line(text + ".")
}
