package explore

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// Ending is how a handler ends.
type Ending string

// The endings.
const (
	Succeeds         Ending = "succeeds"
	Fails            Ending = "fails"
	FailsNotExecuted Ending = "fails, nothing executed"
	FailsTerminal    Ending = forEver
	FailsUncertain   Ending = "fails, the downstream may have acted"
	Panics           Ending = "panics"
	// ObeysContext returns the error of its context, which has ended.
	ObeysContext Ending = "returns the error of its context"
	// GoesOn is that of a handler which may end early and does not.
	GoesOn Ending = "goes on"
	// FailsInStep returns the error of a step, and is no choice. FailsInCommit returns that of a
	// commit.
	FailsInStep   Ending = "returns the error of a step"
	FailsInCommit Ending = "returns the error of a commit"
	// Differs returns another result than the one that was committed, if one was. Succeeds returns
	// that one.
	Differs Ending = "returns a result that it has not committed"
)

// forEver is how a failure is told that is final.
const forEver = "fails for ever"

// answers reports whether the handler returned a result.
func (f *facts) answers() bool { return f.ending == Succeeds || f.ending == Differs }

// marked is the error of a handler that ends so, or of the function of a step that does.
func marked(how any, err error) error {
	switch how {
	case FailsNotExecuted, HappensNot:
		return idempotent.NotExecuted(err)
	case FailsTerminal, Declines:
		return idempotent.Terminal(err)
	case FailsUncertain, MayHappen:
		return idempotent.Uncertain(err)
	default:
		return err
	}
}

// Step is a step of the handler.
type Step struct {
	Name string
	// Once makes it one that happens at most once. Asks gives it a resolver, whose answers the
	// schedule decides.
	Once, Asks bool
}

// Effect is how the function of a step ends.
type Effect string

// The effects.
const (
	Happens Effect = "happens"
	// Stumbles returns an error without a mark.
	Stumbles   Effect = "fails"
	HappensNot Effect = "fails, nothing executed"
	Declines   Effect = forEver
	MayHappen  Effect = "fails, the downstream may have acted"
	Breaks     Effect = "panics"
	// HappensUnwritten returns what has no JSON form, HappensAndBreaks what panics when it is
	// encoded.
	HappensUnwritten Effect = "happens, and its result has no JSON form"
	HappensAndBreaks Effect = "happens, and its result panics when it is encoded"
	// CommitsInside commits with the context of the step, CommitsOutside with that of the handler,
	// CommitsDetached with one that does not end with it. Then it returns the error of the commit.
	CommitsInside   Effect = "commits"
	CommitsOutside  Effect = "commits with the context of its handler"
	CommitsDetached Effect = "commits with a context that does not end"
)

// commitContexts are those with which an effect commits, of that of the handler and that of the
// step.
var commitContexts = map[Effect]func(outside, inside context.Context) context.Context{
	CommitsInside:   func(_, inside context.Context) context.Context { return inside },
	CommitsOutside:  func(outside, _ context.Context) context.Context { return outside },
	CommitsDetached: func(outside, _ context.Context) context.Context { return context.WithoutCancel(outside) },
}

// AllEffects are all of them.
func AllEffects() []Effect {
	return []Effect{Happens, Stumbles, HappensNot, Declines, MayHappen, Breaks, HappensUnwritten, HappensAndBreaks}
}

// leavesResult reports whether the effect has a result to record, happened whether it was there to
// be repeated or not.
func (e Effect) leavesResult() bool { return e == Happens || e == Declines }

// happened reports whether somebody who comes later must not take it for granted that nothing
// happened.
func (e Effect) happened() bool {
	return e.leavesResult() || e == HappensUnwritten || e == HappensAndBreaks
}

// Done is the result of a step. It tells who brought it about.
type Done struct {
	By     string
	effect Effect
}

var errNoJSON = errors.New("no JSON")

// MarshalJSON fails, or panics, if the effect is one of those.
func (d Done) MarshalJSON() ([]byte, error) {
	switch d.effect {
	case HappensUnwritten:
		return nil, errNoJSON
	case HappensAndBreaks:
		panic(d.By)
	default:
		return json.Marshal(d.By)
	}
}

// UnmarshalJSON reads what MarshalJSON has written.
func (d *Done) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &d.By) }

// recordKey is a step of a record, in one of the lives of its key.
type recordKey struct {
	life int
	name string
}

// textOf is what a recorded step must return, in the words of stepFacts.told.
func textOf(s store.Step) string {
	if s.Kind == store.StepFailure {
		var failure struct {
			Message string `json:"errorMessage"`
		}
		if err := json.Unmarshal(s.Result, &failure); err != nil {
			return "nothing: " + err.Error()
		}
		return "fails for ever: " + failure.Message
	}
	var done Done
	if err := json.Unmarshal(s.Result, &done); err != nil {
		return "nothing: " + err.Error()
	}
	return "returns " + done.By
}

func sameStep(a, b store.Step) bool {
	return a.Kind == b.Kind && a.Seal == b.Seal && string(a.Result) == string(b.Result)
}

// keepsSteps reports whether the call is a release that leaves the record.
func (c call) keepsSteps() bool {
	return c.Op == opSwap && c.Next.Reason == store.ReasonReleased && c.Next.SettledAt.Equal(c.Seen.SettledAt) &&
		c.Next.Owner != c.Seen.Owner
}
