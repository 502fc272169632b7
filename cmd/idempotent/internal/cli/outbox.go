package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
)

// openOutbox connects to the table of an outbox, which is another one than that of the records.
func (a *app) openOutbox(ctx context.Context, cmd *cobra.Command) (*source, error) {
	given := cmd.Flags().Changed
	switch {
	case a.demo:
		return nil, usagef("--demo has records and no messages")
	case given("sort-key") || given("partition") || given("attribute"):
		return nil, usagef("--sort-key, --partition and --attribute are about records: the attributes of messages have fixed names")
	}
	if !given("table") {
		a.target.Table = a.world.Getenv("OUTBOX_TABLE")
	}
	if a.target.Table == "" {
		return nil, usagef("there is no outbox: set --table or OUTBOX_TABLE")
	}
	conn, err := connect.Open(ctx, a.target)
	if err != nil {
		return nil, err
	}
	return &source{now: a.world.Now, conn: conn}, nil
}

// messageLine is a parked message for programs.
type messageLine struct {
	ID        string    `json:"id"`
	Topic     string    `json:"topic"`
	Tries     int       `json:"tries"`
	CreatedAt time.Time `json:"created_at"`
	ParkedAt  time.Time `json:"parked_at"`
	Group     string    `json:"group,omitempty"`
	Tenant    string    `json:"tenant,omitempty"`
	Trace     string    `json:"trace,omitempty"`
	BodyBytes int       `json:"body_bytes,omitempty"`
	// Body and Attributes are there if they were asked for.
	Body       any               `json:"body,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

func lineOfMessage(p outbox.ParkedMessage) messageLine {
	return messageLine{
		ID: p.ID, Topic: p.Topic, Tries: p.Tries, CreatedAt: p.CreatedAt, ParkedAt: p.ParkedAt, Group: p.Group, Tenant: p.Tenant, Trace: p.Trace,
		BodyBytes: len(p.Body),
	}
}

// notParkedError is an id of which there is no parked message.
type notParkedError struct{ id string }

func (e *notParkedError) Error() string {
	return fmt.Sprintf("there is no parked message %q: it was redriven or delivered, or there never was one; nothing was changed", e.id)
}

// Is reports whether target is [operate.ErrNotFound].
func (*notParkedError) Is(target error) bool { return target == operate.ErrNotFound }

// outboxSentence says why the table of an outbox did not do what it was asked, empty if it did not fail.
func (a *app) outboxSentence(err error) string {
	answer, isAnswer := errors.AsType[smithy.APIError](err)
	redriving, isRedriving := errors.AsType[*redriveError](err)
	switch {
	case isRedriving:
		return fmt.Sprintf("nobody knows whether message %q was redriven: %s; parked lists what is left", redriving.id, a.outboxSentence(redriving.err))
	case !strings.HasPrefix(err.Error(), "outbox: "):
		return ""
	case !isAnswer:
		return fmt.Sprintf("%s: %s", a.name(), cause(err))
	case answer.ErrorCode() == "ResourceNotFoundException":
		return a.noTable()
	case answer.ErrorCode() == "AccessDeniedException":
		return fmt.Sprintf("not allowed on %s: %s", a.name(), cause(err))
	case answer.ErrorCode() == "ValidationException" && strings.Contains(answer.ErrorMessage(), "index"):
		return fmt.Sprintf("%s has no index %q: it is no outbox, or lacks the index. A message whose id is known is redriven without it, with --id", a.name(), outbox.Index)
	case answer.ErrorCode() == "ValidationException":
		return fmt.Sprintf("%s is no outbox: %s", a.name(), cause(err))
	default:
		return fmt.Sprintf("%s: %s", a.name(), cause(err))
	}
}
