package outbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/report"
)

// Drain delivers the messages that are due: those that the stream has put off or lost, or all of a
// table without a stream. Then it looks at what is left. Run it on a schedule, say every minute;
// several may run at once. It ends before the deadline of ctx.
//
// An error says that not all of the index could be read, or that there were less than two seconds
// to begin with. The report is true all the same.
func (r *Relay) Drain(ctx context.Context) (report.Relay, error) {
	return r.run(ctx, "drain", func(ctx context.Context, t *tally) error {
		early, cancel := earlier(ctx, countTime)
		defer cancel()
		if t.relay.Late(early) {
			return errTooShort
		}
		err := t.relay.Drain(early)
		left, foreign, leftErr := r.box.left(ctx)
		if leftErr == nil {
			t.r.Left, t.r.Foreign = &left, foreign
		}
		return errors.Join(err, leftErr)
	})
}

// What is kept of an invocation to count what is left, and to report: a quarter of it at most.
const (
	countTime  = 5 * time.Second
	reportTime = 300 * time.Millisecond
)

func earlier(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(by, time.Until(deadline)/4)))
}

const maxCounted = 20 * pageSize

// left counts what is in the index, as far as there is time.
func (b *box) left(ctx context.Context) (l report.Left, foreign int, err error) {
	ctx, cancel := earlier(ctx, reportTime)
	defer cancel()
	count := func(shard string) (n int, err error) {
		for m, err := range b.entries(ctx, shard, &foreign) {
			switch {
			case ctx.Err() != nil || n == maxCounted:
				l.Partial = true
				return n, nil // the time is over, or there are too many, and what was counted is true
			case err != nil:
				return 0, err
			case shard != givenUpShard && m.Message.CreatedAt > 0:
				l.Oldest = max(l.Oldest, time.Since(time.UnixMilli(m.Message.CreatedAt)))
			}
			n++
		}
		return n, nil
	}
	for shard := range relay.Shards {
		n, err := count(strconv.Itoa(shard))
		if err != nil {
			return report.Left{}, 0, err
		}
		l.Pending += n
	}
	l.GivenUp, err = count(givenUpShard)
	return l, foreign, err
}
