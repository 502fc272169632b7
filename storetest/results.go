package storetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"github.com/go-idempotent/idempotent/store"
)

// largestResult is the largest answer in bytes that Lambda passes on for a synchronous invocation, as its own error
// message for larger ones states it.
const largestResult = 6_291_556

func resultChecks() []check {
	return slices.Concat(spellingChecks(), sizeChecks())
}

func spellingChecks() []check {
	return []check{
		{"comes back as it was spelled", func(p *probe) {
			for _, text := range spellings() {
				keepsResult(p, []byte(text))
			}
		}},
		{"that is not valid UTF-8 comes back byte for byte", func(p *probe) {
			seen := p.plant(p.inProgress())
			p.swaps(seen, completion(seen, []byte("\"\xff\xc3\x28\xed\xa0\x80\"")))
		}},
	}
}

func sizeChecks() []check {
	sizes := []int{
		1, 2, 100, 4095, 4096, 4097, 30_000, 350_000, 400_000, 400<<10 - 1, 400 << 10, 400<<10 + 1,
		500_000, 1 << 20, 1<<20 + 1, largestResult,
	}
	checks := make([]check, len(sizes))
	for i, size := range sizes {
		checks[i] = check{fmt.Sprintf("of %d bytes comes back byte for byte", size), func(p *probe) {
			p.fits(size)
			keepsResult(p, random(size))
			keepsResult(p, repetitive(size))
		}}
	}
	return checks
}

// spellings returns JSON texts, and none at all, that do not survive being decoded and encoded again.
func spellings() []string {
	return []string{
		"", "null", `""`, `"\u0000"`, "0", "-0", "1.0", "1E400", "9007199254740993",
		"[]", "{}", ` { "b" : 1 , "a" : [ ] } ` + "\n", `{"a":1,"a":2}`,
		`"<&>"`, `"\u003c\u0026\u003e"`, "\"\u2028\"", `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"é"`, "\"e\u0301\"",
	}
}

// keepsResult completes a record with this result, and reads it on every way there is.
func keepsResult(p *probe, result []byte) {
	p.t.Helper()
	seen := p.plant(p.inProgress())
	done := completion(seen, result)
	p.swaps(seen, done)
	p.claimRefused(p.rival(seen), p.now, done)
	p.swapRefused(seen, takeover(seen), done)
	if !done.Sealed(p.whole(p.get(done.Key)).Result) {
		p.t.Fatalf("the commit does not name the result")
	}
}

// fits skips the check if the store does not keep results of this size.
func (p *probe) fits(size int) {
	p.t.Helper()
	if limit := p.features.MaxResult; limit != 0 && size > limit {
		p.t.Skipf("Features.MaxResult: the store keeps results of up to %d bytes", limit)
	}
	if testing.Short() && size > 1<<20 {
		p.t.Skipf("-short: results of more than 1 MiB are left out")
	}
}

// large returns a result that is new each time and that a store might not want to keep inside the record.
func (p *probe) large() []byte {
	size := 64 << 10
	if limit := p.features.MaxResult; limit != 0 {
		size = min(size, limit)
	}
	return random(size)
}

// random returns a JSON text of this many bytes, at least one, that does not compress below three quarters of them.
func random(size int) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if size == 1 {
		return []byte("0")
	}
	text := make([]byte, size)
	rand.Read(text)
	for i, b := range text {
		text[i] = letters[b%64]
	}
	text[0], text[size-1] = '"', '"'
	return text
}

// repetitive returns a JSON text of this many bytes, at least one, that compresses to almost nothing.
func repetitive(size int) []byte {
	return append(bytes.Repeat([]byte(" "), size-1), '0')
}

func partsChecks() []check {
	return []check{
		{"written by a refused Claim do not change the held result", func(p *probe) {
			held := p.plant(completion(p.inProgress(), p.large()))
			for _, owner := range []string{held.Owner, "B"} {
				next := held
				next.Owner = owner
				p.claimRefused(completion(next, p.large()), p.now, held)
			}
		}},
		{"written by a refused Swap do not change the held result", func(p *probe) {
			stale := p.plant(p.inProgress())
			held := takeover(stale)
			p.swaps(stale, held)
			done := completion(held, p.large())
			p.swaps(held, done)
			p.swapRefused(stale, completion(stale, p.large()), done)
			p.swapRefused(held, completion(held, p.large()), done)
		}},
		{"are replaced by a Claim", func(p *probe) {
			held := completion(p.inProgress(), p.large())
			held.Expiry = p.now
			p.plant(held)
			p.claims(p.rival(held), p.now)
		}},
		{"are replaced by a Swap", func(p *probe) {
			seen := p.plant(completion(p.inProgress(), p.large()))
			next := completion(takeover(seen), p.large())
			p.swaps(seen, next)
			p.swaps(p.get(seen.Key), takeover(next))
		}},
		{"stay if a Swap hands back the record that was read", func(p *probe) {
			done := p.plant(completion(p.inProgress(), p.large()))
			seen := p.get(done.Key)
			next := seen
			next.Attempt, done.Attempt = 2, 2
			swapAsRead(p, seen, next)
			p.holds(done)
		}},
		{"of a released record do not come back", func(p *probe) {
			held := p.plant(completion(p.inProgress(), p.large()))
			p.deletes(held)
			again := completion(held, p.large())
			p.plant(again)
		}},
	}
}

// swapAsRead swaps for a record that may have Parts, so that what is held is not what was handed in.
func swapAsRead(p *probe, seen, next store.Record) {
	p.t.Helper()
	held, swapped, err := p.store.Swap(p.t.Context(), seen, next)
	p.noError("Swap", err)
	if !swapped {
		p.t.Fatalf("Swap was refused; reported as held:\n%s", describe(held))
	}
}
