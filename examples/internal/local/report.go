package local

import (
	"context"
	"log/slog"

	"github.com/go-idempotent/idempotent"
)

// Report tells on the console what became of each request, and how often services have acted so far, as counts says. It may be nil.
func Report(counts func() []slog.Attr) idempotent.Option {
	return idempotent.WithObserver(func(ctx context.Context, e idempotent.Event) {
		attrs := []slog.Attr{slog.String("outcome", string(e.Outcome))}
		if e.Settlement != "" {
			attrs = append(attrs, slog.String("settlement", string(e.Settlement)), slog.Int("attempt", e.Attempt))
		}
		if e.StoreErr != nil {
			attrs = append(attrs, slog.Any("storeError", e.StoreErr))
		}
		if counts != nil {
			attrs = append(attrs, counts()...)
		}
		slog.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
	})
}
