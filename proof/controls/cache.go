package main

// cacheControls are those of the cache before a store.
func cacheControls() []control {
	controls := []control{
		{
			name: "cache-expiry", without: "a result is replayed from memory for ever",
			old: "$found && !$r.Claimable($now.Add(margin))", new: "$found",
		},
		{
			name: "cache-margin", without: "a sandbox whose clock is behind replays what another one has executed again",
			old: "!$r.Claimable($now.Add(margin))", new: "!$r.Claimable($now)",
		},
		{
			name: "cache-expired", without: "an expired record comes back when the clock goes back",
			old: "if !$refuses {", new: "if false {",
			in: "Store.find",
		},
		{
			name: "cache-ended", without: "a claim succeeds whose context has ended",
			old: "$refuses && $ctx.Err() == nil {", new: "$refuses {",
			in: "Store.find",
		},
		{
			name: "cache-read-ended", without: "so does the reading of a result",
			old: "&& $ctx.Err() == nil {", new: "{",
			in: "ReadResult",
		},
		{
			name: "cache-completed", without: "a running execution blocks its key in memory until it expires",
			old: "$r.Status != $StatusCompleted ||", new: "",
		},
		{
			name: "cache-claim-copied", without: "what is remembered changes with the bytes of a replay",
			old: "return copied($held), false, nil", new: "return $held, false, nil",
		},
		{
			name: "cache-learn-copied", without: "what is remembered changes with the bytes of a caller",
			old: "$r = copied($r)", new: "_ = copied($r)",
		},
		{
			name: "cache-read-copied", without: "the same of a result that was in parts, on its way out",
			old: "return bytes.Clone($held.Result), nil", new: "return $held.Result, nil",
			in: "Store.ReadResult",
		},
		{
			name: "cache-result-copied", without: "the same on its way in",
			old: "$result = bytes.Clone($result)", new: "_ = bytes.Clone($result)",
			in: "learnResult",
		},
		{
			name: "cache-change", without: "a record that was swapped or deleted is replayed from memory",
			old: "$s.kept.Remove($key)", new: "",
			in: "begin",
		},
		{
			name: "cache-alone", without: "an answer that comes during a change is remembered",
			old: "return $c.alone &&", new: "return",
		},
		{
			name: "cache-changes", without: "an answer that a change overtakes is remembered",
			old: "$c.begun == $c.changes &&", new: "",
		},
		{
			name: "cache-latest", without: "a look that a claim overtakes is remembered",
			old: "&& !$r.Claimable($c.latest)", new: "",
		},
		{
			name: "cache-change-ends", without: "one change keeps what comes after it from being remembered",
			old: "$c.changing--", new: "_ = $c.changing",
		},
		{
			name: "cache-traffic", without: "every key that was ever claimed stays in memory",
			old: "delete($s.inside, $c.key)", new: "_ = $c.key",
		},
		{
			name: "cache-key", without: "a result is replayed under the key of another request",
			old: "$r.Key = $c.key", new: "_ = $c.key",
			in: "learn",
		},
		{
			name: "cache-lease", without: "a record is remembered without the lease that it has",
			old: `if $next.Lease.IsZero() && $seen.Owner != "" {`, new: "if false {",
		},
		{
			name: "cache-lease-owner", without: "a record is remembered with the lease of an earlier claim",
			old: `$seen.Owner != "" && $seen.Owner == $c.claim.owner`, new: `$seen.Owner != ""`,
		},
		{
			name: "cache-claims", without: "every claim that was ever made stays in memory",
			old: "delete($s.claims, $key)", new: "_ = $key",
		},
		{
			name: "cache-claims-undone", without: "every takeover that was undone stays in memory",
			old: "if $next.Attempt > $seen.Attempt || $next.Owner == $c.claim.owner {", new: "if true {",
		},
		{
			name: "cache-claims-alone", without: "a record is remembered with a lease that was renewed meanwhile",
			old: "$r.Status == $StatusInProgress && $c.alone && $c.begun == $c.changes",
			new: "$r.Status == $StatusInProgress",
		},
		{
			name: "cache-lease-kept", without: "so is one whose lease was seen",
			old: "$next.Lease = $c.lease($seen)", new: "_ = $c.lease($seen)",
		},
		{
			name: "cache-result-stays", without: "a result that was read is read again after a look",
			old: "$found && same($held, $r) {", new: "false && $found && same($held, $r) {",
		},
		{
			name: "cache-same", without: "the parts of an old record are answered with the result of a new one",
			old: "return $held, $found && same($held, $r)", new: "return $held, $found",
		},
		{
			name: "cache-result-same", without: "the result of an old record becomes that of a new one",
			old: "if !$found || !same($held, $r) {", new: "if !$found {",
		},
		{
			name: "cache-commit", without: "records of AWS Powertools all count as the same one",
			old: `$a.Seal != "" &&`, new: "",
			in: "same",
		},
		{
			name: "cache-claim-failed", without: "what comes with an error is remembered",
			old: "$held, $claimed, $err := $s.inner.Claim($ctx, $r, $now); switch { case $err != nil:",
			new: "$held, $claimed, $err := $s.inner.Claim($ctx, $r, $now); switch { case false:",
		},
		{
			name: "cache-read-failed", without: "a result that could not be read is remembered as none",
			old: "if $err == nil {", new: "if true {",
			in: "ReadResult",
		},
		{
			name: "cache-bound", without: "a process that serves for long grows",
			old: "for $s.bytes+$n > $s.maxBytes {", new: "for false {",
		},
		{
			name: "cache-result-large", without: "a result that is larger than the cache is kept, and nothing else",
			old: "if size($held) <= $s.maxBytes {", new: "if true {",
		},
		{
			name: "cache-counted", without: "what is kept counts without its result",
			old: "+ allocated(len($r.Result))", new: "",
		},
		{
			name: "cache-overhead", without: "many small records take much more memory than they count",
			old: "return overhead +", new: "return",
		},
		{
			name: "cache-pages", without: "so do large ones",
			old: "if $n > 4*$page {", new: "if false {",
		},
		{
			name: "cache-recent", without: "what is replayed often is forgotten like the rest",
			old: "$r, $found = $s.kept.Get($key)", in: "Store.find", new: "$r, $found = $s.kept.Peek($key)",
		},
		{
			name: "cache-commit-change", without: "a record that a commit replaces comes back",
			old: "$c := $s.begin($seen.Key, change)", new: "$c := $s.begin($seen.Key, look)",
			in: "Store.Commit",
		},
		{
			name: "cache-commit-learned", without: "a committed answer is read again for its first replay",
			old: "$s.replaced($c, $seen, $next)", new: "",
			in: "Store.Commit",
		},
		{
			name: "cache-commit-refused", without: "so is the answer that a refused commit has met",
			old: "case !$committed: $s.learn($c, $held)", new: "case !$committed:",
			in: "Store.Commit",
		},
		{
			name: "cache-commit-failed", without: "what comes with an error of a commit is remembered",
			old: "case $err != nil: case !$committed:", new: "case !$committed:",
			in: "Store.Commit",
		},
		{
			name: "cache-commit-declined", without: "an answer after a commit that a write refused is read again for its first replay",
			old: "$s.noteAgain($c)", new: "_ = $c",
		},
		{
			name: "cache-claim-again", without: "every commit that a write refuses stays in memory",
			old: "$c.claim != (claim{}) &&", new: "",
		},
		{
			name: "cache-claim-again-alone", without: "a record is remembered with a lease that was renewed during a commit",
			old: "$c.claim != (claim{}) && $c.alone && $c.begun == $c.changes", new: "$c.claim != (claim{})",
		},
		{
			name: "cache-mutex", without: "claims at the same moment break the index",
			old:   "$s.mu.Lock(); defer $s.mu.Unlock(); $r, $found = $s.kept.Get($key)",
			in:    "Store.find",
			new:   "$r, $found = $s.kept.Get($key)",
			first: "TestManyDeliveries",
		},
	}
	for n := range controls {
		if controls[n].first == "" {
			controls[n].first = "^Test[^S]" // all but the conformance suite, which takes seconds
		}
	}
	return controls
}
