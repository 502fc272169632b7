package storetest

import (
	"bytes"
	"crypto/rand"
	"runtime/pprof"
	"strconv"
	"time"
)

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
	everyCall(p) // opens connections
	before := labelled(p, label)
	for range rounds {
		everyCall(p)
	}
	for begin := time.Now(); labelled(p, label)-before >= rounds/2; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > patience {
			p.t.Fatalf("%d goroutines more after %d rounds of calls", labelled(p, label)-before, rounds)
		}
	}
}

// labelled counts the goroutines with a label.
func labelled(p *probe, label string) int {
	p.t.Helper()
	var text bytes.Buffer
	p.noError("the profile of goroutines", pprof.Lookup("goroutine").WriteTo(&text, 1))
	count := 0
	for group := range bytes.SplitSeq(text.Bytes(), []byte("\n\n")) {
		if !bytes.Contains(group, []byte(label)) {
			continue
		}
		// Goroutines of one stack stand together: "3 @ 0x…".
		for line := range bytes.Lines(group) {
			if number, _, ok := bytes.Cut(line, []byte(" @ ")); ok {
				n, err := strconv.Atoi(string(number))
				p.noError("the profile of goroutines", err)
				count += n
			}
		}
	}
	return count
}

// everyCall makes each call once, and some of them refused.
func everyCall(p *probe) {
	p.begin(inProgress).play(claim().refused(), complete(charged), complete(charged).late().refused(), remove())
	if p.commits != nil {
		p.begin(inProgress).play(complete(charged).writing(added, taken).refused())
	}
}
