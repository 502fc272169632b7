package storetest

import (
	"fmt"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/store"
)

func layouts() []store.Layout {
	return []store.Layout{store.LayoutNative, store.LayoutText, store.LayoutValue}
}

func layoutChecks() []check {
	return []check{
		{"text comes back as it was spelled", func(p *probe) {
			for _, text := range append(spellings(), "no JSON", "{", `"`, " hello ") {
				keepsLayout(p, store.LayoutText, []byte(text))
			}
		}},
		{"values come back in canonical form", func(p *probe) {
			for _, text := range values() {
				keepsLayout(p, store.LayoutValue, canonicalJSON([]byte(text)))
			}
		}},
		{"is replaced with the result", func(p *probe) {
			for _, from := range layouts() {
				for _, to := range layouts() {
					seen := laidOut(p.completed(), from, []byte(`"a"`))
					p.plant(seen)
					p.swaps(seen, laidOut(seen, to, []byte(`"b"`)))
				}
			}
		}},
		{"is replaced without the result", func(p *probe) {
			for _, from := range layouts() {
				for _, to := range layouts() {
					seen := p.inProgress()
					seen.Layout = from
					p.plant(seen)
					next := takeover(seen)
					next.Layout = to
					p.swaps(seen, next)
				}
			}
		}},
		{"keeps results of 300000 bytes with the record", func(p *probe) {
			for _, layout := range layouts() {
				p.fits(300_000)
				keepsLayout(p, layout, []byte(`"`+strings.Repeat("x", 300_000-2)+`"`))
			}
		}},
	}
}

// values returns JSON texts that every store can keep as values of its kind.
func values() []string {
	return []string{
		" null", "true", "false", "0", "-1", "1.50", "1e21", "9007199254740993", "12345678901234567890123456789012345678", "1e-7",
		`""`, `"a"`, `"{\"a\":1}"`, `"null"`, `"42"`, `"\u0000<&>é😀"`,
		"[]", "{}", `[1,"1",1.5,false,null,{"k":[]},""]`, `{"b":1,"a":{"B":[{"é":"日本"}]}}`,
	}
}

// laidOut returns r with this result in this layout.
func laidOut(r store.Record, layout store.Layout, result []byte) store.Record {
	r.Layout, r.Result, r.Seal = layout, result, store.Seal(r.Owner, result)
	return r
}

// keepsLayout writes the result by Swap, and under another key by Claim, and reads it on every way there is.
func keepsLayout(p *probe, layout store.Layout, result []byte) {
	p.t.Helper()
	seen := p.inProgress()
	seen.Layout = layout
	p.plant(seen)
	done := laidOut(completion(seen, result), layout, result)
	p.swaps(seen, done)
	p.claimRefused(p.rival(seen), p.now, done)
	p.swapRefused(seen, takeover(seen), done)
	done.Key = p.inProgress().Key
	p.writtenTwice(done)
}

// canonicalJSON is the form in which values come back. Its argument is JSON that this package made.
func canonicalJSON(text []byte) []byte {
	canonical, err := fingerprint.Canonical(nil, text)
	if err != nil {
		panic(fmt.Sprintf("storetest: %v", err))
	}
	return canonical
}
