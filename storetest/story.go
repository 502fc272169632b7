package storetest

import (
	"bytes"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// story is what happens to one key: a record is planted, unless it is nil, and then come calls, one
// after the other. A register tells what the store has to answer to each, and what it holds then.
type story struct {
	first change
	turns []turn
}

// from returns one story.
func from(first change, turns ...turn) []story { return []story{{first, turns}} }

// turn is one call of a story.
type turn struct {
	op calls.Op
	// next makes the record to write of the one that was seen, and sight what the caller takes that
	// for.
	next, sight []change
	// The caller has seen the record that is held. With early it has seen the first one of the
	// story, with read it has what Get returns.
	early, read bool
	// at is when a Claim is made, after the probe's now.
	at time.Duration
	// writes are what a commit writes besides; nil means two rows.
	writes []rowKind
	// refuses says that the call is not done. The register has to say so, too.
	refuses bool
	// completes says that the record is completed, which a commit can do.
	completes bool
	// repeats makes the call before once more, with another token.
	repeats bool
	// instead is done instead of a call.
	instead func(k *kept)
}

func claim(next ...change) turn { return turn{op: calls.Claim, next: next} }

func swap(next ...change) turn { return turn{op: calls.Swap, next: next} }

// completes is a swap for a record that is completed, or a commit of it.
func completes(next ...change) turn { return turn{op: calls.Swap, next: next, completes: true} }

// complete completes the record with a result.
func complete(r result, next ...change) turn {
	return completes(append([]change{completion(r)}, next...)...)
}

// steps writes steps, as the owner of the record does.
func steps(all stepsOf) turn { return swap(with(all)).by(blindly) }

func remove() turn { return turn{op: calls.Delete} }

func again() turn { return turn{repeats: true, refuses: true} }

// refused is a turn that is not done.
func (t turn) refused() turn { t.refuses = true; return t }

// by is a turn of a caller who takes the record for something else.
func (t turn) by(sight ...change) turn { t.sight = sight; return t }

// late is a turn of a caller who has seen the first record only.
func (t turn) late() turn { t.early = true; return t }

// asRead is a turn of a caller who has just read the record.
func (t turn) asRead() turn { t.read = true; return t }

// after is a Claim that is made this long after the probe's now.
func (t turn) after(d time.Duration) turn { t.at = d; return t }

// writing is a turn with these writes, if it is a commit.
func (t turn) writing(rows ...rowKind) turn { t.writes = append([]rowKind{}, rows...); return t }

// says returns the check of a sentence: the stories that show whether a store keeps it.
func says(sentence string, stories ...[]story) check {
	all := slices.Concat(stories...)
	c := check{sentence: sentence, run: func(p *probe) {
		for _, s := range all {
			p.begin(s.first).play(s.turns...)
		}
	}}
	for _, s := range all {
		c.completes = c.completes || slices.ContainsFunc(s.turns, func(t turn) bool { return t.completes })
	}
	return c
}

// kept is the key of a story while it is told.
type kept struct {
	*probe

	register
	first, last store.Record // that was held, or might have been
	before      call
}

// begin plants a record of this kind. If that is nil, there is only its key.
func (p *probe) begin(first change) *kept {
	p.t.Helper()
	if first == nil {
		return p.holding(p.of(inProgress))
	}
	r := p.of(first)
	k := p.holding(r)
	k.do(call{Call: calls.Call{Op: calls.Claim, Key: r.Key, Next: r, Now: p.now}}, false)
	k.first = k.last
	return k
}

// of returns a new record of a kind.
func (p *probe) of(kind change) (r store.Record) {
	kind(p, &r)
	return r
}

// holding returns a story in which nobody holds r yet.
func (p *probe) holding(r store.Record) *kept { return &kept{probe: p, first: r, last: r} }

// play makes the calls of turns.
func (k *kept) play(turns ...turn) *kept {
	k.t.Helper()
	for _, t := range turns {
		if t.instead != nil {
			t.instead(k)
		} else {
			k.do(k.call(t), t.refuses)
		}
	}
	return k
}

// call returns the call of a turn.
func (k *kept) call(t turn) call {
	k.t.Helper()
	if t.repeats {
		c := k.before
		c.Token = rand.Text()
		return c
	}
	seen := k.last
	switch {
	case t.early:
		seen = k.first
	case t.read:
		seen, _ = k.get(seen.Key)
	}
	c := call{Call: calls.Call{Op: t.op, Key: seen.Key, Seen: seen, Next: seen, Now: k.now.Add(t.at)}}
	c.Next.Steps = nil
	if t.op == calls.Claim {
		inProgress(k.probe, &c.Next)
		c.Next.Key = seen.Key
	}
	for _, change := range t.next {
		change(k.probe, &c.Next)
	}
	for _, change := range t.sight {
		change(k.probe, &c.Seen)
	}
	if t.completes && k.commits != nil {
		return k.commits.instead(c, t.writes, t.refuses)
	}
	return c
}

// do makes a call, and sees that it is answered as the register answers it, and what is held then.
func (k *kept) do(c call, refuses bool) {
	k.t.Helper()
	if k.try(c) == refuses {
		k.t.Fatalf("the table is wrong: that it is refused is %t\n%s", refuses, c)
	}
}

// try is do for a call of which the register alone says whether it is done.
func (k *kept) try(c call) (done bool) {
	k.t.Helper()
	known := c
	known.Next = k.whole(known.Next)
	next, want := k.apply(known)
	handed := c
	if k.spoils {
		handed.Seen, handed.Next = copied(c.Seen), copied(c.Next)
		known.Next = copied(known.Next)
		next, want = k.apply(known)
	}
	got, err := handed.make(k.t.Context(), k.store)
	k.noError(string(c.Op), err)
	got.record = k.whole(got.record)
	if !got.equal(want) {
		k.t.Fatalf("%s\nis answered %s\nwant %s\n%s", c, got, want, difference(want.record, got.record))
	}
	if k.spoils {
		spoil(handed.Seen, handed.Next, got.record)
	}
	k.register, k.before = next, c
	if want.done && next.held {
		k.last = next.record
	}
	k.holds()
	k.commits.settle(k.probe, c, want.done)
	return want.done
}

// holds sees that the store holds what the register holds.
func (k *kept) holds() {
	k.t.Helper()
	if !k.held {
		k.absent(k.last.Key)
		return
	}
	for range 2 { // and again, if the bytes were overwritten that it has returned
		r, found := k.get(k.last.Key)
		if !found {
			k.t.Fatalf("Get finds no record, want\n%s", describe(k.record))
		}
		r = k.whole(r)
		if d := difference(k.record, r); d != "" {
			k.t.Fatalf("another record is held than there should be:\n%s", d)
		}
		if r.Status == store.StatusCompleted && r.Seal != "" && !r.Sealed(r.Result) {
			k.t.Fatalf("the seal does not name the result")
		}
		if !k.spoils {
			return
		}
		spoil(r)
	}
}

// copied returns r with bytes and a map of its own.
func copied(r store.Record) store.Record {
	r.Result, r.Steps = bytes.Clone(r.Result), maps.Clone(r.Steps)
	for name, s := range r.Steps {
		s.Result = bytes.Clone(s.Result)
		r.Steps[name] = s
	}
	return r
}

// spoil changes all that it can reach of the results and steps of records.
func spoil(all ...store.Record) {
	for _, r := range all {
		scribble(r.Result)
		for _, s := range r.Steps {
			scribble(s.Result)
		}
		clear(r.Steps)
		if r.Steps != nil {
			r.Steps[another] = store.Step{Kind: store.StepStarted, Seal: "nobody"}
		}
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0x55
	}
}
