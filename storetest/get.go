package storetest

import (
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

func getChecks() []check {
	return []check{
		{"finds nothing under a key that was never claimed", func(p *probe) {
			r, found, err := p.store.Get(p.t.Context(), p.inProgress().Key)
			p.noError("Get", err)
			if found || !equal(r, store.Record{}) {
				p.t.Fatalf("Get returned found %t and\n%s", found, describe(r))
			}
		}},
		{"changes nothing", func(p *probe) {
			held := p.plant(p.completed())
			p.holds(held)
			p.holds(held)
		}},
		{"keeps keys apart that resemble each other", keysApart},
		{"keeps long keys apart that differ at their end", func(p *probe) {
			a, b := p.inProgress(), p.inProgress()
			a.Key = strings.Repeat("o", 200) + a.Key + "a"
			b.Key = a.Key[:len(a.Key)-1] + "b"
			p.plant(a)
			p.absent(b.Key)
			p.plant(b)
			p.deletes(a)
			p.holds(b)
		}},
	}
}

// keysApart holds a record, with a result that stores may keep beside it, under each of several keys.
func keysApart(p *probe) {
	first := completion(p.inProgress(), p.large())
	keys := []string{
		first.Key, strings.ToLower(first.Key), first.Key[:len(first.Key)-1], "x" + first.Key,
		strings.Replace(first.Key, "#", "##", 1), strings.Replace(first.Key, "#", ".", 1),
		first.Key + "1", first.Key + "#", first.Key + "#1", first.Key + "#" + first.Owner,
		first.Key + "%", first.Key + "*", first.Key + "/", `"` + first.Key + `"`, first.Key + `\`, first.Key + ":1",
	}
	records := make([]store.Record, len(keys))
	for i, key := range keys {
		records[i] = completion(p.inProgress(), p.large())
		records[i].Key = key
		p.absent(key)
		p.plant(records[i])
	}
	for i, r := range records {
		p.holds(r)
		if i%2 == 0 {
			p.deletes(r)
		}
	}
	for i, r := range records {
		if i%2 == 1 {
			p.holds(r)
		} else {
			p.absent(r.Key)
		}
	}
}
