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
	var checks []check
	says := func(sentence string, run func(l *listing)) {
		checks = append(checks, check{sentence: sentence, run: func(p *probe) { run(p.listing()) }})
	}
	says("yields what the query names", func(l *listing) {
		l.yields(store.Query{}, l.all...)
		l.yields(store.Query{Statuses: []store.Status{store.StatusCompleted}}, l.done, l.ownerless)
		l.yields(store.Query{Statuses: []store.Status{store.StatusInProgress, store.StatusUnknown}},
			l.running, l.released, l.waiting, l.asked, l.givenUp)
	})
	says("yields records with attention, with the index and without", func(l *listing) {
		l.either(store.Query{Attention: true}, l.waiting, l.asked, l.givenUp)
		l.either(store.Query{Attention: true, NotGivenUp: true}, l.waiting, l.asked)
		l.either(store.Query{Attention: true, Statuses: []store.Status{store.StatusCompleted}})
	})
	says("goes by age", func(l *listing) {
		at := l.waiting.record.AttentionAt
		l.either(store.Query{AttentionBefore: at.Add(-time.Millisecond)})
		l.either(store.Query{AttentionBefore: at}, l.waiting)
		l.either(store.Query{AttentionBefore: at, NotGivenUp: true}, l.waiting)
		l.either(store.Query{Attention: true, AttentionBefore: l.asked.record.AttentionAt}, l.waiting, l.asked,
			l.givenUp)
		at = l.running.record.CreatedAt
		l.yields(store.Query{CreatedBefore: at.Add(-time.Millisecond)}, l.ownerless) // which does not say
		l.yields(store.Query{CreatedBefore: at}, l.running, l.ownerless)
	})
	says("forgets a record that somebody has settled", func(l *listing) {
		l.waiting.play(swap(settled))
		l.either(store.Query{Attention: true}, l.asked, l.givenUp)
		l.asked.play(remove())
		l.givenUp.play(remove())
		l.either(store.Query{Attention: true})
	})
	says("of all operations has those of each", func(l *listing) {
		second := l.listing()
		l.all = append(l.all, second.all...)
		l.either(store.Query{Attention: true, Operation: allOperations},
			l.waiting, l.asked, l.givenUp, second.waiting, second.asked, second.givenUp)
	})
	says("reads page by page, as far as the caller goes on", func(l *listing) {
		l.yields(store.Query{PageSize: 2}, l.all...)
		first, all := l.pages(true), l.pages(false)
		if all < 3 || first >= all {
			l.t.Fatalf("a listing that ends at its first record has read %d pages of %d", first, all)
		}
	})
	says("never has a result", func(l *listing) {
		l.plant(inProgress).play(steps(stepsOf{charge: value(large), mail: started}))
		l.plant(like(inProgress, completion(large)))
		l.yields(store.Query{}, l.all...)
	})
	says("refuses an index that does not answer the query", func(l *listing) {
		l.refuses(l.t.Context(), store.Query{Index: true}, store.ErrNoIndex)
		l.refuses(l.t.Context(), store.Query{Index: true, Attention: true, CreatedBefore: l.now}, store.ErrNoIndex)
	})
	says("respects a context that has ended", func(l *listing) {
		ctx, cancel := context.WithCancel(l.t.Context())
		cancel()
		l.refuses(ctx, store.Query{Operation: l.operation}, context.Canceled)
	})
	says("tells its cost", func(l *listing) {
		for _, q := range []store.Query{
			{Operation: l.operation},
			{Operation: l.operation, Attention: true, Index: true},
		} {
			c, err := l.lister.ListCost(l.t.Context(), q)
			l.noError("ListCost", err)
			if c.Indexed != q.Index || c.Records < 0 || c.Bytes < 0 || c.Units < 0 || c.Pages < 0 {
				l.t.Fatalf("ListCost: %+v", c)
			}
			if found := len(l.list(q)); c.Exact && (int(c.Records) < found || q.Index && int(c.Records) > found) {
				l.t.Fatalf("ListCost says that exactly %d records are read, and List finds %d", c.Records, found)
			}
		}
	})
	return checks
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
	late := func(p *probe, r *store.Record) { r.CreatedAt = p.now.Add(time.Hour) }
	long := func(p *probe, r *store.Record) { r.AttentionAt = p.now.Add(-time.Hour) }
	givenUp := func(_ *probe, r *store.Record) { r.Attention = store.GivenUpOf(l.operation + "#") }
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
func (l *listing) plant(of change) *kept {
	l.t.Helper()
	k := l.begin(like(of, func(_ *probe, r *store.Record) {
		r.Key = l.operation + "#" + rand.Text()
		if r.Attention != "" && !strings.HasPrefix(r.Attention, l.operation) {
			r.Attention = store.AttentionOf(r.Key)
		}
	}))
	l.all = append(l.all, k)
	return k
}

// yields sees that a query finds these records, and of each what a listing has. It looks until
// nothing is wrong, for as long as listings may lag behind.
func (l *listing) yields(q store.Query, want ...*kept) {
	l.t.Helper()
	end := time.Now().Add(l.features.ListLag)
	for wrong := l.differs(q, want); wrong != ""; wrong = l.differs(q, want) {
		if !time.Now().Before(end) {
			l.t.Fatalf("%s", wrong)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// either sees that a query finds these records, with the index and without.
func (l *listing) either(q store.Query, want ...*kept) {
	l.t.Helper()
	for _, q.Index = range []bool{true, false} {
		l.yields(q, want...)
	}
}

func (l *listing) differs(q store.Query, want []*kept) string {
	l.t.Helper()
	got := l.list(q)
	if len(got) != len(want) {
		return "List finds another number of records"
	}
	for _, k := range want {
		r := got[k.record.Key]
		if r.Result != nil || r.Parts != "" || len(r.Steps) > 0 {
			return "List reads results"
		}
		if d := difference(listed(k.record, q.Index), listed(r, q.Index)); d != "" {
			return "List finds another record:\n" + d
		}
	}
	return ""
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
// listing. Of what others have planted nothing is said.
const allOperations = "*"

// list returns what a query finds, by its key.
func (l *listing) list(q store.Query) map[string]store.Record {
	l.t.Helper()
	switch q.Operation {
	case "":
		q.Operation = l.operation
	case allOperations:
		q.Operation = ""
	}
	all := make(map[string]store.Record)
	for r, err := range l.lister.List(l.t.Context(), q) {
		l.noError("List", err)
		ours := func(k *kept) bool { return k.record.Key == r.Key }
		if _, twice := all[r.Key]; twice {
			l.t.Fatalf("List yields a record twice")
		}
		if q.Operation != "" || slices.ContainsFunc(l.all, ours) {
			all[r.Key] = r
		}
	}
	return all
}

// refuses sees that a query is answered by one error, and nothing else.
func (l *listing) refuses(ctx context.Context, q store.Query, why error) {
	l.t.Helper()
	refused := func(err error) {
		failed, ok := errors.AsType[*store.Error](err)
		if !ok || !errors.Is(err, why) || errors.Is(why, store.ErrNoIndex) && failed.Kind != store.FailureRejected {
			l.t.Fatalf("a query that should fail with %v: %v", why, err)
		}
	}
	answers := 0
	for r, err := range l.lister.List(ctx, q) {
		refused(err)
		if answers++; r.Key != "" {
			l.t.Fatalf("List yields a record with its error")
		}
	}
	if answers != 1 {
		l.t.Fatalf("a listing that fails has %d answers", answers)
	}
	_, err := l.lister.ListCost(ctx, q)
	refused(err)
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
