package main

// cleanControls are the guards of deletions in tables that have no time to live.
func cleanControls() []control {
	return append(cleanItemControls(), cleanPassControls()...)
}

// cleanItemControls decide which items go.
func cleanItemControls() []control {
	return []control{
		{
			name: "clean-seen", without: "a record that was claimed or prolonged since its page was read is deleted",
			old: `$e.condition = "#expiration = :seen AND "`, new: `$e.condition = "(#expiration = :seen OR attribute_exists(#expiration)) AND "`,
			first: "BetweenAPage",
		},
		{
			name: "clean-lease", without: "a lease that began since the page was read does not keep the record from being deleted",
			old:   `$e.condition += "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms)"`,
			new:   `$e.condition += "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms OR attribute_exists(#lease))"`,
			first: "BetweenAPage",
		},
		{
			name: "clean-before", without: "what has expired later than asked for is deleted",
			old:   `"#expiration <= :before", "(" + $l.filters[0] + " OR attribute_not_exists(#status) AND attribute_type(#data, :binary))"`,
			new:   `"(#expiration <= :before OR attribute_exists(#expiration))", "(" + $l.filters[0] + " OR attribute_not_exists(#status) AND attribute_type(#data, :binary))"`,
			first: "WhatHasExpired",
		},
		{
			name: "clean-foreign", without: "what somebody else keeps in the table is deleted",
			old:   `"(" + $l.filters[0] + " OR attribute_not_exists(#status) AND attribute_type(#data, :binary))"`,
			new:   `"(" + $l.filters[0] + " OR attribute_exists(#expiration) OR attribute_type(#data, :binary))"`,
			first: "WhatIsNoRecord",
		},
		{
			name: "clean-part-key", without: "what has no key of a part is deleted as one",
			old: `return $e, !$e.part`, new: `$e.part = true; return $e, false`, first: "WhatIsNoRecord",
		},
		{
			name: "clean-live", without: "a dry run counts a record whose lease lives",
			old: `return $e, $d.err != nil || $status == store.StatusInProgress && $lease.After($x.now)`, new: `return $e, $d.err != nil || $status == store.StatusInProgress && $lease.After($x.now) && $e.part`,
			first: "WhatHasExpired",
		},
		{
			name: "clean-part-named", without: "the parts of a record that was prolonged are deleted",
			old: "$d.Kept, $d.ReadUnits, $err = $x.named($ctx, $e.key)", new: "", first: "PartsOfARecord",
		},
		{
			name: "clean-part-steps", without: "the parts of steps are deleted under a record that was prolonged",
			old: `$names := $steps || $d.text($a.commit) == $seal`, new: `$names := $steps && $d.err != nil || $d.text($a.commit) == $seal`, first: "PartsOfARecord",
		},
		{
			name: "clean-part-other", without: "the parts of an earlier result stay as long as the key is in use",
			old: `$names := $steps || $d.text($a.commit) == $seal`, new: `$names := $steps || $d.text($a.commit) == $seal || $seal != ""`, first: "PartsThat",
		},
		{
			name: "clean-part-expired", without: "parts stay until their record is gone",
			old: `return $d.err != nil || $names && !$r.Claimable($x.now), $units, nil`, new: `return $d.err != nil || $names && (!$r.Claimable($x.now) || $units >= 0), $units, nil`,
			first: "PartsThat",
		},
		{
			name: "clean-lost", without: "a deletion whose reply was lost is not counted",
			old: "$d.Deleted, $d.WriteUnits = $open || !$a.notApplied(), 1", new: "$d.Deleted, $d.WriteUnits = false, 1", first: "WhoseReplyIsLost",
		},
		{
			name: "clean-message-pending", without: "a message that is pending is deleted",
			old: `"attribute_exists(done_at) AND attribute_not_exists(outbox_due)"`, new: `"attribute_exists(done_at)"`, first: "OnlyMessages",
		},
		{
			name: "clean-message-seen", without: "a message of a later commit is deleted with the first one's expiration",
			old: `"expiration = :seen AND " + notPending()`, new: `"(expiration = :seen OR attribute_exists(id)) AND " + notPending()`,
			first: "PutAgain",
		},
	}
}

// cleanPassControls decide how a pass goes on.
func cleanPassControls() []control {
	return []control{
		{
			name: "clean-next", without: "a page that was interrupted is not repeated",
			old:   "if $done.err != nil { return $done.Cleaned, $done.err }; $done.Next = $found.Next; return $done.Cleaned, nil",
			new:   "$done.Next = $found.Next; return $done.Cleaned, $done.err",
			first: "AFailureEnds",
		},
		{
			name: "clean-failed", without: "after a failure the rest of the page is tried, too",
			old: "if !$done.failed() { $done.count($p.delete($ctx, $it)) }", new: "$done.count($p.delete($ctx, $it))", first: "AFailureEnds",
		},
		{
			name: "clean-dry", without: "a dry run deletes",
			old: "$d, $err := $p.Delete($ctx, $it, true)", new: "$d, $err := $p.Delete($ctx, $it, false)", first: "ADryRun",
		},
		{
			name: "clean-read-rate", without: "pages are read as fast as they come",
			old: "$p.reads.spent($found.Units)", new: "", first: "TheRates",
		},
		{
			name: "clean-write-rate", without: "large items are deleted at the rate of small ones",
			old: "$p.writes.spent(max($d.WriteUnits-leastUnits, 0))", new: "", first: "TheRates",
		},
		{
			name: "clean-turn", without: "all deletions that are waiting begin before the units of the first one are known",
			old: "for $left := $p.left(); $left > 0; $left = $p.left() {", new: "if $left := $p.left(); $left > 0 {", first: "ALargeItem",
		},
		{
			name: "clean-saved", without: "what a slow reader leaves unused becomes a burst",
			old: "if $now := time.Now(); $p.due.Before($now) { $p.due = $now }", new: "if $p.due.IsZero() { $p.due = time.Now() }", first: "LeftUnused",
		},
		{
			name: "clean-to-come", without: "what is still to expire is deleted",
			old: "case $c.Before.After($c.Now): ", new: "case $c.Before.After($c.Now) && $c.Now.IsZero(): ", first: "WhatNobodyMeans",
		},
	}
}
