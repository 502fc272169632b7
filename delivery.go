package idempotent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-lambda-go/lambda/handlertrace"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// delivery is one event on its way through a handler: the typed side of an invocation. It belongs to one goroutine.
type delivery[In, Out any] struct {
	*Handler[In, Out]
	source[In]
	// wire is true if the caller wants bytes.
	wire bool

	// out and err are the answer: what the handler returned, or a replay. encoded is out as JSON for the wire, or
	// encodeErr the reason why there is none. answered says that out counts, although err stands beside it.
	out       Out
	err       error
	encoded   []byte
	encodeErr error
	answered  bool
	// ran says that the handler has returned, so that out and err are its own.
	ran bool
	// aside is for the observer: an error that did not become the answer.
	aside error
	// report is what the observer gets.
	report Event
}

// source is an event, decoded when it is first asked for.
type source[In any] struct {
	payload []byte
	in      In
	decoded bool
	// http is what prepare found, if the event is one of HTTP. Answers are made from it, not from the event, which the handler
	// may have changed meanwhile.
	http httpRequest
}

// event decodes the payload, once. Like lambda.NewHandler it ignores what follows the first JSON value.
func (s *source[In]) event() (In, error) {
	if s.decoded {
		return s.in, nil
	}
	if err := json.Unmarshal(s.payload, &s.in); err != nil {
		// A decoder copies the payload, but it takes what something follows, and the error has to be its own.
		if err := json.NewDecoder(bytes.NewReader(s.payload)).Decode(&s.in); err != nil {
			return s.in, err
		}
	}
	s.decoded = true
	return s.in, nil
}

// json is the event as the caller sent it; of an event by value it is the JSON that encodes it.
func (s *source[In]) json() ([]byte, error) {
	if s.payload == nil && s.decoded {
		return encodeJSON(s.in)
	}
	return s.payload, nil
}

// run takes the delivery through the protocol and reports it to the observer.
func (d *delivery[In, Out]) run(ctx context.Context) error {
	event := &d.report
	event.Operation, event.Outcome = d.operation, OutcomePanicked
	if d.observe != nil {
		// Deferred, so that an execution that panics is reported too.
		defer func() { d.observe(ctx, *event) }()
	}
	a := d.protect(ctx, event)
	if a.outcome == OutcomeReplayed || a.outcome == OutcomeResolved {
		a = d.receive(a, event)
	}
	d.announce(a)
	event.Outcome, event.Err = a.outcome, a.err
	if a.err == nil {
		event.Err = d.err
	}
	if d.aside != nil {
		event.Err = errors.Join(event.Err, d.aside)
	}
	return a.err
}

func (d *delivery[In, Out]) protect(ctx context.Context, event *Event) answer {
	if d.disabled {
		return d.unprotected(ctx, OutcomeDisabled)
	}
	req, err := d.shape.prepare(ctx, &d.source)
	switch {
	case err != nil:
		return answer{outcome: outcomeOf(err), err: err}
	case req == nil:
		return d.unprotected(ctx, OutcomeUnprotected)
	default:
		return d.invoke(ctx, *req, d, event)
	}
}

// unprotected runs the handler as lambda.NewHandler would.
func (d *delivery[In, Out]) unprotected(ctx context.Context, outcome Outcome) answer {
	if _, inside := FromContext(ctx); inside {
		// Called by a protected handler: its execution is not ours, and its derived keys are not for our effects.
		ctx = context.WithValue(ctx, executionKey{}, nil)
	}
	if err := d.call(ctx, new(bool)); err != nil {
		return answer{outcome: OutcomeRefused, err: err}
	}
	d.encode()
	return answer{outcome: outcome}
}

// call runs the handler, and sets *returned as soon as it has returned. The error says that it did not run, because the
// payload is no event of it.
func (d *delivery[In, Out]) call(ctx context.Context, returned *bool) error {
	in, err := d.event()
	if err != nil {
		return err
	}
	trace := handlertrace.FromContext(ctx)
	if trace.RequestEvent != nil {
		trace.RequestEvent(ctx, in)
	}
	d.out, d.err = d.handler(ctx, in)
	*returned, d.ran = true, true
	d.answered = d.err == nil || markOf(d.err) != unmarked && d.shape.answers(d.out)
	if d.err == nil && trace.ResponseEvent != nil {
		trace.ResponseEvent(ctx, d.out)
	}
	return nil
}

// encode brings the answer into its wire form.
func (d *delivery[In, Out]) encode() {
	if d.answered && d.wire {
		d.encoded, d.encodeErr = encodeJSON(d.out)
	}
}

// execute implements work.
func (d *delivery[In, Out]) execute(ctx context.Context, returned *bool) ending {
	if err := d.call(ctx, returned); err != nil {
		d.err = err
		return ending{fate: fateRelease}
	}
	d.encode()
	e := d.endingOf(ctx, d.err, func() bool { return d.stored(d.out) })
	if e.fate != fateComplete {
		return e
	}
	result, err := d.result()
	if err != nil {
		d.aside = err
		return ending{fate: fateUnknown, reason: reasonResultLost}
	}
	e.result = result
	if !d.answered {
		e.reason = reasonTerminal
	}
	return e
}

func (d *delivery[In, Out]) stored(out Out) bool {
	if d.functions.storeIf != nil {
		return d.functions.storeIf(out)
	}
	return d.shape.stores(out)
}

// result is what a completed record keeps of the answer.
func (d *delivery[In, Out]) result() ([]byte, error) {
	if !d.answered {
		return encodeJSON(failureOf(d.err))
	}
	out, changed := d.shape.storedForm(d.out)
	if d.wire && !changed {
		return d.encoded, d.encodeErr
	}
	return encodeJSON(out)
}

// resolve implements work.
func (d *delivery[In, Out]) resolve(ctx context.Context, x Execution) (verdict, ending) {
	r, err := d.ask(ctx, x)
	if err != nil {
		d.aside = fmt.Errorf("resolver: %w", err)
		return stillUnknown, ending{fate: fateUnknown}
	}
	switch r.verdict {
	case touchedNothing:
		return touchedNothing, ending{}
	case stillUnknown:
		return stillUnknown, ending{fate: fateUnknown}
	case hasExecuted:
	}
	out, _ := d.shape.storedForm(r.out)
	result, err := encodeJSON(out)
	if err != nil {
		d.aside = fmt.Errorf("resolver: %w", err)
		return stillUnknown, ending{fate: fateUnknown}
	}
	return hasExecuted, ending{fate: fateComplete, result: result}
}

func (d *delivery[In, Out]) ask(ctx context.Context, x Execution) (Resolution[Out], error) {
	in, err := d.event()
	if err != nil {
		return Resolution[Out]{}, err
	}
	return d.functions.resolver(ctx, x, in)
}

// announce tells the caller of an execution until when its answer is replayed. An answer that was not stored says nothing
// of the kind, whatever the handler passed on.
func (d *delivery[In, Out]) announce(a answer) {
	if a.outcome != OutcomeExecuted || !d.answered || d.encodeErr != nil {
		return
	}
	if d.splice(d.encoded, a.expires, false) {
		return
	}
	if out, changed := d.shape.answerForm(&d.source, d.out, a.expires, false); changed {
		d.out = out
		d.encode()
	}
}

// receive takes a stored result as the answer. One that cannot be decoded is unreadable; if it is someone else's and the
// handler has a result of its own, that stays the answer.
func (d *delivery[In, Out]) receive(a answer, event *Event) answer {
	if a.terminal {
		return d.receiveFailure(a, event)
	}
	if d.receiveText(a) {
		d.err, d.encodeErr, d.answered = nil, nil, true
		return a
	}
	var out Out
	if err := json.Unmarshal(a.result, &out); err != nil {
		return d.undecodable(event)
	}
	d.err, d.encodeErr, d.answered = nil, nil, true
	d.out, _ = d.shape.answerForm(&d.source, out, a.expires, true)
	d.encode()
	return a
}

// receiveText takes a stored result as the answer on the wire without decoding it, if that can be done.
func (d *delivery[In, Out]) receiveText(a answer) bool {
	if d.wire && d.shape.replaysBytes() {
		d.encoded = a.result
		return true
	}
	return a.committed && d.splice(a.result, a.expires, true)
}

// splice makes the answer on the wire of a result that is encoded already, and reports whether it could. The text stays
// as it is: a store, or the client of one that was given up on, may still read it.
func (d *delivery[In, Out]) splice(text []byte, expires time.Time, replayed bool) bool {
	if !d.wire {
		return false
	}
	encoded, ok := d.shape.spliced(&d.source, text, expires, replayed)
	if ok {
		d.encoded = encoded
	}
	return ok
}

func (d *delivery[In, Out]) receiveFailure(a answer, event *Event) answer {
	var f failure
	if err := json.Unmarshal(a.result, &f); err != nil {
		return d.undecodable(event)
	}
	var none Out
	d.out, d.answered = none, false
	d.err = &ReplayedError{Type: f.Type, Message: f.Message}
	if d.wire {
		d.err = messages.InvokeResponse_Error{Type: f.Type, Message: f.Message}
	}
	return a
}

func (d *delivery[In, Out]) undecodable(event *Event) answer {
	err := &UnreadableError{
		Operation: d.operation, RecordKey: event.RecordKey, Reason: "its result does not decode into what this handler returns",
	}
	if d.ran {
		event.StoreErr = err
		return executed
	}
	return answer{outcome: OutcomeUnreadable, err: err}
}

// bytes is the answer on the wire. refused is the error of this package that run returned.
func (d *delivery[In, Out]) bytes(refused error) ([]byte, error) {
	switch {
	case refused != nil:
		if out, ok := d.shape.problem(&d.source, refused); ok {
			return encodeJSON(out)
		}
		return nil, refused
	case d.answered:
		return d.encoded, d.encodeErr
	default:
		return nil, stripped(d.err)
	}
}

// value is the answer by value.
func (d *delivery[In, Out]) value(refused error) (Out, error) {
	switch {
	case refused != nil:
		if out, ok := d.shape.problem(&d.source, refused); ok {
			return out, nil
		}
		var none Out
		return none, refused
	case d.answered:
		return d.out, nil
	default:
		return d.out, stripped(d.err)
	}
}

// failure is a stored error, in the form of Lambda's own error payload.
type failure struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

var errStream = errors.New("idempotent: the result is a stream, which cannot be stored and replayed")

// encodeJSON encodes as lambda.NewHandler does: without escaping HTML, without a newline at the end.
func encodeJSON(v any) ([]byte, error) {
	var text written
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	// What lambda.NewHandler sends as a stream.
	if _, ok := v.(io.Reader); ok && (err != nil || bytes.HasPrefix(text, []byte("{}"))) {
		return nil, errStream
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// written is what was written. A json.Encoder writes once, so it takes no more room than that.
type written []byte

func (w *written) Write(text []byte) (int, error) {
	*w = append(*w, text...)
	return len(text), nil
}
