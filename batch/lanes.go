package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/report"
)

func (b *batch[R, Out]) work(ctx context.Context) {
	lanes, copies := b.lanes(ctx)
	b.atOnce(ctx, lanes)
	for i, first := range copies {
		b.ends[i] = b.ends[first]
	}
	if b.source != queue.SQS {
		b.waitForOthers(ctx, lanes)
	}
}

func (b *batch[R, Out]) atOnce(ctx context.Context, lanes [][]int) {
	slots := make(chan struct{}, b.c.Concurrency)
	var running sync.WaitGroup
	for _, lane := range lanes { // of which some are empty
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			b.inOrder(ctx, lane)
		})
	}
	running.Wait()
}

// lanes returns the indexes of the records that run one after the other: those of a group, and
// those with one key; or, if nothing is to run at the same time, all of them. A message with the id
// of an earlier one is its copy. A sequence number says nothing of that kind: records of a stream
// that were sent together, and taken apart by the function, have the same one.
func (b *batch[R, Out]) lanes(ctx context.Context) (lanes [][]int, copies map[int]int) {
	copies = map[int]int{}
	first, last := map[string]int{}, map[string]int{}
	lead := make([]int, len(b.records)) // an earlier record of the same lane, or itself if it is the first
	leader := func(i int) int {
		for i != lead[i] {
			i = lead[i]
		}
		return i
	}
	for i, rec := range b.records {
		if original, twice := first[rec.ID]; twice && b.source == queue.SQS {
			copies[i] = original
			continue
		}
		first[rec.ID] = i
		lead[i] = i
		for _, name := range b.sharedBy(ctx, rec) {
			if before, known := last[name]; known && name != "" {
				one, other := leader(before), leader(i)
				lead[max(one, other)] = min(one, other)
			}
			last[name] = i
		}
	}
	lanes = make([][]int, len(b.records)) // one for each leader
	for i := range b.records {
		if _, copied := copies[i]; !copied {
			lanes[leader(i)] = append(lanes[leader(i)], i)
		}
	}
	return lanes, copies
}

// sharedBy returns what the records of a lane have in common: their group, and the name of the
// stored record, by which copies know each other; both may be empty. Why there is no such name, an
// error or a panic, the handler reports.
func (b *batch[R, Out]) sharedBy(ctx context.Context, rec queue.Record[R]) []string {
	if b.c.Concurrency == 1 || len(b.records) == 1 {
		return []string{"all"}
	}
	var key string
	_ = execution.Guarded(func() error {
		d, err := b.handler.Describe(ctx, rec.Event)
		key = d.RecordKey
		return err
	})
	return []string{rec.Group, key}
}

// inOrder runs the records of a lane, those of a group up to the first one that has to come again.
func (b *batch[R, Out]) inOrder(ctx context.Context, lane []int) {
	stopped := map[string]bool{}
	for _, i := range lane {
		group := b.records[i].Group
		if stopped[group] {
			b.ends[i] = report.BatchProblem{Outcome: report.RecordNotBegun, Again: true}
			continue
		}
		b.ends[i] = b.one(ctx, b.records[i], b.ends[i].Outcome == report.RecordInProgress)
		if b.ends[i].Outcome == report.RecordInProgress {
			b.ends[i].FunctionErr = b.setVisibility(ctx, i)
		}
		stopped[group] = b.ends[i].Again && group != ""
	}
}

// restOfLease is for how long another execution is protected, and a second at least: clocks differ.
func restOfLease(err error) time.Duration {
	var rest time.Duration
	for e, is := errors.AsType[*idempotent.Error](err); is; e, is = errors.AsType[*idempotent.Error](e.Err) {
		rest = max(rest, e.RetryAfter)
	}
	return max(rest, time.Second)
}

// waitForOthers waits for the executions that had records in progress, and tries those once more,
// with what is behind them in their groups. Lambda repeats a stream at once, and not often: its
// retries would be over before the leases are. So it waits also where there is no time for a try,
// as long as there is time for the answer.
func (b *batch[R, Out]) waitForOthers(ctx context.Context, lanes [][]int) {
	for n, lane := range lanes {
		again := map[string]bool{} // the groups, whose records are all in one lane
		lanes[n] = slices.DeleteFunc(lane, func(i int) bool {
			group, inProgress := b.records[i].Group, b.ends[i].Outcome == report.RecordInProgress
			again[group] = inProgress || again[group] && group != ""
			return !again[group]
		})
	}
	b.waits = true
	b.atOnce(ctx, lanes)
}

// patient has the handler wait for another execution: without a deadline, for a default lease.
func (b *batch[R, Out]) patient(ctx context.Context) context.Context {
	until := time.Now().Add(30 * time.Second)
	if deadline, limited := ctx.Deadline(); limited {
		until = deadline.Add(-b.c.Reserve)
	}
	return execution.Patient(ctx, execution.Patience{Until: until, Least: b.least()})
}

// setVisibility has a message in progress come again, and those of its group behind it.
func (b *batch[R, Out]) setVisibility(ctx context.Context, first int) error {
	if b.c.Visibility == nil {
		return nil
	}
	var messages []events.SQSMessage
	group := b.records[first].Group
	for i, rec := range b.records[first:] {
		if i == 0 || group != "" && rec.Group == group {
			m, _ := any(rec.Event).(events.SQSMessage) // newRunner has refused it for others
			messages = append(messages, m)
		}
	}
	return execution.Guarded(func() error { return b.c.Visibility(ctx, messages, restOfLease(b.ends[first].Err)) })
}
