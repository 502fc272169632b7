package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

// work runs the records, some of them at the same time. On a stream it waits then for those that are in progress elsewhere.
func (b *batch[R, Out]) work(ctx context.Context) {
	lanes, copies := b.lanes()
	b.atOnce(ctx, lanes)
	for i, first := range copies {
		b.ends[i] = b.ends[first]
	}
	if b.source != sourceSQS {
		b.waitForLeases(ctx)
	}
}

// atOnce runs lanes at the same time, as many as may. Of copies that begin together the first one of the event is the first.
func (b *batch[R, Out]) atOnce(ctx context.Context, lanes [][]int) {
	slots := make(chan struct{}, b.c.concurrency)
	var running sync.WaitGroup
	for _, lane := range lanes {
		slots <- struct{}{}
		first := b.inLine(ctx, b.records[lane[0]])
		running.Go(func() {
			defer func() { <-slots }()
			b.inOrder(ctx, lane, first)
		})
	}
	running.Wait()
}

// lanes returns the indexes of the records that run one after the other: those of a group, or, if nothing is to run at the same time, all of them. A
// message with the id of an earlier one is its copy. A sequence number says nothing of that kind: records of a stream that were sent together, and
// taken apart by the function, have the same one.
func (b *batch[R, Out]) lanes() (lanes [][]int, copies map[int]int) {
	copies = map[int]int{}
	first, place := map[string]int{}, map[string]int{}
	for i, rec := range b.records {
		if original, twice := first[rec.id]; twice && b.source == sourceSQS {
			copies[i] = original
			continue
		}
		first[rec.id] = i
		p, known := place[rec.group]
		switch {
		case b.c.concurrency == 1 && len(lanes) > 0:
			p = 0
		case rec.group == "" || !known:
			p = len(lanes)
			place[rec.group] = p
			lanes = append(lanes, nil)
		}
		lanes[p] = append(lanes[p], i)
	}
	return lanes, copies
}

// inOrder runs the records of a lane, those of a group up to the first one that has to come again. The first record is in line for its key.
func (b *batch[R, Out]) inOrder(ctx context.Context, lane []int, t turn) {
	stopped := map[string]bool{}
	for at, i := range lane {
		group := b.records[i].group
		if stopped[group] {
			b.ends[i] = end{outcome: report.RecordNotBegun, again: true}
			continue
		}
		if at > 0 {
			t = b.inLine(ctx, b.records[i])
		}
		b.ends[i] = b.one(ctx, b.records[i], t)
		if b.ends[i].again && b.ends[i].outcome == report.RecordInProgress {
			b.ends[i].functionErr = b.setVisibility(ctx, i, lane[at+1:])
		}
		stopped[group] = b.ends[i].again && group != ""
	}
}

// restOfLease returns for how long another execution is protected, at least a second: no clock is exact.
func restOfLease(err error) time.Duration {
	var rest time.Duration
	if running, is := errors.AsType[*idempotent.InProgressError](err); is {
		rest = running.RetryAfter
	} else if other, is := errors.AsType[*idempotent.SupersededError](err); is {
		rest = other.RetryAfter
	}
	return max(rest, time.Second)
}

// waitForLeases tries the records once more that other executions had in progress, with what is behind them in their groups, when their leases have
// ended. Lambda repeats a stream at once, and not often: its retries would be over before the leases are. So it waits also where there is no time for a
// try, as long as there is time for the answer.
func (b *batch[R, Out]) waitForLeases(ctx context.Context) {
	var lanes [][]int
	var longest time.Duration
	for i, e := range b.ends {
		if rest := time.Until(e.until); e.outcome == report.RecordInProgress && !b.lateIn(ctx, rest) {
			lanes = append(lanes, b.groupFrom(i))
			longest = max(longest, rest)
		}
	}
	if len(lanes) > 0 && sleep(ctx, longest) {
		b.atOnce(ctx, lanes)
	}
	longest = 0
	for _, e := range b.ends {
		if e.outcome == report.RecordInProgress {
			longest = max(longest, time.Until(e.until))
		}
	}
	if deadline, limited := ctx.Deadline(); limited {
		longest = min(longest, time.Until(deadline)-b.c.reserve)
	}
	sleep(ctx, longest)
}

// groupFrom returns the indexes of a record and of those behind it in its group.
func (b *batch[R, Out]) groupFrom(first int) (group []int) {
	for i := first; i < len(b.records); i++ {
		if b.records[i].group == b.records[first].group {
			group = append(group, i)
		}
	}
	return group
}

// sleep waits for d. It returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// setVisibility says when a message comes again that another invocation executes, and those of its group behind it.
func (b *batch[R, Out]) setVisibility(ctx context.Context, first int, behind []int) (err error) {
	if b.c.visibility == nil {
		return nil
	}
	var messages []events.SQSMessage
	for _, i := range append([]int{first}, behind...) {
		m, is := any(b.records[i].event).(events.SQSMessage)
		if group := b.records[i].group; is && (i == first || group != "" && group == b.records[first].group) {
			messages = append(messages, m)
		}
	}
	if fault := guarded(func() { err = b.c.visibility(ctx, messages, restOfLease(b.ends[first].err)) }); fault != nil {
		return fault
	}
	return err
}
