package storetest

import (
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

func getChecks() []check {
	return []check{
		{"finds nothing under a key that was never claimed", func(p *probe) { p.absent(inProgress(p).Key) }, false},
		{"changes nothing", func(p *probe) {
			k := p.begin(completed)
			k.holds()
			k.holds()
		}, false},
		{"keeps keys apart that resemble each other", func(p *probe) {
			of := completed(p)
			key := of.Key
			keysApart(p, []string{
				key, strings.ToLower(key), key[:len(key)-1], "x" + key, strings.Replace(key, "#", "##", 1),
				strings.Replace(key, "#", ".", 1), key + "1", key + "#", key + "#1", key + "#" + of.Owner,
				key + "%", key + "*", key + "/", `"` + key + `"`, key + `\`, key + ":1",
			})
		}, false},
		{"keeps long keys apart that differ at their end", func(p *probe) {
			key := strings.Repeat("o", 200) + inProgress(p).Key
			keysApart(p, []string{key + "a", key + "b"})
		}, false},
	}
}

// keysApart holds a record, with a result that stores may keep beside it, under each of several
// keys.
func keysApart(p *probe, keys []string) {
	all := make([]*kept, len(keys))
	for i, key := range keys {
		p.absent(key)
		all[i] = p.begin(like(inProgress, completion(large), changed(func(_ *probe, r *store.Record) { r.Key = key })))
	}
	for i, k := range all {
		k.holds()
		if i%2 == 0 {
			k.play(remove())
		}
	}
	for _, k := range all {
		k.holds()
	}
}
