package idempotent

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/lambda/handlertrace"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/report"
)

// wrapped is what Wrap makes. It is immutable. An event is a pointer to In, a result an Out.
type wrapped struct {
	handler  func(ctx context.Context, in any) (out any, err error)
	resolver func(ctx context.Context, x Execution, in any) (found, error)
	out      reflect.Type
	// keeps reports whether a result is to be stored, nil for always.
	keeps    func(out any) bool
	keys     keys
	shape    shape
	settings *protocol.Settings
	observe  func(context.Context, report.Delivery)
	trace    func(context.Context, report.Delivery) Trace
	// recordsOf is what the record keys begin with.
	trigger, recordsOf string
	disabled           bool
}

// work is what the protocol calls during one delivery. It implements [protocol.Work].
type work struct {
	*wrapped
	source source
	answer answer
	// ran is true once the handler has returned. From then on the answer is the handler's own.
	ran    bool
	result []byte
	// unanswered is an error that only the observer gets.
	unanswered error
	// notEncoded is why the result cannot be written as the other program writes its results.
	notEncoded error
}

func (w *work) call(ctx context.Context, returned *bool) error {
	in, err := w.source.event()
	if err != nil {
		return err
	}
	trace := handlertrace.FromContext(ctx)
	if trace.RequestEvent != nil {
		trace.RequestEvent(ctx, w.source.value())
	}
	a := &w.answer
	a.out, a.err = w.handler(ctx, in)
	*returned, w.ran = true, true
	if a.err == nil && trace.ResponseEvent != nil {
		trace.ResponseEvent(ctx, a.out)
	}
	a.err = execution.Noted(ctx, a.err)
	if w.shape.answers(a) {
		a.give(a.out)
	}
	return nil
}

// shedFrom is the size from which an answer is in memory as text alone while it is stored.
const shedFrom = 64 << 10

func (w *work) Execute(ctx context.Context, returned *bool) protocol.Ended {
	if err := w.call(ctx, returned); err != nil {
		w.answer.err = err
		return protocol.Ended{Err: NotExecuted(err)}
	}
	a := &w.answer
	e := protocol.Ended{Err: a.err, Keep: a.err == nil && (w.keeps == nil || w.keeps(a.out))}
	e.Untouched = a.err == nil && !e.Keep && w.shape.untouched(a.out)
	if !e.Keep && execution.MarkOf(a.err) != execution.Terminal {
		return e
	}
	e.Failure = !a.given
	if e.Failure {
		e.Result, e.ResultErr = encodeJSON(failureOf(a.err))
	} else {
		e.Result, e.ResultErr = w.shape.stored(a)
		if a.wire && a.textErr == nil && len(a.text) >= shedFrom {
			a.out, a.shed = nil, true
		}
	}
	if e.ResultErr != nil {
		w.unanswered = e.ResultErr
		return e
	}
	w.result = e.Result
	e.Result, w.notEncoded = w.kept(e.Result, e.Failure)
	e.ResultErr = w.notEncoded
	return e
}

// kept returns a result as it is, or as the program writes it that shares the record.
func (w *wrapped) kept(result []byte, failed bool) ([]byte, error) {
	if w.keys.records == nil {
		return result, nil
	}
	return w.keys.records.encode(result, failed)
}

func (w *work) Answer(committed any) (text []byte, problem string, _ error) {
	if !isOf(committed, w.out) {
		return nil, fmt.Sprintf("the answer is a %T, and the handler returns a %v", committed, w.out), nil
	}
	if w.keeps != nil && !w.keeps(committed) {
		return nil, "the answer is not one that is stored, by its status or by WithStoreIf", nil
	}
	result, err := w.shape.stored(&answer{out: committed, given: true})
	if err == nil {
		text, err = w.kept(result, false)
	}
	return text, "", err
}

func isOf(v any, t reflect.Type) bool {
	of := reflect.TypeOf(v)
	if t.Kind() == reflect.Interface {
		return of == nil || of.Implements(t)
	}
	return of == t
}

func (w *work) Resolve(ctx context.Context, c execution.Claim) protocol.Resolution {
	var r found
	in, err := w.source.event()
	if err == nil {
		r, err = w.resolver(ctx, executionOf(c), in)
	}
	if err == nil && r.finding == execution.HasExecuted {
		w.result, err = w.foundText(r.out)
	}
	if err != nil {
		w.unanswered = fmt.Errorf("resolver: %w", err)
		return protocol.Resolution{Finding: execution.StillUnknown}
	}
	res := protocol.Resolution{Finding: r.finding}
	if r.finding == execution.HasExecuted {
		res.Result, w.notEncoded = w.kept(w.result, false)
		res.ResultErr = w.notEncoded
	}
	return res
}

// foundText does not believe a resolver whose result a handler would not have stored.
func (w *wrapped) foundText(out any) ([]byte, error) {
	if w.keeps != nil && !w.keeps(out) {
		return nil, errors.New("its result is not one that is stored, by its status or by WithStoreIf")
	}
	return w.shape.stored(&answer{out: out, given: true})
}
