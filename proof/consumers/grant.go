package consumers

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/store"
)

// grant lets a goroutine go on, with or without a fault.
func (w *world) grant(s *stop, f Fault, e Ending) {
	if f != None {
		w.faults--
		w.Saw(fmt.Sprintf("%s: %s", s.at, f))
	}
	switch s.at {
	case atCall:
		w.grantCall(s, f)
	case atEnding:
		if f.kills() {
			w.Sayf("  the process of %s dies in the handler of %s", s.of.name, s.id)
			w.die(s.of)
			return
		}
		w.Sayf("  %s: the handler of %s %s", s.of.name, s.id, e)
		w.Saw("handler " + e.String())
		s.of.endings[s.id] = e
		w.resume(s, grant{ending: e})
	case atTerminal, atPoison, atVisibility:
		w.grantFunction(s, f)
	case atAnswer:
		w.grantAnswer(s, f)
	case atDone, atEnd:
	}
}

func (w *world) grantCall(s *stop, f Fault) {
	w.Sayf("%s:  %s: %s of %s %s", w.clockText(), s.of.name, s.call.Op, w.nameOf(s), f)
	var got calls.Reply
	if f.applied() {
		got = w.apply(s)
	}
	if f.kills() {
		w.die(s.of)
		return
	}
	if err := f.err(s.call.Op); err != nil {
		got = calls.Reply{Err: err}
	}
	w.resume(s, grant{reply: got})
}

// nameOf is the record that a call is about, as far as it can be told.
func (w *world) nameOf(s *stop) string {
	for _, r := range s.of.records {
		if w.parts.RecordKey(r) == s.key {
			return r.Key
		}
	}
	return "?"
}

// apply makes a call of the store.
func (w *world) apply(s *stop) calls.Reply {
	if owner := s.call.Next.Owner; owner != "" && w.owners[owner] == "" {
		s.of.tokens[s.key]++
		w.owners[owner] = fmt.Sprint(s.of.name, s.key, s.of.tokens[s.key])
	}
	got := s.call.Make(context.Background(), w.store)
	if s.call.Op != calls.Swap || !got.Done {
		return got
	}
	switch s.call.Next.Status {
	case store.StatusCompleted:
		w.stored(s)
	case store.StatusUnknown:
		w.unknown[s.key] = true
		w.Saw("outcome unknown")
	case store.StatusInProgress:
		w.Saw("takeover")
	}
	return got
}

// grantFunction lets a function of the configuration return.
func (w *world) grantFunction(s *stop, f Fault) {
	if s.at == atVisibility {
		w.Sayf("%s:  %s: %v come again after %v: %s", w.clockText(), s.of.name, s.records, s.after, f)
	} else {
		w.Sayf("  %s: the function for %s gets %s: %s", s.of.name, s.at, s.id, f)
	}
	var err error
	if f == FailBefore || f == FailAfter || f == Late {
		err = errInjected
	}
	switch {
	case f == Late:
		w.late = append(slices.Clip(w.late), s)
	case s.at == atVisibility && f.applied():
		w.changeVisibility(s)
	case s.at != atVisibility && (f == None || f == DieAfter):
		w.took[s.id] = true
		w.Saw(s.at.String() + " taken")
	}
	if f.kills() {
		w.die(s.of)
		return
	}
	w.resume(s, grant{fault: f, err: err})
}

func (w *world) changeVisibility(s *stop) {
	q := w.source.(*queue) //nolint:forcetypeassert // streams have none
	q.change(s.records, s.of.number, s.after)
	w.Saw("visibility changed")
}

func (w *world) grantAnswer(s *stop, f Fault) {
	w.Sayf("%s: the answer of %s %s", w.clockText(), s.of.name, f)
	i := s.of
	w.resume(s, grant{})
	if f == LoseAnswer || i.err != nil {
		w.source.broke(i)
		return
	}
	w.source.answered(i)
}
