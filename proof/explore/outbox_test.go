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
	fresh := entry{ID: "m", Owner: "A", Created: due, Due: due}
	as := func(change func(m *entry)) entry {
		m := fresh
		change(&m)
		return m
	}
	givenUp := as(func(m *entry) { m.GivenUp, m.Tries = true, 3 })
	done := as(func(m *entry) { m.Due = time.Time{} })
	once := as(func(m *entry) { m.Due, m.Tries = later, 1 })
	replaced := as(func(m *entry) { m.Owner = "B" })
	for name, c := range map[string]struct {
		held, seen entry
		op         boxOp
		becomes    entry // zero is what it was: the write is refused
	}{
		"a mark":                          {fresh, fresh, boxDone, done},
		"a mark of one that is given up":  {givenUp, fresh, boxDone, done},
		"a mark of one that is done":      {held: done, seen: fresh, op: boxDone},
		"a mark of another commit's":      {held: replaced, seen: fresh, op: boxDone},
		"a count":                         {fresh, fresh, boxFailed, once},
		"a count of one that was put off": {as(func(m *entry) { m.Due = later }), fresh, boxFailed, once},
		"a count of one that is done":     {held: done, seen: fresh, op: boxFailed},
		"a count of another commit's":     {held: replaced, seen: fresh, op: boxFailed},
		"a take":                          {fresh, fresh, boxTake, once},
		"a take of one that was taken":    {held: once, seen: fresh, op: boxTake},
		"a take of one that is given up":  {held: givenUp, seen: fresh, op: boxTake},
		"a take of one that is done":      {held: done, seen: fresh, op: boxTake},
		"a take of another commit's":      {held: replaced, seen: fresh, op: boxTake},
		"one that was never tried, given up": {
			fresh, fresh, boxGiveUp, as(func(m *entry) { m.GivenUp, m.Tries = true, 1 }),
		},
		"one that was tried, given up": {
			once, once, boxGiveUp, as(func(m *entry) { m.Due, m.GivenUp, m.Tries = later, true, 1 }),
		},
		"one that was redriven since, given up": {held: fresh, seen: givenUp, op: boxGiveUp},
		"one that is done, given up":            {held: done, seen: fresh, op: boxGiveUp},
		"another commit's, given up":            {held: replaced, seen: fresh, op: boxGiveUp},
	} {
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
	require.Equal(t, as(func(m *entry) { m.Due = later }), o.messages["m"])
}
