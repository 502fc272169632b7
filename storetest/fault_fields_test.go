package storetest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
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
