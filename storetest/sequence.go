package storetest

import (
	"crypto/rand"

	"pgregory.net/rapid"
)

func sequenceChecks() []check {
	return []check{
		{"of calls is answered as a register answers it", func(p *probe) {
			rapid.Check(p.t, func(t *rapid.T) { sequence(p.in(t), t, nil) })
		}},
	}
}

// sequence makes calls for two keys, one after the other, by three callers of which each knows only its own answers. commits,
// unless nil, makes some of the calls.
func sequence(p *probe, t *rapid.T, commits *historyCommits) {
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
	keys := []string{"storetest#" + rand.Text(), "storetest#" + rand.Text()}
	registers := make([]register, len(keys))
	callers := make([][]*caller, len(keys))
	for i, key := range keys {
		for _, name := range []string{"A", "B", "C"} {
			callers[i] = append(callers[i], &caller{name: name, key: key, now: p.now, pick: pick, commits: commits})
		}
	}
	for range rapid.IntRange(1, 20).Draw(t, "calls") {
		i := pick(len(keys))
		who := callers[i][pick(len(callers[i]))]
		made := who.call()
		got, err := made.make(t.Context(), p.store)
		p.noError(string(made.op), err)
		got.record = p.whole(got.record)
		next, want := registers[i].apply(made)
		if !got.equal(want) {
			t.Fatalf("%s\nis answered %s\nwant %s", made, got, want)
		}
		registers[i] = next
		commits.check(made, got)
		who.learn(made, got)
	}
}
