package idempotent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// delivery is one event on its way through a handler, to the answer. One goroutine uses it.
type delivery struct {
	work

	protocol protocol.Delivery
	outcome  report.Outcome
	// within is true if the caller is the handler of another delivery.
	within  bool
	refused error
	// unreadable is why a stored result cannot be used. The handler's own is the answer then.
	unreadable error
}

// typed is a delivery with the room for its event.
type typed[In any] struct {
	delivery

	in In
}

func (d *delivery) run(ctx context.Context) { //nolint:contextcheck // the tracer makes its context of ctx
	d.outcome = report.Panicked
	if d.observe != nil || d.trace != nil {
		traced := Trace{Context: ctx}
		began := time.Now()
		if d.trace != nil {
			traced = d.trace(ctx, report.Delivery{Operation: d.settings.Operation, Trigger: d.trigger, Start: began})
			ctx = traced.Context
		}
		d.protocol.Trace, d.source.observed = traced.Parent, true
		// Deferred, so that an execution that panics is reported too.
		defer d.handOut(ctx, traced, began)
	}
	if d.disabled {
		d.unprotected(ctx, report.Disabled)
		return
	}
	req, err := d.shape.identify(ctx, &d.source)
	switch {
	case err != nil:
		d.refuse(err)
		return
	case req.recordKey == "":
		d.unprotected(ctx, report.Unprotected)
		return
	}
	d.protocol.Settings, d.protocol.RecordKey, d.protocol.Fingerprint = d.settings, req.recordKey, req.fingerprint
	switch r := d.protocol.Run(ctx, &d.work); r.Outcome {
	case report.Executed:
		if r.Committed {
			d.committed(r)
		} else {
			d.own(r)
		}
	case report.Replayed:
		d.replayed(r)
	case report.Resolved:
		d.outcome = report.Resolved
		d.present(presentation{stored: true, replayed: true, text: d.result, expires: r.Expires})
	case report.CommitFailed:
		d.refuse(d.failure(errAnswered, "", r.Err))
	default:
		err := d.failure(sentinelOf(r.Outcome), r.Reason, r.Err)
		err.RetryAfter = r.RetryAfter
		d.refuse(err)
	}
}

func (d *delivery) handOut(ctx context.Context, traced Trace, began time.Time) {
	r := d.report()
	r.Start, r.Took, r.Trigger = began, time.Since(began), d.trigger
	if d.observe != nil {
		d.observe(ctx, r)
	}
	if traced.End != nil {
		traced.End(r)
	}
}

// unprotected runs the handler as lambda.NewHandler would.
func (d *delivery) unprotected(ctx context.Context, outcome report.Outcome) {
	if err := d.call(execution.Unprotected(ctx, protocol.Unprotected{Settings: d.settings}), new(bool)); err != nil {
		d.outcome, d.refused = report.Refused, err
		return
	}
	d.outcome = outcome
}

// own answers with what the handler returned, and says until when that is replayed. If it was not
// stored, nothing says so, whatever the handler's response has.
func (d *delivery) own(r protocol.Result) {
	if !d.ran {
		d.refuse(d.answer.err) // the payload is no event, which is seen when the handler is called
		return
	}
	if _, isHTTP := d.shape.(*httpShape); isHTTP && !d.answer.given && d.protocol.CommitFailed(d.answer.err) &&
		d.protocol.Report.Settlement != report.Completed { // else it was called final, and is replayed
		d.refuse(d.failure(errAnswered, "", d.answer.err)) // a client that may retry is told so
		return
	}
	d.outcome = report.Executed
	if !d.answer.given || d.answer.textErr != nil {
		return
	}
	if err := d.shape.present(&d.source, &d.answer, presentation{expires: r.Expires}); err != nil {
		d.unanswered = err
	}
}

// committed answers with what the handler has committed, and not with what it did then.
func (d *delivery) committed(r protocol.Result) {
	d.outcome = report.Executed
	if !r.Same {
		d.unanswered = errors.Join(d.otherAnswer(), d.unanswered)
		d.protocol.Report.OtherAnswer = true
	}
	d.ran = false // what it returned is no answer
	d.answerWith(r, presentation{sealed: d.keys.records == nil})
}

func (d *delivery) otherAnswer() error {
	switch p := d.protocol.Panic; {
	case p != nil:
		return d.failure(ErrOtherAnswer, fmt.Sprintf("panicked: %v", p), &PanicError{Value: p, Stack: d.protocol.Stack})
	case d.answer.err != nil:
		return d.failure(ErrOtherAnswer, fmt.Sprintf("returned an error: %v", d.answer.err), d.answer.err)
	default:
		return d.failure(ErrOtherAnswer, "returned another one", nil)
	}
}

func (d *delivery) replayed(r protocol.Result) {
	d.outcome = report.Replayed
	if d.protocol.Unwanted && r.Record.Reason != store.ReasonTerminal {
		d.answer.err = nil
		return
	}
	// A result that an operator gave has a seal, too, but no handler encoded it.
	encoded := r.Record.Seal != "" && r.Record.SettledBy == "" && d.keys.records == nil
	d.answerWith(r, presentation{replayed: true, sealed: encoded})
}

func (d *delivery) answerWith(r protocol.Result, p presentation) {
	result, err := d.decoded(r)
	if err != nil {
		d.useless(err)
		return
	}
	d.result = result
	if r.Record.Reason == store.ReasonTerminal {
		d.replayFailure(result)
		return
	}
	p.stored, p.text, p.expires = true, result, r.Expires
	d.present(p)
}

func (d *delivery) decoded(r protocol.Result) ([]byte, *Error) {
	switch {
	case d.keys.records != nil:
		result, err := d.keys.records.decode(r.Record)
		if err != nil {
			return nil, d.failure(ErrUnreadable, "its result is not what the language writes", err)
		}
		return result, nil
	case r.Record.Seal == "" && !json.Valid(r.Record.Result): // AWS Powertools writes no digest
		return nil, d.failure(ErrUnreadable, "its result is no JSON", nil)
	default:
		return r.Record.Result, nil
	}
}

func (d *delivery) present(p presentation) {
	if err := d.shape.present(&d.source, &d.answer, p); err != nil {
		d.useless(d.undecodable())
		return
	}
	d.answer.err = nil
}

// undecodable does not wrap the error of the decoder, which quotes the result.
func (d *delivery) undecodable() *Error {
	return d.failure(ErrUnreadable, "its result does not decode into what this handler returns", nil)
}

func (d *delivery) replayFailure(result []byte) {
	final := new(ReplayedError)
	if err := json.Unmarshal(result, final); err != nil {
		d.useless(d.undecodable())
		return
	}
	d.answer.out, d.answer.given, d.answer.err = nil, false, final
	if d.answer.wire {
		d.answer.err = reported(final)
	}
}

// useless: a stored result cannot be used. The handler's own, or the error, is the answer.
func (d *delivery) useless(err *Error) {
	if d.ran {
		d.unreadable = err
		d.own(protocol.Result{})
		return
	}
	d.refuse(err)
}

func (d *delivery) failure(kind error, reason string, err error) *Error {
	return &Error{
		Kind: kind, Operation: d.settings.Operation, RecordKey: d.protocol.RecordKey,
		Reason: reason, Err: err,
	}
}

// refuse answers with an error. It tells the outcome, and not those that it wraps: the function of
// a user may have failed with an error that came from another handler.
func (d *delivery) refuse(err error) {
	d.outcome, d.refused = report.Refused, err
	if e, is := err.(*Error); is { //nolint:errorlint // see above
		d.outcome = cmp.Or(kinds[e.Kind].outcome, report.Refused)
	}
}

func (d *delivery) bytes() ([]byte, error) {
	switch {
	case d.refused != nil:
		out, err := d.shape.refuse(&d.source, d.refused)
		if err != nil {
			return nil, reported(err)
		}
		return encodeJSON(out)
	case d.answer.given && d.answer.textErr != nil:
		return nil, reported(d.answer.textErr)
	case d.answer.given:
		return d.answer.text, nil
	default:
		return nil, reported(execution.Stripped(d.answer.err))
	}
}

func (d *delivery) value() (any, error) {
	switch {
	case d.refused != nil:
		out, err := d.shape.refuse(&d.source, d.refused)
		if err == nil && d.within && errors.Is(d.refused, ErrWrappedTwice) {
			err = NotExecuted(d.refused) // the observer of the outer one hears of it, too
		}
		return out, err
	case d.within:
		return d.answer.out, d.marked()
	case d.answer.given:
		return d.answer.out, nil
	default:
		return d.answer.out, execution.Stripped(d.answer.err)
	}
}

// marked returns the error for an outer execution: with its marks, and, if the record became
// UNKNOWN, as uncertain. Package batch acknowledges what is final, and a failure that could not be
// stored is not: it is executed again.
func (d *delivery) marked() error {
	switch d.protocol.Report.Settlement { //nolint:exhaustive // the others keep the marks
	case report.Unknown:
		return Uncertain(d.answer.err)
	case report.NotSettled, report.Elsewhere:
		if d.protocol.Unwanted && execution.MarkOf(d.answer.err) == execution.Terminal {
			return execution.Stripped(d.answer.err)
		}
	}
	return d.answer.err
}

func (d *delivery) report() report.Delivery {
	r := d.protocol.Report
	r.Operation, r.Route, r.RecordKey, r.Outcome = d.settings.Operation, d.source.route, d.protocol.RecordKey, d.outcome
	r.Err, r.StoreErr = d.refused, d.storeErr()
	r.LeaseLost = errors.Is(r.StoreErr, ErrLeaseLost)
	if r.Err == nil {
		r.Err = d.answer.err
	}
	if d.unanswered != nil {
		r.Err = errors.Join(r.Err, d.unanswered)
	}
	r.Throttle = string(cmp.Or(throttleOf(r.StoreErr), throttleOf(r.Err)))
	if r.Settlement == report.Completed || r.Outcome == report.Replayed || r.Outcome == report.Resolved {
		r.ResultBytes = len(d.result)
	}
	r.DerivedKeys = d.protocol.Handed()
	return r
}

// storeErr returns the last failure around the record that did not decide the answer.
func (d *delivery) storeErr() error {
	switch err := d.protocol.Report.StoreErr; {
	case d.unreadable != nil:
		return d.unreadable
	case err != nil:
		// An error that another one wraps is part of that.
		if unreadable, is := err.(*store.UnreadableError); is { //nolint:errorlint // see above
			return d.failure(ErrUnreadable, unreadable.Reason, unreadable.Err)
		}
		return err
	default:
		return d.notEncoded
	}
}

func throttleOf(err error) store.Throttle {
	if failed, is := errors.AsType[*store.Error](err); is {
		return failed.Throttle
	}
	return ""
}
