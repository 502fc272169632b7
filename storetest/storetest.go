// Package storetest is the conformance suite of [store.Store]: every store, of this module or of
// others, has to pass it. A store adopts it with one test:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return memory.New() })
//	}
//
// It is test code: programs never import it.
package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Features tells the suite what a store lacks, and how to look behind its interface. The zero value
// is a store that lacks nothing and is tested through its interface alone. A check that needs more
// is skipped, with the reason.
type Features struct {
	_ struct{} // literals name their fields: more may come

	// MaxResult is the size in bytes of the largest result that the store keeps. Zero means that it
	// keeps every result that Lambda can return.
	MaxResult int

	// ListLag is for how long a listing may miss what was written before it began, see
	// [store.Lister]. Zero means not at all. A store that cannot list needs nothing here.
	ListLag time.Duration

	// Writes makes writes that the store can commit with a record, and counts them. Nil means that
	// the suite cannot do so: it then leaves unchecked what the store commits. A store that is no
	// [store.Committer] needs nothing here.
	Writes *Writes

	// Foreign writes into records what another version of the store would write. Nil means that the
	// suite cannot do so: it then leaves unchecked that such attributes survive.
	Foreign *Foreign
}

// Foreign is access to attributes of a record that [store.Record] does not show.
type Foreign struct {
	_ struct{} // literals name their fields: more may come

	// Put adds an attribute that the store does not know to the record held under key.
	Put func(ctx context.Context, s store.Store, key string) error
	// Has reports whether the record held under key still has that attribute.
	Has func(ctx context.Context, s store.Store, key string) (bool, error)
}

// Writes is access to the rows that a store writes together with a record, see [store.Committer].
type Writes struct {
	_ struct{} // literals name their fields: more may come

	// Of returns writes of the store's kind, one for each row, in this order. Each adds one to the
	// count of its row, and makes the row if there is none.
	Of func(rows ...Row) store.Writes
	// Count is how often the row of this name was written; zero if there is none.
	Count func(ctx context.Context, s store.Store, name string) (int, error)
}

// Row is what one write of the suite is about.
type Row struct {
	// Name is a random text. No two rows of one commit have the same.
	Name string
	// New is the condition that there is no such row yet.
	New bool
}

// Run checks that the stores which factory returns keep the contract of [store.Store], and those of
// [store.ResultReader], [store.Committer] and [store.Lister] as far as they implement them. Each
// sentence of a contract is a subtest with a store of its own, and one runs at a time.
//
// The stores may share one table, also with other runs: every key is random. The suite leaves
// records behind; factory may register a cleanup with tb. The instants that a store is handed lie
// about an hour ahead of the clock, so that one which drops records by a clock of its own does not
// drop them during the test.
//
// A store whose calls take 2 ms passes in less than 20 s, one that commits in less than 30 s. The
// flags of pgregory.net/rapid apply, and -short leaves out results of more than 1 MiB.
func Run(t *testing.T, f Features, factory func(tb testing.TB) store.Store) {
	t.Helper()
	now := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.checks {
				t.Run(c.sentence, func(t *testing.T) {
					c.run(&probe{t: t, store: factory(t), features: f, now: now})
				})
			}
		})
	}
}

// check is one sentence of the contract and how to see that a store keeps it.
type check struct {
	sentence string
	run      func(p *probe)
	// completes says that a record is completed, which a commit can do, too.
	completes bool
}

type group struct {
	name   string
	checks []check
}

// groups returns all checks. Those that complete a record come twice: the second time, in the group
// Commit, each completion is a commit.
func groups() []group {
	all := []group{
		{"List", listChecks()}, // before anything else is in the table: without the index, it is read whole
		{"Claim", claimChecks()},
		{"Swap", swapChecks()},
		{"Delete", deleteChecks()},
		{"Seen", seenChecks()},
		{"Get", getChecks()},
		{"Fields", fieldChecks()},
		{"Result", resultChecks()},
		{"Layout", layoutChecks()},
		{"Parts", partsChecks()},
		{"Bytes", bytesChecks()},
		{"Steps", stepChecks()},
		{"Foreign", foreignChecks()},
		{"Context", contextChecks()},
		{"Sequence", []check{{"of calls is answered as a register answers it", sequences, true}}},
		{"Race", raceChecks()},
		{"History", []check{{"of concurrent calls is linearizable", linearizable, true}}},
		{"Goroutines", []check{{"end with the calls that started them", goroutinesEnd, true}}},
	}
	commits := commitChecks()
	for _, g := range all {
		for _, c := range g.checks {
			if c.completes {
				commits = append(commits, check{sentence: g.name + " " + c.sentence, run: committing(c.run)})
			}
		}
	}
	return slices.Insert(all, 1, group{"Commit", commits})
}
