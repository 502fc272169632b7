package storetest

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/store"
)

func fieldChecks() []check {
	return []check{
		{"of any legal record come back exactly", func(p *probe) {
			rapid.Check(p.t, func(t *rapid.T) { roundTrip(p.in(t), t) })
		}},
		{"keep odd texts", func(p *probe) {
			for _, text := range oddTexts() {
				r := p.completed()
				r.Owner, r.Fingerprint, r.Reason = text+"o", text, text
				r.SettledBy, r.SettledReason, r.Attention, r.AttentionAt = text, text, text, p.now
				r.Derived = []string{text + "a", text + "b"}
				r.Seal = store.Seal(r.Owner, r.Result)
				p.writtenTwice(r)
			}
		}},
		{"tell of a settlement until a Claim", func(p *probe) {
			seen := p.plant(p.unknown())
			next := settled(seen)
			p.swaps(seen, next)
			again := takeover(next)
			p.swaps(next, again)
			p.swaps(again, completion(again, []byte(`{"id":"ch_1"}`)))
			expired := settled(p.inProgress())
			expired.Lease, expired.Expiry = p.now.Add(-time.Second), p.now
			p.plant(expired)
			p.claims(p.rival(expired), p.now)
		}},
		{"keep odd instants and numbers", func(p *probe) {
			for _, change := range oddInstants(p.now) {
				r := p.inProgress()
				change(&r)
				p.writtenTwice(r)
			}
		}},
	}
}

// writtenTwice writes r by Claim, and under another key by Swap. It leaves neither behind: some expire in a century.
func (p *probe) writtenTwice(r store.Record) {
	p.t.Helper()
	p.claims(r, p.now)
	p.deletes(r)
	seen := p.plant(p.completed())
	r.Key = seen.Key
	p.swaps(seen, r)
	p.deletes(r)
}

func oddTexts() []string {
	return []string{
		"", " ", " a ", "\n", "\t", "\x00", "0", "1e3", "true", "null", "{}", `"`, `\`, "'", ":", "#", "%41", "<&>",
		"é", "e\u0301", "日本", "😀", "\ufeff", "\ufffd", "\u2028", strings.Repeat("long ", 200),
	}
}

func oddInstants(now time.Time) []func(*store.Record) {
	lease := func(t time.Time) func(*store.Record) { return func(r *store.Record) { r.Lease = t } }
	expiry := func(t time.Time) func(*store.Record) { return func(r *store.Record) { r.Expiry = t } }
	created := func(t time.Time) func(*store.Record) { return func(r *store.Record) { r.CreatedAt = t } }
	completed := func(t time.Time) func(*store.Record) { return func(r *store.Record) { r.CompletedAt = t } }
	settled := func(t time.Time) func(*store.Record) { return func(r *store.Record) { r.SettledAt = t } }
	attention := func(t time.Time) func(*store.Record) {
		return func(r *store.Record) { r.Attention, r.AttentionAt = "charge#7", t }
	}
	attempt := func(n int) func(*store.Record) { return func(r *store.Record) { r.Attempt = n } }
	tries := func(n int) func(*store.Record) { return func(r *store.Record) { r.Tries = n } }
	return []func(*store.Record){
		lease(now), lease(now.Add(time.Millisecond)), lease(now.Add(999 * time.Millisecond)), lease(now.AddDate(-1, 0, 0)),
		lease(time.Unix(1<<31, 0)), lease(time.Unix(1<<32, 0)),
		expiry(now.Add(time.Second)), expiry(time.Unix(1<<31, 0)), expiry(time.Unix(1<<32, 0)),
		created(now), created(now.Add(-time.Millisecond)), created(now.AddDate(-1, 0, 0)), created(time.Time{}),
		completed(now), completed(now.Add(time.Millisecond)), settled(now), settled(now.Add(time.Millisecond)),
		attention(now), attention(now.Add(time.Millisecond)), attention(time.Time{}),
		attempt(0), attempt(1), attempt(10), attempt(1<<31 - 1),
		tries(1), tries(10), tries(1<<31 - 1),
	}
}

// roundTrip writes a legal record by Claim and another one by Swap, and reads both on every way there is.
func roundTrip(p *probe, t *rapid.T) {
	key := "storetest#" + rand.Text()
	first := legal(p.now, key).Draw(t, "first")
	p.claims(first, p.now)
	p.claimRefused(p.rival(first), p.now, first)

	seen := first
	if rapid.Bool().Draw(t, "seen as the store returned it") {
		seen = p.get(key)
	}
	second := legal(p.now, key).Filter(func(r store.Record) bool { return r.Owner != "" && !first.Shortens(r) }).Draw(t, "second")
	p.swaps(seen, second)
	if second.Lease.IsZero() {
		second.Lease = first.Lease
	}
	p.holds(second)
	other := p.rival(second)
	p.swapRefused(other, takeover(other), second)
	p.deletes(second)
}

// legal generates the records that the core and AWS Powertools write. None of them has expired at now.
func legal(now time.Time, key string) *rapid.Generator[store.Record] {
	return rapid.Custom(func(t *rapid.T) store.Record {
		text := rapid.StringN(0, 40, 120)
		r := store.Record{
			Key: key,
			Status: rapid.SampledFrom([]store.Status{
				store.StatusInProgress, store.StatusCompleted, store.StatusUnknown,
			}).Draw(t, "status"),
			Owner:       text.Draw(t, "owner"),
			Lease:       moment(now.AddDate(-2, 0, 0), now.AddDate(200, 0, 0), time.Millisecond).Draw(t, "lease"),
			Expiry:      moment(now.Add(time.Second), now.AddDate(200, 0, 0), time.Second).Draw(t, "expiry"),
			Fingerprint: text.Draw(t, "fingerprint"),
			Attempt:     rapid.IntRange(0, 1<<31-1).Draw(t, "attempt"),
			CreatedAt:   moment(now.AddDate(-2, 0, 0), now, time.Millisecond).Draw(t, "created at"),
			Reason:      text.Draw(t, "reason"),
			Layout:      rapid.SampledFrom(layouts()).Draw(t, "layout"),
		}
		if rapid.Bool().Draw(t, "without lease") {
			r.Lease = time.Time{}
		}
		if rapid.Bool().Draw(t, "without creation") {
			r.CreatedAt = time.Time{}
		}
		if r.Status == store.StatusCompleted {
			r.Result = result().Draw(t, "result")
			if r.Layout == store.LayoutValue {
				r.Result = canonicalJSON(r.Result)
			}
			if r.Owner != "" {
				r.Seal = store.Seal(r.Owner, r.Result)
				r.CompletedAt = instantOf(t, now, "completed at")
			}
		}
		if r.Status != store.StatusCompleted {
			r.Unmarked = rapid.Bool().Draw(t, "unmarked")
			r.StepNames = setOf(t, "step names")
		}
		if rapid.Bool().Draw(t, "traced") {
			r.Trace, r.Story = text.Draw(t, "trace"), text.Draw(t, "story")
		}
		if rapid.Bool().Draw(t, "settled") {
			r.SettledBy, r.SettledReason = text.Draw(t, "settled by"), text.Draw(t, "settled reason")
			r.SettledAt = instantOf(t, now, "settled at")
		}
		if r.Status == store.StatusUnknown {
			r.Attention, r.AttentionAt = text.Draw(t, "attention"), instantOf(t, now, "attention at")
			r.Derived = setOf(t, "derived")
			r.Tries = rapid.IntRange(0, 1<<31-1).Draw(t, "tries")
			r.Questions = rapid.IntRange(0, 1<<31-1).Draw(t, "questions")
		}
		return r
	})
}

// setOf generates a set of texts.
func setOf(t *rapid.T, label string) []string {
	names := rapid.SliceOfNDistinct(rapid.StringN(1, 10, 64), 0, 20, rapid.ID[string]).Draw(t, label)
	return slices.Sorted(slices.Values(names))
}

// instantOf generates an instant of the past, to the millisecond, or none.
func instantOf(t *rapid.T, now time.Time, label string) time.Time {
	if rapid.Bool().Draw(t, label+": none") {
		return time.Time{}
	}
	return moment(now.AddDate(-2, 0, 0), now, time.Millisecond).Draw(t, label)
}

// moment generates instants in whole units, told in any time zone.
func moment(from, to time.Time, unit time.Duration) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		// A Duration spans 292 years.
		units := rapid.Int64Range(0, int64(to.Sub(from)/unit)).Draw(t, "units")
		hours := rapid.IntRange(-12, 14).Draw(t, "zone")
		return from.Add(time.Duration(units) * unit).In(time.FixedZone("", hours*60*60))
	})
}

// result generates JSON texts.
func result() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		named := rapid.StringN(1, -1, -1) // as a value, a member has a name in DynamoDB
		text, err := json.Marshal(rapid.MapOfN(named, rapid.String(), 0, 5).Draw(t, "result"))
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		return text
	})
}
