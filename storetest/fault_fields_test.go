package storetest_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// fieldFaults are stores that read a field otherwise than it was written.
func fieldFaults() faults {
	// reads are faults of which each spoils the records on their way out.
	type reads map[string]func(r *record)
	all := faults{
		"Fields/keep odd texts": {
			{"Claim drops the attempt", claims.before(func(c *call) { c.next.Attempt = 0 })},
			{"Swap drops the attempt", swaps.before(func(c *call) { c.next.Attempt = 0 })},
		},
		"Fields/tell of a settlement until a Claim": {
			{"Swap keeps the attention that it saw", swaps.before(func(c *call) {
				c.next.Attention, c.next.Derived = c.seen.Attention, c.seen.Derived
			})},
			{"Claim keeps the settlement of what it replaces", claims.before(func(c *call) {
				if c.held.Key != "" {
					c.next.SettledBy = c.held.SettledBy
				}
			})},
		},
	}
	for check, of := range map[string]reads{
		"Fields/keep odd texts": {
			"drops the owner":             func(r *record) { r.Owner = "" },
			"trims the owner":             func(r *record) { r.Owner = strings.TrimSpace(r.Owner) },
			"drops the lease":             func(r *record) { r.Lease = time.Time{} },
			"adds a second to the expiry": func(r *record) { r.Expiry = r.Expiry.Add(time.Second) },
			"drops the fingerprint":       func(r *record) { r.Fingerprint = "" },
			"drops the commit":            func(r *record) { r.Seal = "" },
			"drops the attempt":           func(r *record) { r.Attempt = 0 },
			"drops the creation":          func(r *record) { r.CreatedAt = time.Time{} },
			"drops the reason":            func(r *record) { r.Reason = "" },
			"drops the reason of a completed record": func(r *record) {
				if r.Status == store.StatusCompleted {
					r.Reason = ""
				}
			},
			"takes blank text for none": func(r *record) { r.Reason = strings.TrimSpace(r.Reason) },
			"ends text at a zero byte":  func(r *record) { r.Reason, _, _ = strings.Cut(r.Reason, "\x00") },
			"cuts the reason":           func(r *record) { r.Reason = r.Reason[:min(len(r.Reason), 32)] },
			"takes empty text for none": func(r *record) {
				if r.Fingerprint == "" {
					r.Fingerprint = "none"
				}
			},
			"drops the completion": func(r *record) { r.CompletedAt = time.Time{} },
			"cuts why it was settled": func(r *record) {
				r.SettledReason = r.SettledReason[:min(len(r.SettledReason), 64)]
			},
			"drops the attention":                                func(r *record) { r.Attention = "" },
			"drops the story":                                    func(r *record) { r.Story = "" },
			"drops the names of derived keys":                    func(r *record) { r.Derived = nil },
			"drops the names of steps":                           func(r *record) { r.StepNames = nil },
			"returns the names of derived keys in another order": func(r *record) { slices.Reverse(r.Derived) },
			"drops the result":                                   func(r *record) { r.Result = nil },
		},
		"Fields/keep odd instants": {
			"keeps the seconds of the lease": func(r *record) { r.Lease = r.Lease.Truncate(time.Second) },
			"keeps 32 bits of the expiry": func(r *record) {
				r.Expiry = time.Unix(int64(int32(r.Expiry.Unix())), 0)
			},
			"keeps the seconds of the creation": func(r *record) { r.CreatedAt = r.CreatedAt.Truncate(time.Second) },
			"keeps the seconds of the completion": func(r *record) {
				r.CompletedAt = r.CompletedAt.Truncate(time.Second)
			},
			"keeps the seconds of the attention": func(r *record) {
				r.AttentionAt = r.AttentionAt.Truncate(time.Second)
			},
		},
		"Fields/keep odd numbers, and no value at all": {
			"reads an absent lease as 1970":    func(r *record) { r.Lease = since1970(r.Lease) },
			"reads an absent creation as 1970": func(r *record) { r.CreatedAt = since1970(r.CreatedAt) },
			"counts attempts from one":         func(r *record) { r.Attempt = max(r.Attempt, 1) },
			"drops the tries":                  func(r *record) { r.Tries = 0 },
			"cuts the tries":                   func(r *record) { r.Tries &= 1<<16 - 1 },
			"drops the questions":              func(r *record) { r.Questions = 0 },
		},
		"Fields/tell of a settlement until a Claim": {
			"drops who settled it":      func(r *record) { r.SettledBy = "" },
			"drops when it was settled": func(r *record) { r.SettledAt = time.Time{} },
			"drops why it was settled":  func(r *record) { r.SettledReason = "" },
		},
	} {
		for name, spoil := range of {
			all[check] = append(all[check], fault{name, shown(spoil)})
		}
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
			{"drops the layout", shown(func(r *record) { r.Layout = "" })},
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
			{"Swap keeps the layout that it saw", swaps.before(func(c *call) { c.next.Layout = c.seen.Layout })},
		},
		"Layout/is replaced without the result": {
			{"Swap writes the layout with a result only", swaps.before(func(c *call) {
				if c.next.Result == nil {
					c.next.Layout = c.seen.Layout
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
				a.held.Result = a.held.Result[:min(len(a.held.Result), 400<<10)]
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
		if len(c.next.Result) > limit {
			return answer{err: &store.Error{Op: string(c.op), Kind: store.FailureTooLarge, NotApplied: true}}
		}
		return c.pass()
	})
}
