package storetest_test

import (
	"slices"
	"strings"
)

func deleteFaults() faults {
	return faults{
		"Delete/lets the next claim start afresh": {
			{"Delete removes any record", deletes.before(func(c *call) { c.seen = c.held })},
		},
		"Delete/removes a record that was swapped, as it is now": {
			{"Delete only says that it did", deletes.instead(func(c call) answer {
				return answer{done: c.held.Owner == c.seen.Owner && c.held.Lease.Equal(c.seen.Lease)}
			})},
		},
		"Delete/of a key without a record is false": {
			{"Delete of nothing is true", deletes.after(func(c call, a *answer) {
				a.done = a.done || c.held.Key == ""
			})},
		},
		"Claim/writes the record if the held one was deleted": {
			{"Delete leaves a mark", all(
				deletes.before(func(c *call) { c.notes[c.key] = c.seen }),
				claims.instead(func(c call) answer {
					if mark, found := c.notes[c.key]; found {
						return answer{held: mark}
					}
					return c.pass()
				}),
			)},
		},
	}
}

func getFaults() faults {
	// keysAs holds records under other keys than their own.
	keysAs := func(change func(string) string) inject {
		return all(
			slices.Concat(claims, swaps, deletes).before(func(c *call) {
				c.seen.Key, c.next.Key = change(c.key), change(c.key)
			}),
			gets.instead(func(c call) answer {
				key := c.key
				c.key = change(key)
				a := c.pass()
				if a.done {
					a.held.Key = key
				}
				return a
			}),
		)
	}
	return faults{
		"Get/finds nothing under a key that was never claimed": {
			{"Get finds a record under any key", gets.after(func(_ call, a *answer) { a.done = true })},
			{"Get returns the key of a record that is not there", gets.after(func(c call, a *answer) { a.held.Key = c.key })},
		},
		"Get/changes nothing": {
			{"Get removes what it reads", gets.after(func(c call, _ *answer) { c.drop() })},
		},
		"Get/keeps keys apart that resemble each other": {
			{"ignores the case of keys", keysAs(strings.ToLower)},
			{"cuts keys at the second #", keysAs(func(key string) string {
				return strings.Join(strings.SplitN(key, "#", 3)[:2], "#")
			})},
			{"names parts by the first half of the key", partsNamed(func(key, _ string, _ []byte) string { return key[:20] })},
		},
		"Get/keeps long keys apart that differ at their end": {
			{"cuts long keys", keysAs(func(key string) string { return key[:min(len(key), 128)] })},
		},
	}
}
