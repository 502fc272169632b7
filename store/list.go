package store

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"time"
)

// Lister is implemented by stores that can list what they hold, for operators and tools.
type Lister interface {
	// List yields the records that the query names, in no order. It reads page by page, as far as
	// the caller goes on. It is no snapshot: a record that is written meanwhile may be missing, and
	// one that is yielded may have changed, or have expired; [Store.Get] reads what counts.
	//
	// A record of a listing has what finds it: Key, Status, Reason, Attempt, Attention and
	// AttentionAt; without the index also Expiry, Owner, Lease, CreatedAt, CompletedAt, SettledBy
	// and SettledAt. It never has a result.
	//
	// An error ends the listing. The exception is an [*UnreadableError], which stands for one
	// record, has its key in the record beside it, and ends nothing. A query that the store cannot
	// answer, or not as it was asked, is a [*Error] that wraps [ErrNoListing] or [ErrNoIndex]. The
	// context is respected, also while waiting.
	List(ctx context.Context, q Query) iter.Seq2[Record, error]

	// ListCost tells what List with this query reads at most, before it reads anything.
	ListCost(ctx context.Context, q Query) (Cost, error)
}

var (
	// ErrNoListing is in the error of a [Lister] that stands before a store which cannot list.
	ErrNoListing = errors.New("this store cannot list its records")
	// ErrNoIndex is in the error of a [Lister] that lacks the index which it was asked to use.
	ErrNoIndex = errors.New("there is no index of the records with attention")
)

// Query names records: those that meet each field which is not zero. Its zero value names all.
type Query struct {
	_ struct{} // literals name their fields: more may come

	Statuses  []Status // one of these
	Operation string   // see [Record.Operation]
	Attention bool     // the record has one, see [Record.Attention]
	// AttentionBefore asks for those whose AttentionAt is this instant or an earlier one.
	AttentionBefore time.Time
	// NotGivenUp leaves out the records that are given up, see [Record.GivenUp].
	NotGivenUp bool
	// CreatedBefore asks for records that were created at this instant or earlier, or do not say
	// when. The index does not know it.
	CreatedBefore time.Time

	// Index has the store read its index of the records with attention, for a query of which
	// Indexable is true. Without it, the store reads everything that it holds.
	Index bool
	// PageSize is how many records one page reads at most; 0 leaves it to the store.
	PageSize int
	// Rate is how many read units per second are used on average, 0 for no limit. A page is never
	// cut: a store that bills by size takes 128 units for a page of its own size.
	Rate float64
	// Page, unless nil, is called with what was read of each page, before its records are yielded.
	Page func(Page)
}

// Page is what a listing has read of a store at once.
type Page struct {
	// Records is how many records were read, also those that the query does not name.
	Records int
	// Units are the read units that this took, 0 for a store that has no such thing.
	Units float64
}

// Cost is what a listing reads.
type Cost struct {
	// Indexed says that the store has the index and the query uses it.
	Indexed bool
	// Records and Bytes are how much is read, which may be more than the query names.
	Records, Bytes int64
	// Units are as in [Page], and Pages the calls.
	Units float64
	Pages int64
	// Exact is false for an estimate, which may be hours old.
	Exact bool
}

// Indexable reports whether the index of the records with attention answers the query: all that it
// names have attention, and the index knows everything that it asks for.
func (q Query) Indexable() bool {
	return (q.Attention || !q.AttentionBefore.IsZero()) && q.CreatedBefore.IsZero()
}

// Names reports whether the query names the record. Stores that cannot express it as a filter of
// their own call it.
func (q Query) Names(r Record) bool {
	switch {
	case len(q.Statuses) > 0 && !slices.Contains(q.Statuses, r.Status):
		return false
	case q.Operation != "" && r.Operation() != q.Operation:
		return false
	case q.Attention && r.Attention == "":
		return false
	case !q.AttentionBefore.IsZero() && (r.Attention == "" || r.AttentionAt.After(q.AttentionBefore)):
		return false
	case q.NotGivenUp && r.GivenUp():
		return false
	default:
		return q.CreatedBefore.IsZero() || r.CreatedAt.IsZero() || !r.CreatedAt.After(q.CreatedBefore)
	}
}

// ListerOf returns the store as a Lister. If it is none, each listing is an error that wraps
// [ErrNoListing].
func ListerOf(s Store) Lister {
	if l, ok := s.(Lister); ok {
		return l
	}
	return noLister{s}
}

type noLister struct{ store Store }

func (n noLister) List(context.Context, Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) { yield(Record{}, lacks(n.store, ErrNoListing, "list")) }
}

func (n noLister) ListCost(context.Context, Query) (Cost, error) {
	return Cost{}, lacks(n.store, ErrNoListing, "list cost")
}

// ReleasedWait is after how long a record that was released with steps is overdue. Until then its
// client is expected to retry.
const ReleasedWait = time.Hour

// attentionShards spread the records of an operation, so that their index has no hot partition.
const attentionShards = 10

// AttentionOf returns the attention of a record with this key that somebody has to settle: the
// operation, #, and a shard.
func AttentionOf(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return attentionShard(Record{Key: key}.Operation(), int(h.Sum32()%attentionShards))
}

// GivenUpOf returns the attention of a record with this key that is given up: a reconciliation has
// asked about it so often without an answer that a person has to settle it.
func GivenUpOf(key string) string { return Record{Key: key}.Operation() + givenUp }

const givenUp = "#given-up"

// GivenUp reports whether no reconciliation asks about the record any more.
func (r Record) GivenUp() bool { return r.Attention != "" && r.Attention == GivenUpOf(r.Key) }

// AttentionsOf returns the attentions that records of an operation can have: those of
// [AttentionOf], and that of [GivenUpOf].
func AttentionsOf(operation string) (open []string, done string) {
	open = make([]string, attentionShards)
	for n := range open {
		open[n] = attentionShard(operation, n)
	}
	return open, operation + givenUp
}

func attentionShard(operation string, shard int) string { return operation + "#" + strconv.Itoa(shard) }
