package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// contextChecks make each call with a context that is over before it.
func contextChecks() (checks []check) {
	type end func(ctx context.Context) (context.Context, context.CancelFunc)
	says := func(ended, name string, end end, first change, t turn) {
		checks = append(checks, check{"that " + ended + " fails a " + name, func(p *probe) {
			k := p.begin(first)
			c := k.call(t)
			if c.Op == calls.ReadResult && c.Seen.Parts == "" {
				p.t.Skipf("the store keeps a result of %d bytes inside its record", len(c.Seen.Result))
			}
			k.fails(c, end)
			if c.Op == calls.Commit {
				k.fails(k.commits.with(call{Call: calls.Call{Op: calls.Apply}}, []rowKind{added}), end)
			}
		}, t.completes})
	}
	for ended, end := range map[string]end{
		"was cancelled": context.WithCancel,
		"is past its deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		},
	} {
		says(ended, "Claim", end, nil, claim())
		says(ended, "Swap", end, inProgress, swap(takeover))
		says(ended, "completion", end, inProgress, complete(charged))
		says(ended, "Delete", end, inProgress, remove())
		says(ended, "Get", end, inProgress, turn{op: calls.Get})
		says(ended, "ReadResult", end, like(inProgress, completion(large)), turn{op: calls.ReadResult}.asRead())
	}
	return checks
}

// fails makes a call whose context has ended. If the store says that it was not applied, it was
// not; if it leaves that open, the record may be either way.
func (k *kept) fails(c call, end func(ctx context.Context) (context.Context, context.CancelFunc)) {
	k.t.Helper()
	ctx, cancel := end(k.t.Context())
	cancel()
	got, err := c.once(ctx, k.store)
	if _, blamed := errors.AsType[*store.UnreadableError](err); err == nil || blamed {
		k.t.Fatalf("%s with a context that has ended returns the error %v", c.Op, err)
	}
	if failure, ok := errors.AsType[*store.Error](err); ok && failure.NotApplied {
		k.holds()
		k.commits.settle(k.probe, c, false)
	}
	if got.done {
		k.t.Fatalf("%s with a context that has ended reports that it was done", c.Op)
	}
}

// goroutinesEnd makes many calls and sees that the number of goroutines does not grow with them. A
// few may stay, such as those of a network connection that is kept open. A goroutine has the labels
// of the one that started it, so those of other tests do not count.
func goroutinesEnd(p *probe) {
	const (
		rounds   = 32
		patience = 5 * time.Second
	)
	label := rand.Text()
	pprof.SetGoroutineLabels(pprof.WithLabels(p.t.Context(), pprof.Labels("calls", label)))
	defer pprof.SetGoroutineLabels(p.t.Context())
	everyCall := func() {
		p.begin(inProgress).play(claim().refused(), complete(charged), complete(charged).late().refused(), remove())
		if p.commits != nil {
			p.begin(inProgress).play(complete(charged).writing(added, taken).refused())
		}
	}
	everyCall() // opens connections
	before := labelled(p, label)
	for range rounds {
		everyCall()
	}
	for begin := time.Now(); labelled(p, label)-before >= rounds/2; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > patience {
			p.t.Fatalf("%d goroutines more after %d rounds of calls", labelled(p, label)-before, rounds)
		}
	}
}

// labelled counts the goroutines with a label. Those of one stack stand together: "3 @ 0x…".
func labelled(p *probe, label string) (count int) {
	p.t.Helper()
	var text bytes.Buffer
	p.noError("the profile of goroutines", pprof.Lookup("goroutine").WriteTo(&text, 1))
	_, groups, _ := bytes.Cut(text.Bytes(), []byte("\n")) // behind the total
	for group := range bytes.SplitSeq(groups, []byte("\n\n")) {
		if bytes.Contains(group, []byte(label)) {
			var n int
			_, err := fmt.Sscanf(string(group), "%d @", &n)
			p.noError("the profile of goroutines", err)
			count += n
		}
	}
	return count
}
