package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/store"
)

// largestResult is the largest answer in bytes that Lambda passes on for a synchronous invocation,
// as its own error message for larger ones states it.
const largestResult = 6_291_556

func resultChecks() []check {
	var spelled []story
	for _, s := range spellings() {
		spelled = append(spelled, keepsResult(text(s))...)
	}
	rows := []check{
		says("comes back as it was spelled", spelled),
		says("that is not valid UTF-8 comes back byte for byte", keepsResult(text("\"\xff\xc3\x28\xed\xa0\x80\""))),
	}
	for _, size := range []int{
		1, 2, 100, 4095, 4096, 4097, 30_000, 350_000, 400<<10 - 1, 400 << 10, 400<<10 + 1, 1 << 20,
		1<<20 + 1, largestResult,
	} {
		rows = append(rows, says(
			fmt.Sprintf("of %d bytes comes back byte for byte", size),
			slices.Concat(keepsResult(random(size)), keepsResult(repetitive(size))),
		))
	}
	return rows
}

// keepsResult completes a record with this result, and reads it on every way there is.
func keepsResult(r result, changes ...change) []story {
	return from(like(inProgress, like(changes...)), complete(r), claim().refused(), swap(takeover).late().refused())
}

// spellings returns JSON texts, and none at all, that do not survive being decoded and encoded
// again.
func spellings() []string {
	return []string{
		"", "null", `""`, `"\u0000"`, "0", "-0", "1.0", "1E400", "9007199254740993",
		"[]", "{}", ` { "b" : 1 , "a" : [ ] } ` + "\n", `{"a":1,"a":2}`,
		`"<&>"`, `"\u003c\u0026\u003e"`, "\"\u2028\"", `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"é"`, "\"e\u0301\"",
	}
}

func layoutChecks() []check {
	var texts, values, replaced, bare, kept []story
	for _, s := range append(spellings(), "no JSON", "{", `"`, " hello ") {
		texts = append(texts, keepsLayout(store.LayoutText, text(s))...)
	}
	for _, s := range valueSpellings() {
		values = append(values, keepsLayout(store.LayoutValue, canonical(s))...)
	}
	layouts := []store.Layout{store.LayoutNative, store.LayoutText, store.LayoutValue}
	for _, l := range layouts {
		for _, to := range layouts {
			replaced = append(replaced, from(like(completed, laidOut(l)), complete(text(`"b"`), laidOut(to)))...)
			bare = append(bare, from(like(inProgress, laidOut(l)), swap(takeover, laidOut(to)))...)
		}
		large := `"` + strings.Repeat("x", 300_000-2) + `"`
		kept = append(kept, keepsLayout(l, func(p *probe) []byte { p.fits(len(large)); return []byte(large) })...)
	}
	return []check{
		says("text comes back as it was spelled", texts),
		says("values come back in canonical form", values),
		says("is replaced with the result", replaced),
		says("is replaced without the result", bare),
		says("keeps results of 300000 bytes with the record", kept),
	}
}

// keepsLayout writes the result by Swap, and under another key by Claim.
func keepsLayout(l store.Layout, r result) []story {
	return append(keepsResult(r, laidOut(l)), written(like(inProgress, completion(r), laidOut(l)))...)
}

func laidOut(l store.Layout) change { return func(_ *probe, r *store.Record) { r.Layout = l } }

// valueSpellings returns JSON texts that every store can keep as values of its kind.
func valueSpellings() []string {
	return []string{
		" null", "true", "false", "0", "-1", "1.50", "1e21", "9007199254740993",
		"12345678901234567890123456789012345678", "1e-7",
		`""`, `"a"`, `"{\"a\":1}"`, `"null"`, `"42"`, `"\u0000<&>é😀"`,
		"[]", "{}", `[1,"1",1.5,false,null,{"k":[]},""]`, `{"b":1,"a":{"B":[{"é":"日本"}]}}`,
	}
}

// canonical is a result in the form in which values come back.
func canonical(spelled string) result {
	return func(p *probe) []byte {
		made, err := fingerprint.Canonical(nil, []byte(spelled))
		p.noError("canonical JSON", err)
		return made
	}
}

// partsChecks are about results that a store might keep beside its record.
func partsChecks() []check {
	done := like(completed, completion(large))
	as := func(owner string) change { return like(owned(owner), completion(large)) }
	return []check{
		says("written by a refused Claim do not change the held result", from(like(inProgress, as("A")),
			claim(as("A")).refused(), claim(as("B")).refused(),
		)),
		says("written by a refused Swap do not change the held result", from(inProgress,
			swap(takeover), complete(large), complete(large).late().refused(), complete(large).by(leased(0)).refused(),
			complete(large).late().by(unleased).refused(),
		)),
		says("are replaced by a Claim", from(like(done, expiring(0)), claim())),
		says("are replaced by a Swap", from(done, completes(takeover, completion(large)).asRead(),
			swap(takeover).asRead(), complete(charged))),
		says("stay if a Swap hands back the record that was read", from(done, swap(attempted).asRead())),
		says("of a released record do not come back", from(like(inProgress, as("A")), remove(), claim(as("A")))),
	}
}

// bytesChecks overwrites the bytes of each record and step that it hands to the store, or that the
// store hands out.
func bytesChecks() []check {
	var rows []check
	for _, of := range []struct {
		name string
		result
	}{{"small", charged}, {"large", large}} {
		name, r := of.name, of.result
		rows = append(rows,
			says("of a "+name+" result may change after Claim",
				from(like(inProgress, completion(r))), from(like(inProgress, completion(r)), claim().refused()),
			),
			says("of a "+name+" result may change after Swap", from(inProgress,
				complete(r), swap(takeover).late().refused(), complete(r).late().refused(),
			)),
			says("of a "+name+" step may change after Swap", from(inProgress,
				steps(stepsOf{charge: value(r)}), claim().refused(), swap(takeover).by(owned("nobody")).refused(),
				swap(takeover),
			)),
		)
	}
	checks := rows
	for i, c := range checks {
		checks[i].run = func(p *probe) {
			p.spoils = true
			c.run(p)
		}
	}
	return checks
}

// foreignChecks are about attributes of a record that the store does not know.
func foreignChecks() []check {
	has := func(want bool) turn {
		return turn{instead: func(k *kept) {
			has, err := k.features.Foreign.Has(k.t.Context(), k.store, k.last.Key)
			k.noError("Foreign.Has", err)
			if has != want {
				k.t.Fatalf("the record has the attribute that the store does not know: want %t, got %t", want, has)
			}
		}}
	}
	put := turn{instead: func(k *kept) {
		if k.features.Foreign == nil {
			k.t.Skipf("Features.Foreign: the suite cannot write attributes that the store does not know")
		}
		k.noError("Foreign.Put", k.features.Foreign.Put(k.t.Context(), k.store, k.last.Key))
	}}
	return []check{
		says(
			"attributes survive a Swap",
			from(inProgress, put, has(true), swap(renewal), has(true), swap(takeover), has(true),
				complete(charged), has(true), completes(takeover, completion(large)), has(true)),
		),
		says("attributes are replaced by a Claim", from(like(completed, expiring(0)), put, has(true), claim(),
			has(false))),
	}
}

// fieldChecks write values into each field that not every store can keep.
func fieldChecks() []check {
	var texts, instants, numbers []story
	for _, t := range oddTexts() {
		texts = append(texts, written(like(completed, texted(t)))...)
		texts = append(texts, written(like(unknown, texted(t)))...)
	}
	day := 24 * time.Hour
	for _, after := range []time.Duration{
		-365 * day, -7 * time.Millisecond, 0, time.Millisecond, 999 * time.Millisecond,
		365 * day, 30 * 365 * day, 100 * 365 * day,
	} {
		instants = append(instants, written(like(inProgress, at(after)))...)
		instants = append(instants, written(like(completed, at(after)))...)
	}
	for _, n := range []int{0, 1, 10, 1<<16 + 1, 1<<31 - 1} {
		numbers = append(numbers, written(like(unknown, func(_ *probe, r *store.Record) {
			r.Attempt, r.Tries, r.Questions, r.Unmarked = n, n, n, n%2 == 0
		}))...)
	}
	none := func(_ *probe, r *store.Record) {
		*r = store.Record{Key: r.Key, Status: r.Status, Owner: r.Owner, Expiry: r.Expiry}
	}
	for _, of := range []change{inProgress, unknown, completed} {
		numbers = append(numbers, written(like(of, none))...)
	}
	return []check{
		says("keep odd texts", texts),
		says("keep odd instants", instants),
		says("keep odd numbers, and no value at all", numbers),
		says("tell of a settlement until a Claim",
			from(unknown, swap(settled), swap(takeover), complete(charged)),
			from(like(inProgress, settled, leased(-time.Second), expiring(0)), claim()),
		),
	}
}

// written writes a record by Claim, and under another key by Swap. It leaves neither behind: some
// expire in a century.
func written(of change) []story {
	whole := func(p *probe, r *store.Record) {
		key := r.Key
		of(p, r)
		r.Key = key
	}
	return slices.Concat(from(of, remove()), from(completed, swap(whole), remove()))
}

// texted sets each field that is a text, as far as records of this status have it. The owner is
// none of the empty ones, which are for AWS Powertools.
func texted(t string) change {
	return func(_ *probe, r *store.Record) {
		r.Owner, r.Fingerprint, r.Reason = t+"o", t, t
		r.SettledBy, r.SettledReason, r.Trace, r.Attention, r.Story = t, t, t, t, t
		r.Derived = []string{t + "a", t + "b"}
		if r.Status == store.StatusCompleted {
			r.Seal = store.Seal(r.Owner, r.Result)
		} else {
			r.StepNames = []string{t + "a", t + "b"}
		}
	}
}

func oddTexts() []string {
	return []string{
		"", " ", " a ", "\n", "\t", "\x00", "0", "1e3", "true", "null", "{}", `"`, `\`, "'", ":", "#", "%41", "<&>",
		"é", "e\u0301", "日本", "😀", "\ufeff", "\ufffd", "\u2028", strings.Repeat("long ", 200),
	}
}

// at sets each field that is an instant. A record expires later than at the probe's now.
func at(after time.Duration) change {
	return func(p *probe, r *store.Record) {
		at := p.now.Add(after)
		r.Lease, r.CreatedAt, r.SettledAt = at, at, at
		r.Attention, r.AttentionAt = "charge#7", at
		r.Expiry = p.now.Add(max(after, time.Second)).Truncate(time.Second)
		if r.Status == store.StatusCompleted {
			r.CompletedAt = at
		}
	}
}
