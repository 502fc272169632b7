package storetest

import (
	"runtime"
	"time"
)

func goroutineChecks() []check {
	return []check{{"end with the calls that started them", goroutinesEnd}}
}

// goroutinesEnd makes many calls and sees that the number of goroutines does not grow with them. A few may stay, such
// as those of a network connection that is kept open.
func goroutinesEnd(p *probe) {
	const (
		rounds   = 32
		patience = 2 * time.Second
	)
	everyCall(p) // opens connections
	before := runtime.NumGoroutine()
	for range rounds {
		everyCall(p)
	}
	grown := func() int { return runtime.NumGoroutine() - before }
	for begin := time.Now(); grown() >= rounds/2; time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			p.t.Fatalf("%d goroutines more after %d rounds of calls", grown(), rounds)
		}
	}
}

// everyCall makes each call once, and some of them refused.
func everyCall(p *probe) {
	seen := p.inProgress()
	next := completion(seen, []byte(`{"id":"ch_1"}`))
	for _, c := range []call{
		{op: OpClaim, next: seen, now: p.now},
		{op: OpClaim, next: p.rival(seen), now: p.now},
		{op: OpSwap, seen: seen, next: next},
		{op: OpSwap, seen: seen, next: next},
		{op: OpGet, key: seen.Key},
		{op: OpDelete, seen: next},
	} {
		_, err := c.make(p.t.Context(), p.store)
		p.noError(string(c.op), err)
	}
	if p.features.Writes == nil {
		return
	}
	c := p.committing()
	held := c.plant(c.inProgress())
	taken := c.taken()
	c.declined(held, held, completion(held, []byte(`{"id":"ch_1"}`)), taken, []Row{taken})
	c.commits(held, completion(held, []byte(`{"id":"ch_1"}`)), row())
}
