package main

// memoryControls are those of the embedded store, which the proofs on fake time run on.
func memoryControls() []control {
	const (
		expiry  = "memory/expiry.go"
		memory  = "memory/memory.go"
		records = "memory/records.go"
	)
	return []control{
		{
			name: "memory-claim", model: "NO_CLAIM_CONDITION", without: "a claim overwrites whatever is held", file: records,
			old: "case e.record.Claimable(now):", new: "case true:",
		},
		{
			name: "memory-claim-expired", without: "an expired record is never claimed over", file: records,
			old: "case e.record.Claimable(now):", new: "case false:",
		},
		{
			name: "memory-status", model: "NO_SWAP_STATUS", without: "a completed result is overwritten", file: records,
			old: "held.Status != seen.Status || ", new: "",
		},
		{
			name: "memory-owner", model: "NO_SWAP_OWNER",
			without: "a stale owner changes what someone else owns", file: records,
			old: " || held.Owner != seen.Owner", new: "",
		},
		{
			name: "memory-lease", model: "NO_SWAP_LEASE", without: "two deliveries take over the same record", file: records,
			old: "return seen.Lease.IsZero() || held.Lease.Equal(seen.Lease)", new: "return true",
		},
		{
			name: "memory-no-lease", without: "an owner has to know its lease", file: records,
			old: "return seen.Lease.IsZero() || held.Lease.Equal(seen.Lease)", new: "return held.Lease.Equal(seen.Lease)",
		},
		{
			name: "memory-foreign-lease", without: "a record without an owner is taken over twice", file: records,
			old: "held.Lease.Equal(seen.Lease) && held.Expiry.Equal(seen.Expiry)", new: "held.Expiry.Equal(seen.Expiry)",
		},
		{
			name: "memory-foreign-expiry", without: "the same without a lease", file: records,
			old: "held.Lease.Equal(seen.Lease) && held.Expiry.Equal(seen.Expiry)", new: "held.Lease.Equal(seen.Lease)",
		},
		{
			name: "memory-delete", model: "NO_DELETE_OWNER",
			without: "a stale owner releases what someone else owns", file: records,
			old: "if !found || !matches(e.record, seen) {", new: "if !found {",
		},
		{
			name: "memory-lease-kept", without: "a write that leaves the lease alone takes it away", file: records,
			old: "if next.Lease.IsZero() {", new: "if false {",
		},
		{
			name: "memory-key", without: "a record is held under another key", file: records,
			old: "next.Key = seen.Key", new: "_ = seen.Key",
		},
		{
			name: "memory-claim-copied", without: "what is stored changes with the bytes of a caller", file: memory,
			old: "s.claim(copied(r), now)", new: "s.claim(r, now)",
		},
		{
			name: "memory-swap-copied", without: "the same of a swap", file: memory,
			old: "s.swap(seen, copied(next))", new: "s.swap(seen, next)",
		},
		{
			name: "memory-held-copied", without: "what is stored changes with the bytes of a refusal", file: memory,
			old: "return copied(held), claimed, nil", new: "return held, claimed, nil",
		},
		{
			name: "memory-read-copied", without: "what is stored changes with the bytes of a read", file: memory,
			old: "return copied(r), found, nil", new: "return r, found, nil",
		},
		{
			name: "memory-claim-ended", without: "a claim is applied although its context has ended", file: memory,
			old: `if err := ended(ctx, "claim"); err != nil {`,
			new: `if err := ended(ctx, "claim"); false && err != nil {`,
		},
		{
			name: "memory-swap-ended", without: "so is a swap", file: memory,
			old: `if err := ended(ctx, "swap"); err != nil {`, new: `if err := ended(ctx, "swap"); false && err != nil {`,
		},
		{
			name: "memory-delete-ended", without: "so is a delete", file: memory,
			old: `if err := ended(ctx, "delete"); err != nil {`,
			new: `if err := ended(ctx, "delete"); false && err != nil {`,
		},
		{
			name: "memory-get-ended", without: "so is a read", file: memory,
			old: `if err := ended(ctx, "get"); err != nil {`, new: `if err := ended(ctx, "get"); false && err != nil {`,
		},
		{
			name: "memory-kept", without: "a record is dropped in the instant of its expiry", file: expiry,
			old: "!now.After(s.expiry[0].record.Expiry)", new: "now.Before(s.expiry[0].record.Expiry)",
		},
		{
			name: "memory-dropped", without: "a process that runs for long grows", file: expiry,
			old: "s.drop(s.expiry[0])", new: "return",
		},
		{
			name: "memory-queue", without: "a record that was renewed is dropped before its expiry", file: records,
			old: "heap.Fix(&s.expiry, e.place)", new: "_ = e.place",
		},
		{
			name: "memory-claim-atomic", without: "two claims at the same moment both win", file: records,
			old: "s.mu.Lock()\n\tdefer s.mu.Unlock()\n\te, found := s.records[r.Key]",
			new: "e, found := s.records[r.Key]",
		},
	}
}
