package mail

import (
	"context"
	"log/slog"

	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/outbox"
)

// NewRelay returns the relay of a function whose environment has OUTBOX_TABLE and MAIL_URL or MAIL_SECRET.
func NewRelay(ctx context.Context, base environment.Base) (*outbox.Relay, error) {
	table, err := environment.Table("OUTBOX_TABLE", "the messages that leave with the orders")
	if err != nil {
		return nil, err
	}
	service, err := base.Service(ctx, Name, Timeout)
	if err != nil {
		return nil, err
	}
	if service == nil {
		service = downstream.Within(Name, counting.New())
	}
	return outbox.NewRelay(base.DynamoDB(), table, Deliver(service), outbox.WithObserver(report)), nil
}

// report logs what an invocation did.
func report(ctx context.Context, r outbox.Report) {
	attrs := []slog.Attr{
		slog.String("source", string(r.Source)), slog.Int("delivered", r.Delivered), slog.Int("failed", r.Failed), slog.Int("parked", r.Parked),
	}
	level := slog.LevelInfo
	for _, p := range r.Problems {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Group(p.ID, slog.String("outcome", p.Outcome), slog.Any("error", p.Err)))
	}
	if r.Err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.Any("error", r.Err))
	}
	slog.LogAttrs(ctx, level, "messages", attrs...)
}
