package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func contextChecks() []check {
	return slices.Concat(endedChecks("was cancelled", cancelled), endedChecks("is past its deadline", late))
}

func endedChecks(ended string, end ending) []check {
	return []check{
		{"that " + ended + " fails a Claim", func(p *probe) { claimEnded(p, end) }},
		{"that " + ended + " fails a Swap", func(p *probe) { swapEnded(p, end) }},
		{"that " + ended + " fails a Delete", func(p *probe) { deleteEnded(p, end) }},
		{"that " + ended + " fails a Get", func(p *probe) { getEnded(p, end) }},
		{"that " + ended + " fails a ReadResult", func(p *probe) { readResultEnded(p, end) }},
	}
}

// ending returns a context that is over before the call.
type ending func(context.Context) context.Context

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func late(ctx context.Context) context.Context {
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	cancel() // changes nothing: it has ended before
	return ctx
}

func claimEnded(p *probe, end ending) {
	r := p.inProgress()
	_, _, err := p.store.Claim(end(p.t.Context()), r, p.now)
	if p.failedUnapplied("Claim", err) {
		p.absent(r.Key)
	}
}

func swapEnded(p *probe, end ending) {
	seen := p.plant(p.inProgress())
	_, _, err := p.store.Swap(end(p.t.Context()), seen, takeover(seen))
	if p.failedUnapplied("Swap", err) {
		p.holds(seen)
	}
}

func deleteEnded(p *probe, end ending) {
	seen := p.plant(p.inProgress())
	_, err := p.store.Delete(end(p.t.Context()), seen)
	if p.failedUnapplied("Delete", err) {
		p.holds(seen)
	}
}

func getEnded(p *probe, end ending) {
	held := p.plant(p.inProgress())
	_, _, err := p.store.Get(end(p.t.Context()), held.Key)
	p.failed("Get", err)
}

func readResultEnded(p *probe, end ending) {
	done := p.plant(completion(p.inProgress(), p.large()))
	r := p.get(done.Key)
	if r.Parts == "" {
		p.t.Skipf("the store keeps a result of %d bytes inside its record", len(done.Result))
	}
	reader, ok := p.store.(store.ResultReader)
	if !ok {
		p.t.Fatalf("Parts is set, but %T is no ResultReader", p.store)
	}
	_, err := reader.ReadResult(end(p.t.Context()), r)
	p.failed("ReadResult", err)
}

func (p *probe) failed(call string, err error) {
	p.t.Helper()
	if err == nil {
		p.t.Fatalf("%s with a context that has ended returned no error", call)
	}
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		p.t.Fatalf("%s with a context that has ended reported the record as unreadable: %v", call, unreadable)
	}
}

// failedUnapplied reports whether the store says that the write was not applied. If it leaves that open, the record may
// be either way.
func (p *probe) failedUnapplied(call string, err error) bool {
	p.t.Helper()
	p.failed(call, err)
	var failure *store.Error
	return errors.As(err, &failure) && failure.NotApplied
}
