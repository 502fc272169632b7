package storetest

import (
	"pgregory.net/rapid"
)

func sequences(p *probe) {
	rapid.Check(p.t, func(t *rapid.T) { sequence(p.in(t), t) })
}

// sequence makes calls for two keys, one after the other, by three callers of which each knows only
// its own answers.
func sequence(p *probe, t *rapid.T) {
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
	keys := make([]*kept, 2)
	callers := make([][]*caller, len(keys))
	for i := range keys {
		keys[i] = p.begin(nil)
		for _, name := range []string{"A", "B", "C"} {
			c := &caller{name: name, key: keys[i].last.Key, now: p.now, pick: pick, commits: p.commits}
			callers[i] = append(callers[i], c)
		}
	}
	for range rapid.IntRange(1, 20).Draw(t, "calls") {
		i := pick(len(keys))
		who := callers[i][pick(len(callers[i]))]
		made := who.call()
		_, want := keys[i].apply(made)
		keys[i].try(made)
		who.learn(made, want)
	}
}
