package storetest_test

import (
	"bytes"

	"github.com/go-idempotent/idempotent/storetest"
)

// partsNamed names the parts of results.
func partsNamed(name func(key, owner string, result []byte) string) inject {
	return func(f *faulty) { f.name = name }
}

func byKey(key, _ string, _ []byte) string { return key }

func byOwner(key, owner string, _ []byte) string { return key + "#" + owner }

func partsFaults() faults {
	// forgets drops the attribute of a record that the store does not know.
	forgets := func(of methods, where ...condition) inject {
		return of.after(func(c call, a *answer) {
			if a.done && c.meets(where) {
				c.forget(c.key)
			}
		})
	}
	return faults{
		"Parts/written by a refused Swap do not change the held result": {
			{"names parts by their key", partsNamed(byKey)},
			{"names parts by key and owner", partsNamed(byOwner)},
		},
		"Parts/written by a refused Claim do not change the held result": {
			{"names the parts of a Claim by key and owner", partsNamed(byOwner)},
		},
		"Parts/are replaced by a Claim": {
			{"Claim keeps the parts of the claimed record", claims.before(func(c *call) {
				if c.next.Result == nil {
					c.next.Parts = c.held.Parts
				}
			})},
		},
		"Parts/are replaced by a Swap": {
			{"Swap keeps the parts of the record seen", swaps.before(func(c *call) {
				if c.next.Result == nil {
					c.next.Parts = c.held.Parts
				}
			})},
		},
		"Parts/stay if a Swap hands back the record that was read": {
			{"Swap drops the parts that it is handed", swaps.before(func(c *call) { c.next.Parts = "" })},
		},
		"Parts/of a released record do not come back": {
			{"remembers the parts of a released record", reads.after(func(c call, a *answer) {
				of := c.key + c.seen.Owner
				if c.shared[of] == nil {
					c.shared[of] = a.held.Result
				}
				a.held.Result = bytes.Clone(c.shared[of])
			})},
		},
		"Result/of 4097 bytes comes back byte for byte": {
			{"cannot read results", func(f *faulty) { f.resultless = true }},
			{"returns a result together with its parts", shown(func(r *record) {
				if r.Parts != "" {
					r.Result = []byte("0")
				}
			})},
		},
		"Foreign/attributes survive a Swap": {
			{"Swap drops attributes that it does not know", forgets(swaps)},
			{"Swap of a large result drops attributes that it does not know", forgets(swaps, func(c call) bool {
				return len(c.next.Result) > 4096
			})},
		},
		"Foreign/attributes are replaced by a Claim": {
			{"Claim keeps attributes that it does not know", claims.instead(func(c call) answer {
				had := c.foreign[c.key]
				a := c.as(storetest.OpClaim)
				c.foreign[c.key] = had
				return a
			})},
		},
		"Commit/Foreign attributes survive a Swap": {
			{"Commit replaces the whole item", forgets(commits)},
		},
	}
}

// forget drops the attribute of a record that the store does not know.
func (p *parted) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.foreign, key)
}
