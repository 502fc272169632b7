package storetest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// fieldFaults are stores that read a field otherwise than it was written.
func fieldFaults() faults {
	const (
		texts    = "Fields/keep odd texts"
		instants = "Fields/keep odd instants"
		numbers  = "Fields/keep odd numbers, and no value at all"
	)
	all := faults{
		texts: {
			{"Claim drops the attempt", claims.before(func(c *call) { c.Next.Attempt = 0 })},
			{"Swap drops the attempt", swaps.before(func(c *call) { c.Next.Attempt = 0 })},
			{"trims texts", shown(func(r *record) { r.Owner = strings.TrimSpace(r.Owner) })},
			{"ends text at a zero byte", shown(func(r *record) { r.Reason, _, _ = strings.Cut(r.Reason, "\x00") })},
			{"cuts long texts", shown(func(r *record) {
				r.SettledReason = r.SettledReason[:min(len(r.SettledReason), 64)]
			})},
			{"takes empty text for none", shown(func(r *record) { r.Fingerprint = cmp.Or(r.Fingerprint, "none") })},
			{"sorts the names of derived keys the other way", shown(func(r *record) { slices.Reverse(r.Derived) })},
			{"adds a second to the expiry", shown(func(r *record) { r.Expiry = r.Expiry.Add(time.Second) })},
		},
		instants: {
			{
				"keeps the seconds of instants",
				shown(func(r *record) { r.CreatedAt = r.CreatedAt.Truncate(time.Second) }),
			},
			{"keeps 32 bits of the expiry", shown(func(r *record) {
				r.Expiry = time.Unix(int64(int32(r.Expiry.Unix())), 0)
			})},
		},
		numbers: {
			{"reads an absent lease as 1970", shown(func(r *record) { r.Lease = since1970(r.Lease) })},
			{"counts attempts from one", shown(func(r *record) { r.Attempt = max(r.Attempt, 1) })},
			{"keeps 16 bits of a number", shown(func(r *record) { r.Tries &= 1<<16 - 1 })},
		},
		"Fields/tell of a settlement until a Claim": {
			{"Swap keeps the attention that it saw", swaps.before(func(c *call) {
				c.Next.Attention, c.Next.Derived = c.Seen.Attention, c.Seen.Derived
			})},
			{"Claim keeps the settlement of what it replaces", claims.before(func(c *call) {
				if c.held.Key != "" {
					c.Next.SettledBy = c.held.SettledBy
				}
			})},
		},
	}
	// Whatever fields a record comes to have, a check sees that one of them is dropped.
	elsewhere := map[string]string{
		"SettledAt": instants, "Tries": numbers, "Questions": numbers, "Unmarked": numbers,
		"Steps": "Steps/come back exactly", "StepWrites": "Steps/come back exactly",
		"Layout": "Layout/text comes back as it was spelled",
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[record]()) {
		if field.Name == "Key" || field.Name == "Parts" { // a record without them is another one
			continue
		}
		check := cmp.Or(elsewhere[field.Name], texts)
		all[check] = append(all[check], fault{"drops " + field.Name, shown(func(r *record) {
			reflect.ValueOf(r).Elem().FieldByIndex(field.Index).SetZero()
		})})
	}
	return all
}

// since1970 is an instant of which an absent one is zero.
func since1970(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0)
	}
	return t
}

// resultFaults are stores that do so with a result and its layout.
func resultFaults() faults {
	result := func(change func(result []byte) []byte) inject {
		return shown(func(r *record) { r.Result = change(r.Result) })
	}
	return faults{
		"Layout/text comes back as it was spelled": {
			{"trims text that others read", shown(func(r *record) {
				if r.Layout == store.LayoutText {
					r.Result = bytes.TrimSpace(r.Result)
				}
			})},
		},
		"Layout/values come back in canonical form": {
			{"reads numbers as doubles", shown(func(r *record) {
				var f float64
				if r.Layout == store.LayoutValue && json.Unmarshal(r.Result, &f) == nil {
					r.Result = strconv.AppendFloat(nil, f, 'g', -1, 64)
				}
			})},
		},
		"Layout/is replaced with the result": {
			{"Swap keeps the layout that it saw", swaps.before(func(c *call) { c.Next.Layout = c.Seen.Layout })},
		},
		"Layout/is replaced without the result": {
			{"Swap writes the layout with a result only", swaps.before(func(c *call) {
				if c.Next.Result == nil {
					c.Next.Layout = c.Seen.Layout
				}
			})},
		},
		"Layout/keeps results of 300000 bytes with the record": {
			{"refuses large results of other layouts", refusesResultsAbove(200_000)},
		},
		"Result/comes back as it was spelled": {
			{"trims the result", result(bytes.TrimSpace)},
			{"returns null for no result", shown(func(r *record) {
				if r.Status == store.StatusCompleted && len(r.Result) == 0 {
					r.Result = []byte("null")
				}
			})},
			{"compacts the result", result(func(b []byte) []byte {
				var compact bytes.Buffer
				if json.Compact(&compact, b) != nil {
					return b
				}
				return compact.Bytes()
			})},
			{"escapes the result", result(func(b []byte) []byte {
				var escaped bytes.Buffer
				json.HTMLEscape(&escaped, b)
				return escaped.Bytes()
			})},
			{"decodes and encodes the result", result(func(b []byte) []byte {
				var v any
				if json.Unmarshal(b, &v) != nil {
					return b
				}
				encoded, _ := json.Marshal(v)
				return encoded
			})},
		},
		"Result/that is not valid UTF-8 comes back byte for byte": {
			{"repairs results that are not valid UTF-8", result(repaired)},
		},
		"Result/of 409601 bytes comes back byte for byte": {
			{"cuts results at 400 KiB", reads.after(func(_ call, a *answer) {
				a.Held.Result = a.Held.Result[:min(len(a.Held.Result), 400<<10)]
			})},
		},
		"Result/of 6291556 bytes comes back byte for byte": {
			{"refuses the largest results", refusesResultsAbove(6_000_000)},
		},
	}
}

// repaired is a text that is valid UTF-8.
func repaired(text []byte) []byte { return bytes.ToValidUTF8(text, []byte("\ufffd")) }

// refusesResultsAbove limits the size of results.
func refusesResultsAbove(limit int) inject {
	return slices.Concat(claims, swaps).instead(func(c call) answer {
		if len(c.Next.Result) > limit {
			return answer{Err: &store.Error{Op: string(c.Op), Kind: store.FailureTooLarge, NotApplied: true}}
		}
		return c.pass()
	})
}

type listing = iter.Seq2[record, error]

// lists answers listings in another way.
func lists(list func(ctx context.Context, f *faulty, q store.Query) listing) inject {
	return func(f *faulty) {
		f.list = func(ctx context.Context, q store.Query) listing { return list(ctx, f, q) }
	}
}

// asks lists what another query names.
func asks(change func(q *store.Query)) inject {
	return lists(func(ctx context.Context, f *faulty, q store.Query) listing {
		change(&q)
		return f.List(ctx, q)
	})
}

// yields changes the records of a listing.
func yields(change func(f *faulty, r *record)) inject {
	return lists(func(ctx context.Context, f *faulty, q store.Query) listing {
		return func(yield func(record, error) bool) {
			for r, err := range f.List(ctx, q) {
				if r.Key != "" {
					change(f, &r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	})
}

// listFaults are stores whose listings have one fault.
func listFaults() faults {
	return faults{
		"List/yields what the query names": {
			{"a listing of all statuses", asks(func(q *store.Query) { q.Statuses = nil })},
			{"a listing of one status", asks(func(q *store.Query) {
				q.Statuses = q.Statuses[:min(len(q.Statuses), 1)]
			})},
			{"a listing without owners", yields(func(_ *faulty, r *record) { r.Owner = "" })},
			{"a listing without reasons", yields(func(_ *faulty, r *record) { r.Reason = "" })},
		},
		"List/never has a result": {
			{"a listing with a result", yields(func(_ *faulty, r *record) { r.Result = []byte("1") })},
			{"a listing with steps", yields(func(f *faulty, r *record) {
				whole, _, _ := f.Get(context.Background(), r.Key)
				r.Steps = whole.Steps
			})},
			{"a listing of all operations", lists(func(ctx context.Context, f *faulty, q store.Query) listing {
				// What another listing has planted is found, too.
				now := time.Now()
				other := record{Key: "other#1", Status: store.StatusInProgress, Owner: "o", Expiry: now.Add(time.Hour)}
				_, _, _ = f.Claim(ctx, other, now)
				q.Operation = ""
				return f.List(ctx, q)
			})},
		},
		"List/yields records with attention, with the index and without": {
			{"a listing with records that nobody has to settle", asks(func(q *store.Query) { q.Attention = false })},
			{"a listing with records that are given up", asks(func(q *store.Query) { q.NotGivenUp = false })},
			{"a listing without records that are given up", asks(func(q *store.Query) { q.NotGivenUp = true })},
		},
		"List/goes by age": {
			{"a listing of attention of any age", asks(func(q *store.Query) { q.AttentionBefore = time.Time{} })},
			{"a listing of records of any age", asks(func(q *store.Query) { q.CreatedBefore = time.Time{} })},
			{"a listing that leaves out its last millisecond", asks(func(q *store.Query) {
				if !q.AttentionBefore.IsZero() {
					q.AttentionBefore = q.AttentionBefore.Add(-time.Millisecond)
				}
			})},
		},
		"List/forgets a record that somebody has settled": {
			{"an index of what was settled", all(
				swaps.after(func(c call, a *answer) {
					if a.Done && c.Seen.Attention != "" {
						c.notes[c.Key] = c.Seen
					}
				}),
				lists(func(ctx context.Context, f *faulty, q store.Query) listing {
					return func(yield func(record, error) bool) {
						for r, err := range f.List(ctx, q) {
							if !yield(r, err) {
								return
							}
						}
						for _, r := range f.notes {
							if q.Names(r) && !yield(r, nil) {
								return
							}
						}
					}
				}),
			)},
		},
		"List/reads page by page, as far as the caller goes on": {
			{"a listing that reads on after its reader has ended", lists(
				func(ctx context.Context, f *faulty, q store.Query) listing {
					return func(yield func(record, error) bool) {
						goesOn := true
						for r, err := range f.List(ctx, q) {
							goesOn = goesOn && yield(r, err)
						}
					}
				},
			)},
		},
		"List/refuses an index that does not answer the query": {
			{"a listing by an index that does not answer it", asks(func(q *store.Query) { q.Index = false })},
		},
		"List/respects a context that has ended": {
			{"a listing that goes on without its context", lists(
				func(ctx context.Context, f *faulty, q store.Query) listing {
					return f.List(context.WithoutCancel(ctx), q)
				},
			)},
		},
		"List/tells its cost": {
			{"a cost that is exactly wrong", func(f *faulty) {
				f.cost = func(ctx context.Context, q store.Query) (store.Cost, error) {
					c, err := f.ListCost(ctx, q)
					c.Records++
					return c, err
				}
			}},
		},
		"List/of all operations has those of each": {
			{"a listing of one operation alone", asks(func(q *store.Query) {
				if q.Operation == "" {
					q.Operation = "storetest"
				}
			})},
		},
	}
}
