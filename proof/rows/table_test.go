package rows_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

var one = rows.Writes{{Op: rows.Update, Key: "made", Add: map[string]int64{"n": 1}}}

func TestTableKeepsTheContractOfStores(t *testing.T) {
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return rows.New(nil) })
}

func TestDigestsTellWritesApart(t *testing.T) {
	t.Parallel()
	seen := map[[sha256.Size]byte]string{}
	for name, w := range map[string]rows.Writes{
		"none":         {},
		"add":          one,
		"set":          {{Op: rows.Update, Key: "made", Set: map[string]int64{"n": 1}}},
		"put":          {{Op: rows.Put, Key: "made", Set: map[string]int64{"n": 1}}},
		"other key":    {{Op: rows.Put, Key: "mad", Set: map[string]int64{"en": 1}}},
		"other number": {{Op: rows.Put, Key: "made", Set: map[string]int64{"n": 2}}},
		"with condition": {{
			Op: rows.Put, Key: "made", Set: map[string]int64{"n": 1},
			If: []rows.Condition{{Kind: rows.Absent, Name: "n"}},
		}},
		"twice": {one[0], one[0]},
	} {
		before, is := seen[w.Digest()]
		assert.False(t, is, "%s has the digest of %s", name, before)
		seen[w.Digest()] = name
	}
}
