package lambdaruntime

import (
	"crypto/rand"
	"fmt"
	"time"
)

// invocation is one event on its way through a sandbox.
type invocation struct {
	id      string
	payload []byte
	timeout time.Duration

	// delivered gets the deadline when a process takes the event: the time it needs to start does not count.
	delivered chan time.Time
	// answered gets what the process answers.
	answered chan result
	// finished is closed when result is set.
	finished chan struct{}
	result   result
}

// result is a response, or the error that the caller gets instead.
type result struct {
	response []byte
	err      error
}

func newInvocation(payload []byte, timeout time.Duration) *invocation {
	return &invocation{
		id:        requestID(),
		payload:   payload,
		timeout:   timeout,
		delivered: make(chan time.Time, 1),
		answered:  make(chan result, 1),
		finished:  make(chan struct{}),
	}
}

func (i *invocation) deliver() time.Time {
	deadline := time.Now().Add(i.timeout)
	i.delivered <- deadline
	return deadline
}

// answerOr returns the answer of a process that is gone, or else what the service says in its place.
func (i *invocation) answerOr(otherwise *FunctionError) result {
	select {
	case r := <-i.answered:
		return r
	default:
		return result{err: otherwise}
	}
}

// requestID is a random UUID (RFC 9562, version 4).
func requestID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// traceID is a header of X-Ray for an invocation that is not sampled.
func traceID(now time.Time) string {
	var b [20]byte
	rand.Read(b[:])
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", now.Unix(), b[:12], b[12:])
}
