package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// fieldFaults are stores that read a field otherwise than it was written.
func fieldFaults() []fault {
	var all []fault
	for _, f := range []struct {
		name   string
		caught string
		spoil  func(*record)
	}{
		{"drops the owner", "Fields/keep odd texts", func(r *record) { r.Owner = "" }},
		{"trims the owner", "Fields/keep odd texts", func(r *record) { r.Owner = strings.TrimSpace(r.Owner) }},
		{
			"drops the lease", "Fields/keep odd texts",
			func(r *record) { r.Lease = time.Time{} },
		},
		{
			"keeps the seconds of the lease", "Fields/keep odd instants",
			func(r *record) { r.Lease = r.Lease.Truncate(time.Second) },
		},
		{"reads an absent lease as 1970", "Fields/keep odd numbers, and no value at all", func(r *record) {
			if r.Lease.IsZero() {
				r.Lease = time.Unix(0, 0)
			}
		}},
		{
			"adds a second to the expiry", "Fields/keep odd texts",
			func(r *record) { r.Expiry = r.Expiry.Add(time.Second) },
		},
		{
			"keeps 32 bits of the expiry", "Fields/keep odd instants",
			func(r *record) { r.Expiry = time.Unix(int64(int32(r.Expiry.Unix())), 0) },
		},
		{
			"drops the fingerprint", "Fields/keep odd texts",
			func(r *record) { r.Fingerprint = "" },
		},
		{"drops the commit", "Fields/keep odd texts", func(r *record) { r.Seal = "" }},
		{"drops the attempt", "Fields/keep odd texts", func(r *record) { r.Attempt = 0 }},
		{
			"counts attempts from one", "Fields/keep odd numbers, and no value at all",
			func(r *record) { r.Attempt = max(r.Attempt, 1) },
		},
		{
			"drops the creation", "Fields/keep odd texts",
			func(r *record) { r.CreatedAt = time.Time{} },
		},
		{
			"keeps the seconds of the creation", "Fields/keep odd instants",
			func(r *record) { r.CreatedAt = r.CreatedAt.Truncate(time.Second) },
		},
		{"drops the reason", "Fields/keep odd texts", func(r *record) { r.Reason = "" }},
		{"drops the reason of a completed record", "Fields/keep odd texts", func(r *record) {
			if r.Status == store.StatusCompleted {
				r.Reason = ""
			}
		}},
		{
			"takes blank text for none", "Fields/keep odd texts",
			func(r *record) { r.Reason = strings.TrimSpace(r.Reason) },
		},
		{
			"ends text at a zero byte", "Fields/keep odd texts",
			func(r *record) { r.Reason, _, _ = strings.Cut(r.Reason, "\x00") },
		},
		{"reads an absent creation as 1970", "Fields/keep odd numbers, and no value at all", func(r *record) {
			if r.CreatedAt.IsZero() {
				r.CreatedAt = time.Unix(0, 0)
			}
		}},
		{
			"cuts the reason", "Fields/keep odd texts",
			func(r *record) { r.Reason = r.Reason[:min(len(r.Reason), 32)] },
		},
		{"takes empty text for none", "Fields/keep odd texts", func(r *record) {
			if r.Fingerprint == "" {
				r.Fingerprint = "none"
			}
		}},
		{"drops the completion", "Fields/keep odd texts", func(r *record) { r.CompletedAt = time.Time{} }},
		{
			"keeps the seconds of the completion", "Fields/keep odd instants",
			func(r *record) { r.CompletedAt = r.CompletedAt.Truncate(time.Second) },
		},
		{"drops who settled it", "Fields/tell of a settlement until a Claim", func(r *record) { r.SettledBy = "" }},
		{
			"drops when it was settled", "Fields/tell of a settlement until a Claim",
			func(r *record) { r.SettledAt = time.Time{} },
		},
		{
			"drops why it was settled", "Fields/tell of a settlement until a Claim",
			func(r *record) { r.SettledReason = "" },
		},
		{
			"cuts why it was settled", "Fields/keep odd texts",
			func(r *record) { r.SettledReason = r.SettledReason[:min(len(r.SettledReason), 64)] },
		},
		{"drops the attention", "Fields/keep odd texts", func(r *record) { r.Attention = "" }},
		{
			"keeps the seconds of the attention", "Fields/keep odd instants",
			func(r *record) { r.AttentionAt = r.AttentionAt.Truncate(time.Second) },
		},
		{"drops the tries", "Fields/keep odd numbers, and no value at all", func(r *record) { r.Tries = 0 }},
		{"cuts the tries", "Fields/keep odd numbers, and no value at all", func(r *record) { r.Tries &= 1<<16 - 1 }},
		{"drops the questions", "Fields/keep odd numbers, and no value at all", func(r *record) { r.Questions = 0 }},
		{"drops the story", "Fields/keep odd texts", func(r *record) { r.Story = "" }},
		{"drops the names of derived keys", "Fields/keep odd texts", func(r *record) { r.Derived = nil }},
		{"drops the names of steps", "Fields/keep odd texts", func(r *record) { r.StepNames = nil }},
		{"returns the names of derived keys in another order", "Fields/keep odd texts", func(r *record) {
			slices.Reverse(r.Derived)
		}},
		{"drops the layout", "Layout/text comes back as it was spelled", func(r *record) { r.Layout = "" }},
		{"trims text that others read", "Layout/text comes back as it was spelled", func(r *record) {
			if r.Layout == store.LayoutText {
				r.Result = bytes.TrimSpace(r.Result)
			}
		}},
		{"reads numbers as doubles", "Layout/values come back in canonical form", func(r *record) {
			var f float64
			if r.Layout == store.LayoutValue && json.Unmarshal(r.Result, &f) == nil {
				r.Result = strconv.AppendFloat(nil, f, 'g', -1, 64)
			}
		}},
		{"drops the result", "Fields/keep odd texts", func(r *record) { r.Result = nil }},
		{"returns null for no result", "Result/comes back as it was spelled", func(r *record) {
			if r.Status == store.StatusCompleted && len(r.Result) == 0 {
				r.Result = []byte("null")
			}
		}},
		{
			"trims the result", "Result/comes back as it was spelled",
			func(r *record) { r.Result = bytes.TrimSpace(r.Result) },
		},
		{"compacts the result", "Result/comes back as it was spelled", func(r *record) {
			var b bytes.Buffer
			if json.Compact(&b, r.Result) == nil {
				r.Result = b.Bytes()
			}
		}},
		{"escapes the result", "Result/comes back as it was spelled", func(r *record) {
			var b bytes.Buffer
			json.HTMLEscape(&b, r.Result)
			r.Result = b.Bytes()
		}},
		{"decodes and encodes the result", "Result/comes back as it was spelled", func(r *record) {
			var v any
			if json.Unmarshal(r.Result, &v) != nil {
				return
			}
			if text, err := json.Marshal(v); err == nil {
				r.Result = text
			}
		}},
	} {
		all = append(all, fault{f.name, f.caught, reads(f.spoil)})
	}
	return append(all,
		fault{
			"Claim drops the attempt", "Fields/keep odd texts",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						r.Attempt = 0
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
		fault{
			"Swap drops the attempt", "Fields/keep odd texts",
			swapsFor(func(_, _, next record) record {
				next.Attempt = 0
				return next
			}),
		},
		fault{
			"Swap keeps the attention that it saw", "Fields/tell of a settlement until a Claim",
			swapsFor(func(_, seen, next record) record {
				next.Attention, next.Derived = seen.Attention, seen.Derived
				return next
			}),
		},
		fault{
			"Claim keeps the settlement of what it replaces", "Fields/tell of a settlement until a Claim",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						if held, found, _ := s.Get(ctx, r.Key); found {
							r.SettledBy = held.SettledBy
						}
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
		fault{
			"Swap keeps the layout that it saw", "Layout/is replaced with the result",
			swapsFor(func(_, seen, next record) record {
				next.Layout = seen.Layout
				return next
			}),
		},
		fault{
			"Swap writes the layout with a result only", "Layout/is replaced without the result",
			swapsFor(func(_, seen, next record) record {
				if next.Result == nil {
					next.Layout = seen.Layout
				}
				return next
			}),
		},
		fault{
			"refuses large results of other layouts", "Layout/keeps results of 300000 bytes with the record",
			refusesResultsAbove(200_000),
		},
		fault{
			"repairs results that are not valid UTF-8", "Result/that is not valid UTF-8 comes back byte for byte",
			reads(func(r *record) { r.Result = bytes.ToValidUTF8(r.Result, []byte("\ufffd")) }),
		},
		fault{
			"cuts results at 400 KiB", "Result/of 409601 bytes comes back byte for byte",
			func(s *parted) store.Store {
				return &faulty{parted: s, read: func(ctx context.Context, r record) ([]byte, error) {
					result, err := s.ReadResult(ctx, r)
					return result[:min(len(result), 400<<10)], err
				}}
			},
		},
		fault{
			"refuses the largest results", "Result/of 6291556 bytes comes back byte for byte",
			refusesResultsAbove(6_000_000),
		},
	)
}

// refusesResultsAbove limits the size of results.
func refusesResultsAbove(limit int) func(*parted) store.Store {
	tooLarge := func(op string) error {
		return &store.Error{Op: op, Kind: store.FailureTooLarge, NotApplied: true}
	}
	return func(s *parted) store.Store {
		return &faulty{
			parted: s,
			claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
				if len(r.Result) > limit {
					return record{}, false, tooLarge("claim")
				}
				return s.Claim(ctx, r, now)
			},
			swap: func(ctx context.Context, seen, next record) (record, bool, error) {
				if len(next.Result) > limit {
					return record{}, false, tooLarge("swap")
				}
				return s.Swap(ctx, seen, next)
			},
		}
	}
}

// reads spoils every record on its way out.
func reads(spoil func(*record)) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{
			parted: s,
			claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
				held, claimed, err := s.Claim(ctx, r, now)
				if held.Key != "" {
					spoil(&held)
				}
				return held, claimed, err
			},
			swap: func(ctx context.Context, seen, next record) (record, bool, error) {
				held, swapped, err := s.Swap(ctx, seen, next)
				if held.Key != "" {
					spoil(&held)
				}
				return held, swapped, err
			},
			get: func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := s.Get(ctx, key)
				if found {
					spoil(&r)
				}
				return r, found, err
			},
		}
	}
}
