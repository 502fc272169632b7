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
	return []check{
		{"yields what the query names", listsWhatIsNamed},
		{"yields records with attention, with the index and without", listsAttention},
		{"goes by age", listsByAge},
		{"forgets a record that somebody has settled", listsNothingSettled},
		{"of all operations has those of each", listsAllOperations},
		{"reads page by page, as far as the caller goes on", listsPages},
		{"never has a result", listsNoResult},
		{"refuses an index that does not answer the query", listsByIndexOrNot},
		{"respects a context that has ended", listsInTime},
		{"tells its cost", listsAtACost},
	}
}

func listsWhatIsNamed(p *probe) {
	l := p.listing()
	l.yields(store.Query{}, l.all()...)
	l.yields(store.Query{Statuses: []store.Status{store.StatusCompleted}}, l.completed, l.ownerless)
	l.yields(store.Query{Statuses: []store.Status{store.StatusInProgress, store.StatusUnknown}},
		l.running, l.released, l.waiting, l.asked, l.givenUp)
}

func listsAttention(p *probe) {
	l := p.listing()
	for _, index := range []bool{true, false} {
		l.yields(store.Query{Index: index, Attention: true}, l.waiting, l.asked, l.givenUp)
		l.yields(store.Query{Index: index, Attention: true, NotGivenUp: true}, l.waiting, l.asked)
		l.yields(store.Query{Index: index, Attention: true, Statuses: []store.Status{store.StatusCompleted}})
	}
}

func listsByAge(p *probe) {
	l := p.listing()
	for _, index := range []bool{true, false} {
		at := l.waiting.AttentionAt
		l.yields(store.Query{Index: index, AttentionBefore: at.Add(-time.Millisecond)})
		l.yields(store.Query{Index: index, AttentionBefore: at}, l.waiting)
		l.yields(store.Query{Index: index, AttentionBefore: at, NotGivenUp: true}, l.waiting)
		l.yields(store.Query{Index: index, Attention: true, AttentionBefore: l.asked.AttentionAt}, l.waiting, l.asked, l.givenUp)
	}
	at := l.running.CreatedAt
	l.yields(store.Query{CreatedBefore: at.Add(-time.Millisecond)}, l.ownerless) // which does not say
	l.yields(store.Query{CreatedBefore: at}, l.running, l.ownerless)
}

func listsNothingSettled(p *probe) {
	l := p.listing()
	p.swaps(l.waiting, settled(l.waiting))
	for _, index := range []bool{true, false} {
		l.yields(store.Query{Index: index, Attention: true}, l.asked, l.givenUp)
	}
	p.deletes(l.asked)
	p.deletes(l.givenUp)
	for _, index := range []bool{true, false} {
		l.yields(store.Query{Index: index, Attention: true})
	}
}

func listsAllOperations(p *probe) {
	one, other := p.listing(), p.listing()
	for _, index := range []bool{true, false} {
		eventually(p, func() string {
			found := make(map[string]bool)
			for _, r := range one.list(store.Query{Index: index, Attention: true, Operation: allOperations}) {
				found[r.Key] = true
			}
			for _, r := range []store.Record{one.waiting, one.asked, other.waiting, other.asked} {
				if !found[r.Key] {
					return "a record is missing"
				}
			}
			return ""
		})
	}
}

func listsPages(p *probe) {
	l := p.listing()
	l.yields(store.Query{PageSize: 2}, l.all()...)
	pages := 0
	for _, err := range l.lister.List(p.t.Context(), store.Query{
		Operation: l.operation, PageSize: 2, Page: func(store.Page) { pages++ },
	}) {
		p.noError("List", err)
		break
	}
	read := 0
	for _, err := range l.lister.List(p.t.Context(), store.Query{
		Operation: l.operation, PageSize: 2, Page: func(page store.Page) {
			if page.Records > 2 {
				p.t.Fatalf("a page of 2 records has %d", page.Records)
			}
			read++
		},
	}) {
		p.noError("List", err)
	}
	if pages == 0 || pages >= read || read < 3 {
		p.t.Fatalf("a listing that ends at its first record has read %d pages of %d", pages, read)
	}
}

func listsNoResult(p *probe) {
	l := p.listing()
	large := completion(l.keyed(p.inProgress()), p.large())
	p.plant(large)
	stepped := p.plant(l.keyed(p.inProgress()))
	stepped = p.steps(stepped, map[string]store.Step{charge: value(stepped.Owner, string(p.large())), mail: started(stepped.Owner)})
	l.yields(store.Query{}, append(l.all(), large, stepped)...)
}

func listsByIndexOrNot(p *probe) {
	l := p.listing()
	for _, q := range []store.Query{
		{Index: true},
		{Index: true, Attention: true, CreatedBefore: p.now},
	} {
		for r, err := range l.lister.List(p.t.Context(), q) {
			l.refused(err)
			if r.Key != "" {
				p.t.Fatalf("List yields a record with its error")
			}
		}
		_, err := l.lister.ListCost(p.t.Context(), q)
		l.refused(err)
	}
}

func listsInTime(p *probe) {
	l := p.listing()
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	answers := 0
	for r, err := range l.lister.List(ctx, store.Query{Operation: l.operation}) {
		if answers++; err == nil || !errors.Is(err, context.Canceled) || r.Key != "" {
			p.t.Fatalf("List with a context that has ended: %v", err)
		}
	}
	if answers != 1 {
		p.t.Fatalf("List with a context that has ended has %d answers", answers)
	}
}

func listsAtACost(p *probe) {
	l := p.listing()
	for _, q := range []store.Query{{Operation: l.operation}, {Operation: l.operation, Attention: true, Index: true}} {
		c, err := l.lister.ListCost(p.t.Context(), q)
		p.noError("ListCost", err)
		if c.Indexed != q.Index || c.Records < 0 || c.Bytes < 0 || c.Units < 0 || c.Pages < 0 {
			p.t.Fatalf("ListCost: %+v", c)
		}
		if found := len(l.list(q)); c.Exact && (int(c.Records) < found || q.Index && int(c.Records) > found) {
			p.t.Fatalf("ListCost says that exactly %d records are read, and List finds %d", c.Records, found)
		}
	}
}

// listing is a store that lists, with a record of each kind under an operation of their own.
type listing struct {
	*probe

	lister    store.Lister
	operation string

	running, released, completed, ownerless, waiting, asked, givenUp store.Record
}

// listing plants the records, or skips the check if the store cannot list.
func (p *probe) listing() *listing {
	p.t.Helper()
	lister, ok := p.store.(store.Lister)
	if !ok {
		p.t.Skipf("%T is no store.Lister", p.store)
	}
	_, err := lister.ListCost(p.t.Context(), store.Query{})
	if errors.Is(err, store.ErrNoListing) {
		p.t.Skipf("%v", err)
	}
	l := &listing{probe: p, lister: lister, operation: "storetest-" + rand.Text()}
	created := func(r store.Record, ago time.Duration) store.Record {
		r.CreatedAt = p.now.Add(-ago)
		return p.plant(l.keyed(r))
	}
	l.running = created(p.inProgress(), time.Hour)
	l.released = created(settled(p.inProgress()), time.Minute)
	l.completed = created(p.completed(), time.Minute)
	l.ownerless = p.ownerless()
	l.ownerless.Status, l.ownerless.Result = store.StatusCompleted, []byte(`"a"`)
	l.ownerless = p.plant(l.keyed(l.ownerless))
	waiting := p.unknown()
	waiting.AttentionAt = p.now.Add(-time.Hour)
	l.waiting, l.asked = created(waiting, time.Minute), created(p.unknown(), time.Minute)
	l.givenUp = l.keyed(p.unknown())
	l.givenUp.Attention, l.givenUp.CreatedAt = store.GivenUpOf(l.givenUp.Key), p.now.Add(-time.Minute)
	l.givenUp = p.plant(l.givenUp)
	return l
}

// keyed returns r with a key of the operation.
func (l *listing) keyed(r store.Record) store.Record {
	r.Key = l.operation + "#" + rand.Text()
	if r.Attention != "" {
		r.Attention = store.AttentionOf(r.Key)
	}
	return r
}

func (l *listing) all() []store.Record {
	return []store.Record{l.running, l.released, l.completed, l.ownerless, l.waiting, l.asked, l.givenUp}
}

// allOperations stands for no restriction, in a query whose zero value is the operation of the listing.
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

// yields sees that a query finds these records, and of each what a listing has.
func (l *listing) yields(q store.Query, want ...store.Record) {
	l.t.Helper()
	byKey := func(a, b store.Record) int { return strings.Compare(a.Key, b.Key) }
	want = slices.Clone(want)
	slices.SortFunc(want, byKey)
	eventually(l.probe, func() string {
		got := l.list(q)
		slices.SortFunc(got, byKey)
		if len(got) != len(want) {
			return "List finds another number of records"
		}
		for i, r := range got {
			if r.Result != nil || r.Parts != "" || len(r.Steps) > 0 {
				return "List reads results"
			}
			if d := difference(listed(want[i], q.Index), listed(r, q.Index)); d != "" {
				return "List finds another record:\n" + d
			}
		}
		return ""
	})
}

// listed is what a listing has to have of a record.
func listed(r store.Record, index bool) store.Record {
	l := store.Record{
		Key: r.Key, Status: r.Status, Reason: r.Reason, Attempt: r.Attempt, Attention: r.Attention, AttentionAt: r.AttentionAt,
	}
	if !index {
		l.Expiry, l.Owner, l.Lease, l.CreatedAt, l.CompletedAt = r.Expiry, r.Owner, r.Lease, r.CreatedAt, r.CompletedAt
		l.SettledBy, l.SettledAt = r.SettledBy, r.SettledAt
	}
	return l
}

// refused sees that the store refused a query for the sake of its index.
func (l *listing) refused(err error) {
	l.t.Helper()
	failed, ok := errors.AsType[*store.Error](err)
	if !ok || !errors.Is(err, store.ErrNoIndex) || failed.Kind != store.FailureRejected {
		l.t.Fatalf("a query that the index does not answer: %v", err)
	}
}

// eventually looks until nothing is wrong, for as long as listings may lag behind.
func eventually(p *probe, look func() string) {
	p.t.Helper()
	end := time.Now().Add(p.features.ListLag)
	for {
		wrong := look()
		if wrong == "" {
			return
		}
		if !time.Now().Before(end) {
			p.t.Fatalf("%s", wrong)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
