package main

// modelledCommitControls are the guards of commits that the model has beside those of the other controls.
func modelledCommitControls() []control {
	return []control{
		{
			name: "commit-status", model: "NO_COMMIT_STATUS", without: "a commit is applied once more to the record that it has completed",
			old:   "ConditionExpression: aws.String($e.condition), UpdateExpression: $e.update(),",
			new:   `ConditionExpression: aws.String($e.condition + " OR #status <> :seen_status"), UpdateExpression: $e.update(),`,
			in:    "Store.Commit",
			first: "Commit",
		},
		{
			name: "commit-first", model: "NO_COMMIT_FIRST", without: "who has lost its record is told that a condition does not hold",
			old: "case $placed && $t.record != nil && $reasons[0].code == $ReasonCondition:",
			new: "case $placed && $t.record != nil && $reasons[0].code == $ReasonCondition && " +
				"!slices.ContainsFunc($reasons[1:], func(r reason) bool { $reasons[0].code = reasonNone; return r.code == $ReasonCondition }):",
			first: "Commit|Cancel|Reason",
		},
		{
			name: "commit-ours", model: "NO_COMMIT_OURS", without: "a stale owner commits in the record of whoever has taken over",
			old: "case $c.isOurs($held) && !$held.Lease.Equal($c.seen.Lease): $c.seen.Lease = $held.Lease",
			new: "case $held.Status == $c.seen.Status: $c.seen.Owner, $c.seen.Lease = $held.Owner, $held.Lease",
			in:  "commit.send", first: "Commit|Stale",
		},
		{
			name: "fence-moves", model: "NO_FENCE_MOVES", without: "a fence leaves the lease where a late commit finds it",
			old: "$next.Lease = $LeaseEnd($c.seen.Lease.Add(time.Millisecond))", new: "$next.Lease = $c.seen.Lease", first: "Commit",
		},
		{
			name: "fence-written", model: "NO_FENCE_WRITTEN", without: "a fence that nobody has answered counts as one that stands",
			old: "case $err != nil: return fenceUnknown, $held, $err", new: "case $err != nil: return fenceStands, $held, nil", first: "Commit",
		},
		{
			name: "fence-failed", model: "NO_FAILED_FENCE", without: "a commit that has failed lands later",
			old: "switch $how, $held, $err := $c.fence($ctx); $how {",
			new: "switch $how, $held, $err := fenceStands, *new(store.Record), error(nil); $how {",
			in:  "commit.failed", first: "Commit",
		},
	}
}
