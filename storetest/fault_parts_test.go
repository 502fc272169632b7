package storetest_test

import (
	"bytes"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
)

// partsNamed names the parts of results.
func partsNamed(name func(key, owner string, result []byte) string) inject {
	return func(f *faulty) { f.Name = name }
}

func byKey(key, _ string, _ []byte) string { return key }

func byOwner(key, owner string, _ []byte) string { return key + "#" + owner }

func partsFaults() faults {
	// forgets drops the attribute of a record that the store does not know.
	forgets := func(of methods, where ...condition) inject {
		return of.after(func(c call, a *answer) {
			if a.Done && c.meets(where) {
				c.Foreign.Delete(c.Key)
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
				if c.Next.Result == nil {
					c.Next.Parts = c.held.Parts
				}
			})},
		},
		"Parts/are replaced by a Swap": {
			{"Swap keeps the parts of the record seen", swaps.before(func(c *call) {
				if c.Next.Result == nil {
					c.Next.Parts = c.held.Parts
				}
			})},
		},
		"Parts/stay if a Swap hands back the record that was read": {
			{"Swap drops the parts that it is handed", swaps.before(func(c *call) { c.Next.Parts = "" })},
		},
		"Parts/of a released record do not come back": {
			{"remembers the parts of a released record", reads.after(func(c call, a *answer) {
				of := c.Key + c.Seen.Owner
				if c.shared[of] == nil {
					c.shared[of] = a.Held.Result
				}
				a.Held.Result = bytes.Clone(c.shared[of])
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
				return len(c.Next.Result) > 4096
			})},
		},
		"Foreign/attributes are replaced by a Claim": {
			{"Claim keeps attributes that it does not know", claims.instead(func(c call) answer {
				_, had := c.Foreign.Load(c.Key)
				a := c.as(calls.Claim)
				if had {
					c.Foreign.Store(c.Key, true)
				}
				return a
			})},
		},
		"Commit/Foreign attributes survive a Swap": {
			{"Commit replaces the whole item", forgets(commits)},
		},
	}
}

// bytesFaults are stores that share bytes with their callers, without ever losing any themselves.
func bytesFaults() faults {
	cloned := gets.after(func(c call, a *answer) {
		c.share(&a.Held)
		a.Held.Result = bytes.Clone(a.Held.Result)
	})
	keepsBytes := func(m methods) inject {
		return all(cloned, m.before(func(c *call) { c.shared[c.Key+c.Next.Seal] = c.Next.Result }))
	}
	handsOut := func(m methods) inject {
		return all(cloned, m.after(func(c call, a *answer) { c.share(&a.Held) }))
	}
	return faults{
		"Bytes/of a small result may change after Claim": {
			{"Claim keeps the caller's bytes", keepsBytes(claims)},
			{"a refused Claim hands out its own bytes", handsOut(claims)},
		},
		"Bytes/of a small result may change after Swap": {
			{"Swap keeps the caller's bytes", keepsBytes(swaps)},
			{"a refused Swap hands out its own bytes", handsOut(swaps)},
			{"Get hands out its own bytes", gets.after(func(c call, a *answer) { c.share(&a.Held) })},
		},
		"Bytes/of a large result may change after Swap": {
			{"ReadResult hands out its own bytes", reads.after(func(c call, a *answer) {
				c.Seen.Result = a.Held.Result
				c.share(&c.Seen)
				a.Held.Result = c.Seen.Result
			})},
		},
		"Commit/Bytes of a small result may change after Swap": {
			{"Commit keeps the caller's bytes", keepsBytes(commits)},
			{"a refused Commit hands out its own bytes", handsOut(commits)},
		},
	}
}

// share gives a record the bytes that the store has in common with its callers, which are its own
// if there are none yet.
func (f *faulty) share(r *record) {
	if r.Result == nil {
		return
	}
	of := r.Key + r.Seal
	if _, found := f.shared[of]; !found {
		f.shared[of] = r.Result
	}
	r.Result = f.shared[of]
}
