package storetest_test

import "bytes"

// bytesFaults are stores that share bytes with their callers, without ever losing any themselves.
func bytesFaults() faults {
	cloned := gets.after(func(c call, a *answer) {
		c.share(&a.held)
		a.held.Result = bytes.Clone(a.held.Result)
	})
	keepsBytes := func(m methods) inject {
		return all(cloned, m.before(func(c *call) { c.shared[c.key+c.next.Seal] = c.next.Result }))
	}
	handsOut := func(m methods) inject {
		return all(cloned, m.after(func(c call, a *answer) { c.share(&a.held) }))
	}
	return faults{
		"Bytes/of a small result may change after Claim": {
			{"Claim keeps the caller's bytes", keepsBytes(claims)},
			{"a refused Claim hands out its own bytes", handsOut(claims)},
		},
		"Bytes/of a small result may change after Swap": {
			{"Swap keeps the caller's bytes", keepsBytes(swaps)},
			{"a refused Swap hands out its own bytes", handsOut(swaps)},
			{"Get hands out its own bytes", gets.after(func(c call, a *answer) { c.share(&a.held) })},
		},
		"Bytes/of a large result may change after Swap": {
			{"ReadResult hands out its own bytes", reads.after(func(c call, a *answer) {
				c.seen.Result = a.held.Result
				c.share(&c.seen)
				a.held.Result = c.seen.Result
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
