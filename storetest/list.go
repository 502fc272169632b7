package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func listChecks() []check {
	of := func(run func(l *listing)) func(p *probe) { return func(p *probe) { run(p.listing()) } }
	return []check{
		{sentence: "yields what the query names", run: of((*listing).namesWhatIsAsked)},
		{sentence: "yields records with attention, with the index and without", run: of((*listing).namesAttention)},
		{sentence: "goes by age", run: of((*listing).goesByAge)},
		{sentence: "forgets a record that somebody has settled", run: of((*listing).forgets)},
		{sentence: "of all operations has those of each", run: of((*listing).spansOperations)},
		{sentence: "reads page by page, as far as the caller goes on", run: of((*listing).readsPages)},
		{sentence: "never has a result", run: of((*listing).hasNoResult)},
		{sentence: "refuses an index that does not answer the query", run: of((*listing).refusesIndex)},
		{sentence: "respects a context that has ended", run: of((*listing).endsInTime)},
		{sentence: "tells its cost", run: of((*listing).costs)},
	}
}

// listing is a store that lists, with a record of each kind under an operation of their own.
type listing struct {
	*probe

	lister    store.Lister
	operation string

	running, released, done, ownerless, waiting, asked, givenUp *kept
	all                                                         []*kept // that were planted
}

// listing plants the records, or skips the check if the store cannot list.
func (p *probe) listing() *listing {
	p.t.Helper()
	lister, ok := p.store.(store.Lister)
	if !ok {
		p.t.Skipf("%T is no store.Lister", p.store)
	}
	if _, err := lister.ListCost(p.t.Context(), store.Query{}); errors.Is(err, store.ErrNoListing) {
		p.t.Skipf("%v", err)
	}
	l := &listing{probe: p, lister: lister, operation: "storetest-" + rand.Text()}
	late := changed(func(p *probe, r *store.Record) { r.CreatedAt = p.now.Add(time.Hour) })
	long := changed(func(p *probe, r *store.Record) { r.AttentionAt = p.now.Add(-time.Hour) })
	givenUp := changed(func(_ *probe, r *store.Record) { r.Attention = store.GivenUpOf(l.operation + "#") })
	l.running = l.plant(inProgress)
	l.released = l.plant(like(inProgress, settled, late))
	l.done = l.plant(like(completed, late))
	l.ownerless = l.plant(completedOwnerless)
	l.waiting = l.plant(like(unknown, late, long))
	l.asked = l.plant(like(unknown, late))
	l.givenUp = l.plant(like(unknown, late, givenUp))
	return l
}

// plant plants a record of the operation.
func (l *listing) plant(of kind) *kept {
	l.t.Helper()
	k := l.begin(like(of, changed(func(_ *probe, r *store.Record) {
		r.Key = l.operation + "#" + rand.Text()
		if r.Attention != "" && !strings.HasPrefix(r.Attention, l.operation) {
			r.Attention = store.AttentionOf(r.Key)
		}
	})))
	l.all = append(l.all, k)
	return k
}

// yields sees that a query finds these records, and of each what a listing has.
func (l *listing) yields(q store.Query, want ...*kept) {
	l.t.Helper()
	byKey := func(a, b store.Record) int { return strings.Compare(a.Key, b.Key) }
	records := make([]store.Record, len(want))
	for i, k := range want {
		records[i] = k.record
	}
	slices.SortFunc(records, byKey)
	l.eventually(func() string {
		got := l.list(q)
		slices.SortFunc(got, byKey)
		if len(got) != len(records) {
			return "List finds another number of records"
		}
		for i, r := range got {
			if r.Result != nil || r.Parts != "" || len(r.Steps) > 0 {
				return "List reads results"
			}
			if d := difference(listed(records[i], q.Index), listed(r, q.Index)); d != "" {
				return "List finds another record:\n" + d
			}
		}
		return ""
	})
}

// either sees that a query finds these records, with the index and without.
func (l *listing) either(q store.Query, want ...*kept) {
	l.t.Helper()
	for _, q.Index = range []bool{true, false} {
		l.yields(q, want...)
	}
}

// listed is what a listing has to have of a record.
func listed(r store.Record, index bool) store.Record {
	l := store.Record{
		Key: r.Key, Status: r.Status, Reason: r.Reason, Attempt: r.Attempt,
		Attention: r.Attention, AttentionAt: r.AttentionAt,
	}
	if !index {
		l.Expiry, l.Owner, l.Lease, l.CreatedAt, l.CompletedAt = r.Expiry, r.Owner, r.Lease, r.CreatedAt, r.CompletedAt
		l.SettledBy, l.SettledAt = r.SettledBy, r.SettledAt
	}
	return l
}

// allOperations stands for no restriction, in a query whose zero value is the operation of the
// listing.
const allOperations = "*"

func (l *listing) list(q store.Query) (all []store.Record) {
	l.t.Helper()
	switch q.Operation {
	case "":
		q.Operation = l.operation
	case allOperations:
		q.Operation = ""
	}
	for r, err := range l.lister.List(l.t.Context(), q) {
		l.noError("List", err)
		all = append(all, r)
	}
	return all
}

// eventually looks until nothing is wrong, for as long as listings may lag behind.
func (l *listing) eventually(look func() string) {
	l.t.Helper()
	end := time.Now().Add(l.features.ListLag)
	for wrong := look(); wrong != ""; wrong = look() {
		if !time.Now().Before(end) {
			l.t.Fatalf("%s", wrong)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (l *listing) namesWhatIsAsked() {
	l.yields(store.Query{}, l.all...)
	l.yields(store.Query{Statuses: []store.Status{store.StatusCompleted}}, l.done, l.ownerless)
	l.yields(store.Query{Statuses: []store.Status{store.StatusInProgress, store.StatusUnknown}},
		l.running, l.released, l.waiting, l.asked, l.givenUp)
}

func (l *listing) namesAttention() {
	l.either(store.Query{Attention: true}, l.waiting, l.asked, l.givenUp)
	l.either(store.Query{Attention: true, NotGivenUp: true}, l.waiting, l.asked)
	l.either(store.Query{Attention: true, Statuses: []store.Status{store.StatusCompleted}})
}

func (l *listing) goesByAge() {
	at := l.waiting.record.AttentionAt
	l.either(store.Query{AttentionBefore: at.Add(-time.Millisecond)})
	l.either(store.Query{AttentionBefore: at}, l.waiting)
	l.either(store.Query{AttentionBefore: at, NotGivenUp: true}, l.waiting)
	l.either(store.Query{Attention: true, AttentionBefore: l.asked.record.AttentionAt}, l.waiting, l.asked, l.givenUp)
	at = l.running.record.CreatedAt
	l.yields(store.Query{CreatedBefore: at.Add(-time.Millisecond)}, l.ownerless) // which does not say
	l.yields(store.Query{CreatedBefore: at}, l.running, l.ownerless)
}

func (l *listing) forgets() {
	l.waiting.play(swap(settled))
	l.either(store.Query{Attention: true}, l.asked, l.givenUp)
	l.asked.play(remove())
	l.givenUp.play(remove())
	l.either(store.Query{Attention: true})
}

func (l *listing) spansOperations() {
	second := l.listing()
	for _, index := range []bool{true, false} {
		l.eventually(func() string {
			found := make(map[string]bool)
			for _, r := range l.list(store.Query{Index: index, Attention: true, Operation: allOperations}) {
				found[r.Key] = true
			}
			for _, k := range []*kept{l.waiting, l.asked, second.waiting, second.asked} {
				if !found[k.record.Key] {
					return "a record is missing"
				}
			}
			return ""
		})
	}
}

// pages counts the pages of a listing of all records, two at a time, that a caller has read who
// leaves after the first record, or does not.
func (l *listing) pages(leaves bool) (n int) {
	l.t.Helper()
	for _, err := range l.lister.List(l.t.Context(), store.Query{
		Operation: l.operation, PageSize: 2, Page: func(p store.Page) {
			if p.Records > 2 {
				l.t.Fatalf("a page of 2 records has %d", p.Records)
			}
			n++
		},
	}) {
		l.noError("List", err)
		if n == 0 {
			l.t.Fatalf("List yields a record of no page")
		}
		if leaves {
			break
		}
	}
	return n
}

func (l *listing) readsPages() {
	l.yields(store.Query{PageSize: 2}, l.all...)
	first, all := l.pages(true), l.pages(false)
	if all < 3 || first >= all {
		l.t.Fatalf("a listing that ends at its first record has read %d pages of %d", first, all)
	}
}

func (l *listing) hasNoResult() {
	l.plant(inProgress).play(steps(stepsOf{charge: value(large), mail: started}))
	l.plant(like(inProgress, completion(large)))
	l.yields(store.Query{}, l.all...)
}

func (l *listing) refusesIndex() {
	refused := func(err error) {
		failed, ok := errors.AsType[*store.Error](err)
		if !ok || !errors.Is(err, store.ErrNoIndex) || failed.Kind != store.FailureRejected {
			l.t.Fatalf("a query that the index does not answer: %v", err)
		}
	}
	for _, q := range []store.Query{
		{Index: true},
		{Index: true, Attention: true, CreatedBefore: l.now},
	} {
		for r, err := range l.lister.List(l.t.Context(), q) {
			refused(err)
			if r.Key != "" {
				l.t.Fatalf("List yields a record with its error")
			}
		}
		_, err := l.lister.ListCost(l.t.Context(), q)
		refused(err)
	}
}

func (l *listing) endsInTime() {
	ctx, cancel := context.WithCancel(l.t.Context())
	cancel()
	answers := 0
	for r, err := range l.lister.List(ctx, store.Query{Operation: l.operation}) {
		if answers++; !errors.Is(err, context.Canceled) || r.Key != "" {
			l.t.Fatalf("List with a context that has ended: %v", err)
		}
	}
	if answers != 1 {
		l.t.Fatalf("List with a context that has ended has %d answers", answers)
	}
}

func (l *listing) costs() {
	for _, q := range []store.Query{{Operation: l.operation}, {Operation: l.operation, Attention: true, Index: true}} {
		c, err := l.lister.ListCost(l.t.Context(), q)
		l.noError("ListCost", err)
		if c.Indexed != q.Index || c.Records < 0 || c.Bytes < 0 || c.Units < 0 || c.Pages < 0 {
			l.t.Fatalf("ListCost: %+v", c)
		}
		if found := len(l.list(q)); c.Exact && (int(c.Records) < found || q.Index && int(c.Records) > found) {
			l.t.Fatalf("ListCost says that exactly %d records are read, and List finds %d", c.Records, found)
		}
	}
}
