package outbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// Drain delivers the messages that are due: those that the stream has put off or lost, or all of a table without a stream. Then it looks at
// what is left. Run it on a schedule, say every minute, with reserved concurrency of one or without: several may run at once. It ends before
// the deadline of ctx.
//
// A message that fails is tried again after a pause that grows, see [WithMaxTries], and is parked at the end.
//
// An error says that the index could not be read, at least in part, or that there were less than two seconds to begin with. The report is
// true all the same.
func (r *Relay) Drain(ctx context.Context) (Report, error) {
	t := &tally{r: Report{Table: tableOf(r.table), Source: FromDrain}}
	if r.relay.Late(ctx) {
		return r.done(ctx, t, errTooShort), errTooShort
	}
	err := r.drain(context.WithValue(ctx, tallyKey{}, t))
	left, leftErr := r.box.left(ctx)
	if leftErr == nil {
		t.r.Left = &left
	}
	err = errors.Join(err, leftErr)
	return r.done(ctx, t, err), err
}

// countTime is what is kept of an invocation to count what is left, unless a quarter of it is less.
const countTime = 5 * time.Second

func (r *Relay) drain(ctx context.Context) error {
	if deadline, limited := ctx.Deadline(); limited {
		early, cancel := context.WithDeadline(ctx, deadline.Add(-min(countTime, time.Until(deadline)/4)))
		defer cancel()
		ctx = early
	}
	return r.relay.Drain(ctx)
}

// maxPages bounds how much of each shard is counted.
const maxPages = 20

// left counts what is in the index.
func (b *box) left(ctx context.Context) (Left, error) {
	var l Left
	for shard := range relay.Shards {
		oldest, err := b.count(ctx, strconv.Itoa(shard), &l.Pending, &l.Partial)
		if err != nil {
			return Left{}, err
		}
		if oldest > 0 {
			l.Oldest = max(l.Oldest, time.Since(time.UnixMilli(oldest)))
		}
	}
	_, err := b.count(ctx, parkedShard, &l.Parked, &l.Partial)
	return l, err
}

// count adds the messages of a shard to n, and returns when the oldest of them was made, 0 for none.
func (b *box) count(ctx context.Context, shard string, n *int, partial *bool) (oldest int64, err error) {
	cursor := ""
	for range maxPages {
		page, next, err := b.query(ctx, shard, cursor)
		if err != nil {
			return 0, err
		}
		*n += len(page)
		for _, m := range page {
			if oldest == 0 || m.CreatedAt < oldest {
				oldest = m.CreatedAt
			}
		}
		if next == "" {
			return oldest, nil
		}
		cursor = next
	}
	*partial = true
	return oldest, nil
}
