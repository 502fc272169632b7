package wire

import (
	"encoding/json"
	"net/http"
)

// Fault is what happens to a request. The functions of this package make them; each of its name.
type Fault struct {
	// Name is recorded in the exchange.
	Name string
	run  func(*trip)
}

// String is the name.
func (f Fault) String() string { return f.Name }

// Pass forwards the request and the reply.
func Pass() Fault {
	return Fault{"pass", func(t *trip) { t.answer(t.forward()) }}
}

// LoseRequest closes the connection instead of forwarding the request: the server never sees it.
func LoseRequest() Fault {
	return Fault{"lose request", func(t *trip) { t.hangUp() }}
}

// LoseReply forwards the request, waits for the reply and closes the connection instead of passing
// it on.
func LoseReply() Fault {
	return Fault{"lose reply", func(t *trip) {
		t.forward()
		t.hangUp()
	}}
}

// TruncateReply passes on the headers and the first half of the reply and closes the connection.
func TruncateReply() Fault {
	return Fault{"truncate reply", func(t *trip) { t.answerHalf(t.forward()) }}
}

// SwallowRequest neither forwards nor answers the request: a black hole. It ends when the client
// gives up.
func SwallowRequest() Fault {
	return Fault{"swallow request", func(t *trip) {
		t.clientGone()
		t.hangUp()
	}}
}

// SwallowReply forwards the request and holds the reply until the client gives up.
func SwallowReply() Fault {
	return Fault{"swallow reply", func(t *trip) {
		t.forward()
		t.clientGone()
		t.hangUp()
	}}
}

// Hold lets a fault happen later, even if the client has given up by then.
func Hold(until Until, f Fault) Fault {
	return Fault{"hold, " + f.Name, func(t *trip) {
		t.wait(until)
		f.run(t)
	}}
}

// DelayRequest forwards the request later, even if the client has given up by then.
func DelayRequest(until Until) Fault {
	f := Hold(until, Pass())
	f.Name = "delay request"
	return f
}

// DelayReply passes the reply on later.
func DelayReply(until Until) Fault {
	return Fault{"delay reply", func(t *trip) {
		reply := t.forward()
		t.wait(until)
		t.answer(reply)
	}}
}

// Follow passes on request and reply, and lets something happen right behind the reply.
func Follow(then Until) Fault {
	return Fault{"follow", func(t *trip) {
		t.answer(t.forward())
		t.wait(then)
	}}
}

// Duplicate forwards the request twice before it passes on the first reply.
func Duplicate() Fault {
	return Fault{"duplicate", func(t *trip) {
		reply := t.forward()
		t.forward()
		t.answer(reply)
	}}
}

// Repeat passes on request and reply, and forwards the request once more later: a stale repetition.
func Repeat(until Until) Fault {
	return Fault{"repeat", func(t *trip) {
		reply := t.forward()
		t.later(func() {
			t.wait(until)
			t.forward()
		})
		t.answer(reply)
	}}
}

// Throttle answers that the table's capacity is exceeded. The server never sees the request.
func Throttle() Fault {
	return answer("throttle", http.StatusBadRequest, "ProvisionedThroughputExceededException")
}

// InternalError answers that the service failed. The server never sees the request.
func InternalError() Fault {
	return answer("internal error", http.StatusInternalServerError, "InternalServerError")
}

// InternalErrorAfter forwards the request and answers that the service failed.
func InternalErrorAfter() Fault {
	f := answer("internal error after", http.StatusInternalServerError, "InternalServerError")
	failed := f.run
	f.run = func(t *trip) {
		t.forward()
		failed(t)
	}
	return f
}

// Conflict answers that another writer of the item is at work: to a transaction that it was
// cancelled because of its first item, to another write what that gets while a transaction is at
// work. The server never sees the request. DynamoDB Local knows no conflicts.
func Conflict() Fault {
	return Fault{"conflict", func(t *trip) {
		if t.exchange.transacts() > 0 {
			t.answer(cancelledReply(t.exchange.transacts(), 0, "TransactionConflict"))
			return
		}
		t.answer(errorReply(http.StatusBadRequest, "TransactionConflictException"))
	}}
}

// Cancel answers that a transaction was cancelled because of one of its items, counted from 0, for
// a reason such as "TransactionConflict". The server never sees the request. Every other request
// passes.
func Cancel(item int, code string) Fault {
	return Fault{"cancel, " + code, func(t *trip) {
		if n := t.exchange.transacts(); n > item {
			t.answer(cancelledReply(n, item, code))
			return
		}
		t.answer(t.forward())
	}}
}

// Forget takes the token off a transaction and goes on with a fault. The server cannot know that it
// has seen the transaction before, as DynamoDB does not after ten minutes, and others never do. The
// server must not check signatures.
func Forget(f Fault) Fault {
	return Fault{"forget token, " + f.Name, func(t *trip) {
		var content map[string]json.RawMessage
		if json.Unmarshal(t.body, &content) == nil {
			delete(content, "ClientRequestToken")
			body, err := json.Marshal(content)
			if err != nil {
				panic(err) // it has just been JSON
			}
			t.body = body
		}
		f.run(t)
	}}
}

func answer(name string, status int, code string) Fault {
	return Fault{name, func(t *trip) { t.answer(errorReply(status, code)) }}
}
