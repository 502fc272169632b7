package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// replay answers with the result of a completed record. Where nobody looks at it, it is not read.
func (d *Delivery) replay(ctx context.Context, held store.Record) Result {
	d.Report.Trace, d.Report.Created = held.Trace, held.CompletedAt
	if d.Unwanted && held.Reason != store.ReasonTerminal {
		held.Result, held.Parts = nil, ""
		return Result{Outcome: report.Replayed, Record: held, Expires: held.Expiry}
	}
	return d.read(ctx, held)
}

// read reads the result of a completed record, and checks that it is the one that was sealed. A
// record without a seal is one of AWS Powertools, whose result nothing vouches for.
func (d *Delivery) read(ctx context.Context, held store.Record) Result {
	if held.Parts != "" { // the store has verified them
		result, err := d.claim.readResult(ctx, held)
		if err != nil {
			return unanswered(err)
		}
		held.Result = result
	} else if held.Seal != "" && !held.Sealed(held.Result) {
		return unreadableRecord("its result is not the one that was committed")
	}
	return Result{Outcome: report.Replayed, Record: held, Expires: held.Expiry}
}

// longestRead bounds the reading of a result. It is enough for 15 MB on a slow network, more than
// any function returns.
const longestRead = 30 * time.Second

// readResult gives the store most of the time until the deadline: it reads piece by piece, and
// repeats what is not answered. The claim is over, so its budget bounds only an outage: what could
// be stored can be replayed.
func (c *claim) readResult(ctx context.Context, held store.Record) ([]byte, error) {
	reader, ok := c.Store.(store.ResultReader)
	if !ok {
		return nil, &store.UnreadableError{Reason: "its result is kept in parts, which this store cannot read"}
	}
	end, budget := c.endOf(longestRead), time.Now().Add(c.Timing.ClaimBudget)
	for failures := 1; ; failures++ {
		try, cancel := partOf(ctx, end, time.Until(end)/4*3)
		result, err := reader.ReadResult(try, held)
		cancel()
		// A try without an answer was no outage: it may only have been slow.
		outage := !time.Now().Before(budget) && !timedOut(err) && !errors.Is(err, context.DeadlineExceeded)
		if err == nil || !store.MayPass(err) || outage || !pause(ctx, end, failures) {
			return result, err
		}
	}
}
