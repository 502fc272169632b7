package main

// cacheControls are those of the cache before a store.
func cacheControls() []control {
	const (
		cache   = "cache/cache.go"
		kept    = "cache/kept.go"
		traffic = "cache/traffic.go"
	)
	controls := []control{
		{
			name: "cache-expiry", without: "a result is replayed from memory for ever", file: kept,
			old: "found && !r.Claimable(now.Add(idempotent.DefaultMargin))", new: "found",
		},
		{
			name:    "cache-margin",
			without: "a sandbox whose clock is behind replays what another one has executed again", file: kept,
			old: "!r.Claimable(now.Add(idempotent.DefaultMargin))", new: "!r.Claimable(now)",
		},
		{
			name: "cache-expired", without: "an expired record comes back when the clock goes back", file: kept,
			old: "if !refuses {", new: "if false {",
		},
		{
			name: "cache-ended", without: "a claim succeeds whose context has ended", file: kept,
			old: "refuses && ctx.Err() == nil {", new: "refuses {",
		},
		{
			name: "cache-read-ended", without: "so does the reading of a result", file: cache,
			old: ` && ctx.Err() == nil {`, new: ` {`,
		},
		{
			name: "cache-completed", without: "a running execution blocks its key in memory until it expires", file: kept,
			old: "r.Status != idempotent.StatusCompleted || ", new: "",
		},
		{
			name: "cache-claim-copied", without: "what is remembered changes with the bytes of a replay", file: cache,
			old: "return copied(held), false, nil", new: "return held, false, nil",
		},
		{
			name: "cache-learn-copied", without: "what is remembered changes with the bytes of a caller", file: kept,
			old: "r = copied(r)", new: "_ = copied(r)",
		},
		{
			name: "cache-read-copied", without: "the same of a result that was in parts, on its way out", file: cache,
			old: "return bytes.Clone(held.Result), nil", new: "return held.Result, nil",
		},
		{
			name: "cache-result-copied", without: "the same on its way in", file: kept,
			old: "result = bytes.Clone(result)", new: "_ = bytes.Clone(result)",
		},
		{
			name: "cache-change", without: "a record that was swapped or deleted is replayed from memory", file: traffic,
			old: "\ts.kept.Remove(key)\n", new: "",
		},
		{
			name: "cache-alone", without: "an answer that comes during a change is remembered", file: traffic,
			old: "return c.alone && ", new: "return ",
		},
		{
			name: "cache-changes", without: "an answer that a change overtakes is remembered", file: traffic,
			old: "c.begun == c.changes && ", new: "",
		},
		{
			name: "cache-latest", without: "a look that a claim overtakes is remembered", file: traffic,
			old: " && !r.Claimable(c.latest)", new: "",
		},
		{
			name: "cache-change-ends", without: "one change keeps what comes after it from being remembered", file: traffic,
			old: "c.changing--", new: "_ = c.changing",
		},
		{
			name: "cache-traffic", without: "every key that was ever claimed stays in memory", file: traffic,
			old: "delete(s.inside, c.key)", new: "_ = c.key",
		},
		{
			name: "cache-key", without: "a result is replayed under the key of another request", file: kept,
			old: "r.Key = c.key", new: "_ = c.key",
		},
		{
			name: "cache-lease", without: "a record is remembered without the lease that it has", file: cache,
			old: `if next.Lease.IsZero() && seen.Owner != "" {`, new: "if false {",
		},
		{
			name: "cache-lease-owner", without: "a record is remembered with the lease of an earlier claim", file: traffic,
			old: `seen.Owner != "" && seen.Owner == c.claim.owner`, new: `seen.Owner != ""`,
		},
		{
			name: "cache-claims", without: "every claim that was ever made stays in memory", file: traffic,
			old: "delete(s.claims, key)", new: "_ = key",
		},
		{
			name: "cache-claims-undone", without: "every takeover that was undone stays in memory", file: cache,
			old: "if next.Owner != seen.Owner || next.Owner == c.claim.owner {", new: "if true {",
		},
		{
			name: "cache-claims-alone", without: "a record is remembered with a lease that was renewed meanwhile", file: traffic,
			old: "r.Status == idempotent.StatusInProgress && c.alone && c.begun == c.changes", new: "r.Status == idempotent.StatusInProgress",
		},
		{
			name: "cache-lease-kept", without: "so is one whose lease was seen", file: cache,
			old: "next.Lease = c.lease(seen)", new: "_ = c.lease(seen)",
		},
		{
			name: "cache-result-stays", without: "a result that was read is read again after a look", file: kept,
			old: "found && same(held, r) {", new: "false && found && same(held, r) {",
		},
		{
			name: "cache-same", without: "the parts of an old record are answered with the result of a new one", file: kept,
			old: "return held, found && same(held, r)", new: "return held, found",
		},
		{
			name: "cache-result-same", without: "the result of an old record becomes that of a new one", file: kept,
			old: "if !found || !same(held, r) {", new: "if !found {",
		},
		{
			name: "cache-commit", without: "records of AWS Powertools all count as the same one", file: kept,
			old: `a.Commit != "" && `, new: "",
		},
		{
			name: "cache-claim-failed", without: "what comes with an error is remembered", file: cache,
			old: "held, claimed, err := s.inner.Claim(ctx, r, now)\n\tswitch {\n\tcase err != nil:",
			new: "held, claimed, err := s.inner.Claim(ctx, r, now)\n\tswitch {\n\tcase false:",
		},
		{
			name: "cache-read-failed", without: "a result that could not be read is remembered as none", file: cache,
			old: "if err == nil {", new: "if true {",
		},
		{
			name: "cache-bound", without: "a process that serves for long grows", file: kept,
			old: "for s.bytes+n > s.maxBytes {", new: "for false {",
		},
		{
			name: "cache-result-large", without: "a result that is larger than the cache is kept, and nothing else", file: kept,
			old: "if size(held) <= s.maxBytes {", new: "if true {",
		},
		{
			name: "cache-counted", without: "what is kept counts without its result", file: kept,
			old: " + allocated(len(r.Result))", new: "",
		},
		{
			name: "cache-overhead", without: "many small records take much more memory than they count", file: kept,
			old: "return overhead + ", new: "return ",
		},
		{
			name: "cache-pages", without: "so do large ones", file: kept,
			old: "if n > 4*page {", new: "if false {",
		},
		{
			name: "cache-recent", without: "what is replayed often is forgotten like the rest", file: kept,
			old: "r, found = s.kept.Get(key)", new: "r, found = s.kept.Peek(key)",
		},
		{
			name: "cache-mutex", without: "claims at the same moment break the index", file: kept,
			old: "s.mu.Lock()\n\tdefer s.mu.Unlock()\n\tr, found = s.kept.Get(key)", new: "r, found = s.kept.Get(key)",
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
