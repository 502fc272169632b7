package main

// memoryControls are those of the embedded store, which the proofs on fake time run on.
func memoryControls() []control {
	return []control{
		{
			name: "memory-claim", model: "NO_CLAIM_CONDITION", without: "a claim overwrites whatever is held",
			old: "case $e.record.Claimable($now):", new: "case true:",
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-claim-expired", without: "an expired record is never claimed over",
			old: "case $e.record.Claimable($now):", new: "case false:",
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-status", model: "NO_SWAP_STATUS", without: "a completed result is overwritten",
			old: "$held.Status != $seen.Status ||", new: "",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-owner", model: "NO_SWAP_OWNER", without: "a stale owner changes what someone else owns",
			old: "|| $held.Owner != $seen.Owner", new: "", in: "Matches",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-lease", model: "NO_SWAP_LEASE", without: "two deliveries take over the same record",
			old: "return $seen.Lease.IsZero() || $held.Lease.Equal($seen.Lease)", new: "return true",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-no-lease", without: "an owner has to know its lease",
			old:   "return $seen.Lease.IsZero() || $held.Lease.Equal($seen.Lease)",
			new:   "return $held.Lease.Equal($seen.Lease)",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-shorter", model: "NO_SHORTENS", without: "a renewal that arrives late moves the lease back",
			old: "|| $e.record.Shortens($next)", new: "",
			first: "Conformance|Store",
		},
		{
			name: "memory-foreign-lease", without: "a record without an owner is taken over twice",
			old:   "$held.Lease.Equal($seen.Lease) && $held.Expiry.Equal($seen.Expiry)",
			new:   "$held.Expiry.Equal($seen.Expiry)",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-foreign-expiry", without: "the same without a lease",
			old:   "$held.Lease.Equal($seen.Lease) && $held.Expiry.Equal($seen.Expiry)",
			new:   "$held.Lease.Equal($seen.Lease)",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-delete", model: "NO_DELETE_OWNER", without: "a stale owner releases what someone else owns",
			old: "if !$found || !$e.record.Matches($seen) {", new: "if !$found {",
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-lease-kept", without: "a write that leaves the lease alone takes it away",
			old: "if $next.Lease.IsZero() {", new: "if false {",
			in:    "swap",
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-key", without: "a record is held under another key",
			old: "$next.Key = $seen.Key", new: "_ = $seen.Key",
			in:    "swap",
			first: "TestARecordIsNeverHeldUnderAnotherKeyThanItsOwn",
		},
		{
			name: "memory-claim-copied", without: "what is stored changes with the bytes of a caller",
			old: "$s.claim(copied($r), $now)", new: "$s.claim($r, $now)",
		},
		{
			name: "memory-swap-copied", without: "the same of a swap",
			old: "$s.swap($seen, copied($next))", new: "$s.swap($seen, $next)",
		},
		{
			name: "memory-held-copied", without: "what is stored changes with the bytes of a refusal",
			old: "$held, $claimed := $s.claim(copied($r), $now); return copied($held), $claimed, nil",
			new: "$held, $claimed := $s.claim(copied($r), $now); return $held, $claimed, nil",
		},
		{
			name: "memory-read-copied", without: "what is stored changes with the bytes of a read",
			old: "return copied($r), $found, nil", new: "return $r, $found, nil",
			in: "Get",
		},
		{
			name: "memory-claim-ended", without: "a claim is applied although its context has ended",
			old: `if $err := ended($ctx, "claim"); $err != nil {`,
			new: `if $err := ended($ctx, "claim"); false && $err != nil {`,
		},
		{
			name: "memory-swap-ended", without: "so is a swap",
			old: `if $err := ended($ctx, "swap"); $err != nil {`,
			new: `if $err := ended($ctx, "swap"); false && $err != nil {`,
		},
		{
			name: "memory-delete-ended", without: "so is a delete",
			old: `if $err := ended($ctx, "delete"); $err != nil {`,
			new: `if $err := ended($ctx, "delete"); false && $err != nil {`,
		},
		{
			name: "memory-get-ended", without: "so is a read",
			old: `if $err := ended($ctx, "get"); $err != nil {`,
			new: `if $err := ended($ctx, "get"); false && $err != nil {`,
		},
		{
			name: "memory-kept", without: "a record is dropped in the instant of its expiry",
			old: "!$now.After($s.expiry[0].record.Expiry)", new: "$now.Before($s.expiry[0].record.Expiry)",
			first: "TestNothingIsDroppedEarly",
		},
		{
			name: "memory-dropped", without: "a process that runs for long grows",
			old: "$s.drop($s.expiry[0])", new: "return",
		},
		{
			name: "memory-queue", without: "a record that was renewed is dropped before its expiry",
			old: "heap.Fix(&$s.expiry, $e.place)", new: "_ = $e.place",
			first: "TestARecordThatWasRenewedDoesNotKeepOthers",
		},
		{
			name: "memory-claim-atomic", without: "two claims at the same moment both win",
			old:   "$s.mu.Lock(); defer $s.mu.Unlock(); $e, $found := $s.records[$r.Key]",
			new:   "$e, $found := $s.records[$r.Key]",
			in:    "claim",
			first: "TestStoreKeepsTheContract",
		},
	}
}
