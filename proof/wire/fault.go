package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Fault is what happens to a request. The functions of this package make them; each of its name.
type Fault struct {
	// Name is recorded in the exchange.
	Name string
	// steps are what happens, one after the other.
	steps []func(*trip)
}

// String is the name.
func (f Fault) String() string { return f.Name }

func fault(name string, steps ...func(*trip)) Fault { return Fault{name, steps} }

// Pass forwards the request and the reply.
func Pass() Fault { return fault("pass", (*trip).forward, (*trip).answer) }

// LoseRequest closes the connection instead of forwarding the request: the server never sees it.
func LoseRequest() Fault { return fault("lose request", (*trip).hangUp) }

// LoseReply forwards the request, waits for the reply and closes the connection instead of passing
// it on.
func LoseReply() Fault { return fault("lose reply", (*trip).forward, (*trip).hangUp) }

// TruncateReply passes on the headers and the first half of the reply and closes the connection.
func TruncateReply() Fault {
	return fault("truncate reply", (*trip).forward, (*trip).answerHalf, (*trip).hangUp)
}

// SwallowRequest neither forwards nor answers the request: a black hole. It ends when the client
// gives up.
func SwallowRequest() Fault {
	return fault("swallow request", (*trip).clientGone, (*trip).hangUp)
}

// SwallowReply forwards the request and holds the reply until the client gives up.
func SwallowReply() Fault {
	return fault("swallow reply", (*trip).forward, (*trip).clientGone, (*trip).hangUp)
}

// Hold lets a fault happen later, even if the client has given up by then.
func Hold(until Until, f Fault) Fault {
	return fault("hold, "+f.Name, append([]func(*trip){until.wait}, f.steps...)...)
}

// DelayRequest forwards the request later, even if the client has given up by then.
func DelayRequest(until Until) Fault {
	return fault("delay request", until.wait, (*trip).forward, (*trip).answer)
}

// DelayReply passes the reply on later.
func DelayReply(until Until) Fault {
	return fault("delay reply", (*trip).forward, until.wait, (*trip).answer)
}

// Duplicate forwards the request twice before it passes on the first reply.
func Duplicate() Fault {
	return fault("duplicate", (*trip).forward, (*trip).forward, (*trip).answer)
}

// Repeat passes on request and reply, and forwards the request once more later: a stale repetition.
func Repeat(until Until) Fault {
	again := func(t *trip) {
		second := *t
		t.proxy.later.Go(func() {
			until.wait(&second)
			second.forward()
		})
	}
	return fault("repeat", (*trip).forward, again, (*trip).answer)
}

// Throttle answers that the table's capacity is exceeded. The server never sees the request.
func Throttle() Fault {
	return fault("throttle", says(http.StatusBadRequest, "ProvisionedThroughputExceededException"), (*trip).answer)
}

// Conflict answers to a write that a transaction is at work on its item. The server never sees the
// request. DynamoDB Local knows no conflicts.
func Conflict() Fault {
	return fault("conflict", says(http.StatusBadRequest, "TransactionConflictException"), (*trip).answer)
}

// InternalError answers that the service failed. The server never sees the request.
func InternalError() Fault {
	return fault("internal error", says(http.StatusInternalServerError, "InternalServerError"), (*trip).answer)
}

// InternalErrorAfter forwards the request and answers that the service failed.
func InternalErrorAfter() Fault {
	return fault("internal error after", append([]func(*trip){(*trip).forward}, InternalError().steps...)...)
}

// says makes the reply an error.
func says(status int, code string) func(*trip) {
	return func(t *trip) { t.reply = errorReply(status, code, 0, 0) }
}

// Cancel answers that a transaction was cancelled because of one of its items, counted from 0, for
// a reason such as "TransactionConflict". The server never sees the request. Every other request
// passes.
func Cancel(item int, code string) Fault {
	return fault("cancel, "+code, func(t *trip) {
		var body struct{ TransactItems []json.RawMessage }
		if json.Unmarshal(t.body, &body) == nil && len(body.TransactItems) > item {
			t.reply = errorReply(http.StatusBadRequest, code, len(body.TransactItems), item)
			return
		}
		t.forward()
	}, (*trip).answer)
}

// Forget takes the token off a transaction and goes on with a fault. The server cannot know that it
// has seen the transaction before, as DynamoDB does not after ten minutes, and others never do. The
// server must not check signatures.
func Forget(f Fault) Fault {
	return fault("forget token, "+f.Name, append([]func(*trip){func(t *trip) {
		var content map[string]json.RawMessage
		if json.Unmarshal(t.body, &content) == nil {
			delete(content, "ClientRequestToken")
			t.body = marshal(content)
		}
	}}, f.steps...)...)
}

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
