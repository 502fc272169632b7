package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// counter counts the records of some operations that somebody has to settle: those that are UNKNOWN, and those that were released with
// steps and are due. It also counts those of them that are parked.
type counter struct {
	operator   *operate.Operator
	operations []string
	write      func(observe.Attention) error
}

// count writes a line for each operation. An operation that cannot be counted gets none: half a count would look like half of the
// trouble. The others get theirs.
func (c *counter) count(ctx context.Context) error {
	var failed error
	for _, operation := range c.operations {
		a, err := c.of(ctx, operation)
		if err == nil {
			err = c.write(a)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("count %s: %w", operation, err))
		}
	}
	return failed
}

// of counts one operation. It reads page by page and keeps nothing, so there may be any number of records.
func (c *counter) of(ctx context.Context, operation string) (observe.Attention, error) {
	a, now := observe.Attention{Operation: operation}, time.Now()
	for listed, err := range c.operator.List(ctx, operate.Query{Operation: operation}) {
		var unreadable *store.UnreadableError
		switch {
		case errors.As(err, &unreadable): // one record, which somebody has to look at all the more
			slog.WarnContext(ctx, "a record cannot be understood", "record", listed.Record.Key, "error", err)
			a.Open++
		case err != nil:
			return observe.Attention{}, err
		default:
			a.Open++
			if listed.Parked {
				a.Parked++
			}
			a.Oldest = max(a.Oldest, now.Sub(listed.Record.AttentionAt))
		}
	}
	return a, nil
}
