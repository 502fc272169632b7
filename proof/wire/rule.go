package wire

import (
	"context"
	"sync"
	"time"
)

// Rule chooses the fault of each request. It is called in the order of arrival, one call at a time,
// and must not call the proxy.
type Rule func(Request) Fault

// At gives the request of this number a fault and passes all others.
func At(number int, f Fault) Rule {
	return only(f, func(r Request) bool { return r.Number == number })
}

// On gives the nth request of an operation a fault and passes all others.
func On(operation string, nth int, f Fault) Rule {
	return only(f, func(r Request) bool { return r.Operation == operation && r.Nth == nth })
}

func only(f Fault, chosen func(Request) bool) Rule {
	return func(r Request) Fault {
		if chosen(r) {
			return f
		}
		return Pass()
	}
}

// Until waits for something; ctx ends with the proxy.
type Until func(ctx context.Context)

func (u Until) wait(t *trip) { u(t.proxy.lifetime) }

// For waits for a time.
func For(d time.Duration) Until {
	return func(ctx context.Context) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
}

// Gate holds what comes to it until it is opened. Make one with [NewGate].
type Gate struct {
	arrived, open chan struct{}
	once, opened  sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{arrived: make(chan struct{}), open: make(chan struct{})}
}

// Wait is an [Until]: it waits for Open.
func (g *Gate) Wait(ctx context.Context) {
	g.once.Do(func() { close(g.arrived) })
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// Arrived is closed when the first one waits.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Open lets everything pass, from now on. Calling it again has no effect.
func (g *Gate) Open() { g.opened.Do(func() { close(g.open) }) }
