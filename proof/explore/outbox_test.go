package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBoxKeepsItsContract is about each sentence of [relay.Box], which the tests of package outbox
// see kept by DynamoDB.
func TestBoxKeepsItsContract(t *testing.T) {
	t.Parallel()
	due, later := time.UnixMilli(1), time.UnixMilli(2)
	of := func(owner string, due time.Time, tries int, givenUp bool) entry {
		return entry{ID: "m", Owner: owner, Due: due, Tries: tries, GivenUp: givenUp}
	}
	fresh, once, givenUp := of("A", due, 0, false), of("A", later, 1, false), of("A", due, 3, true)
	done, replaced := of("A", time.Time{}, 0, false), of("B", due, 0, false)
	type write struct {
		held, seen entry
		op         boxOp
		becomes    entry // zero is what it was: the write is refused
	}
	all := map[string]write{
		"a mark":                                {fresh, fresh, boxDone, done},
		"a mark of one that is given up":        {givenUp, fresh, boxDone, done},
		"a count":                               {fresh, fresh, boxFailed, once},
		"a count of one that was put off":       {of("A", later, 0, false), fresh, boxFailed, once},
		"a take":                                {fresh, fresh, boxTake, once},
		"a take of one that was taken":          {held: once, seen: fresh, op: boxTake},
		"a take of one that is given up":        {held: givenUp, seen: fresh, op: boxTake},
		"one that was never tried, given up":    {fresh, fresh, boxGiveUp, of("A", due, 1, true)},
		"one that was tried, given up":          {once, once, boxGiveUp, of("A", later, 1, true)},
		"one that was redriven since, given up": {held: fresh, seen: givenUp, op: boxGiveUp},
	}
	for _, op := range []boxOp{boxDone, boxFailed, boxTake, boxGiveUp} {
		all[string(op)+" of one that is done"] = write{held: done, seen: fresh, op: op}
		all[string(op)+" of another commit's"] = write{held: replaced, seen: fresh, op: op}
	}
	for name, c := range all {
		o := outbox{messages: map[string]entry{"m": c.held}}
		want, wrote := c.becomes, c.becomes.ID != ""
		if !wrote {
			want = c.held
		}
		got := o.answer(boxCall{Op: c.op, Entry: c.seen, At: later})
		require.Equal(t, wrote, got.Done, name)
		require.Equal(t, want, o.messages["m"], name)
		if wrote {
			require.Equal(t, []entry{want}, o.images, name)
			require.Equal(t, want.Tries, got.Tries, name)
		}
		read := o.answer(boxCall{Op: boxGet, Entry: fresh})
		require.Equal(t, pending(want), read.Done, name)
		listed := o.answer(boxCall{Op: boxList}).Page
		require.Equal(t, pending(want) && !want.GivenUp, len(listed) == 1, name)
	}
	o := outbox{messages: map[string]entry{}}
	o.redrive(givenUp, later)
	require.Equal(t, of("A", later, 0, false), o.messages["m"])
}
