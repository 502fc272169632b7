package main

// conditionControls are the guards of the writes to DynamoDB.
func conditionControls() []control {
	return []control{
		{
			name: "claim-condition", model: "NO_CLAIM_CONDITION", without: "a claim overwrites whatever is held",
			old: `"attribute_not_exists(#id) OR (#expiration <= :now AND " + "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new: `"attribute_not_exists(#id) OR (#expiration <= :now AND " + "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms)) OR attribute_exists(#id)"`,
		},
		{
			name: "claim-completed", model: "NO_CLAIM_LEASE",
			without: "a claim overwrites an execution whose expiry has come",
			old:     `"attribute_not_exists(#id) OR (#expiration <= :now AND " + "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new:     `"attribute_not_exists(#id) OR (#expiration <= :now AND " + "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms OR attribute_exists(#lease)))"`,
		},
		{
			name: "claim-expiry", model: "NO_CLAIM_EXPIRY", without: "a claim overwrites a result within its retention",
			old: `"attribute_not_exists(#id) OR (#expiration <= :now AND " + "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new: `"attribute_not_exists(#id) OR ((#expiration <= :now OR attribute_exists(#id)) AND " + "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
		},
		{
			name: "claim-boundary", without: "a result is replayed in the second of its expiry",
			old: `"attribute_not_exists(#id) OR (#expiration <= :now AND " + `,
			new: `"attribute_not_exists(#id) OR (#expiration < :now AND " + `,
		},
		{
			name: "claim-lease-boundary", without: "a record that has expired is held at the instant at which its lease ends",
			old: `"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new: `"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease < :now_ms))"`,
		},
		{
			name: "claim-any-status", without: "a result, or what is UNKNOWN, outlives its expiry by its lease",
			old: `"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new: `"(#status <> :in_progress AND attribute_not_exists(#status) OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
		},
		{
			name: "claim-crashed", without: "an execution that crashed blocks its key beyond its expiry",
			old: `"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new: `"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms AND attribute_not_exists(#lease)))"`,
		},
		{
			name: "claim-no-lease", without: "so does one of AWS Powertools, without a lease",
			old: `"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"`,
			new: `"(#status <> :in_progress OR attribute_not_exists(#lease) AND attribute_exists(#lease) OR #lease <= :now_ms))"`,
		},
		{
			name: "swap-owner", model: "NO_SWAP_OWNER",
			without: "a stale owner completes, or releases, what someone else owns",
			old:     `$e.condition += "#owner = :seen_owner"`,
			new:     `$e.condition += "(#owner = :seen_owner OR attribute_exists(#owner))"`,
		},
		{
			name: "swap-status", model: "NO_SWAP_STATUS", without: "a completed result is overwritten",
			old: `"#status = :seen_status AND "`, new: `"(#status = :seen_status OR attribute_exists(#status)) AND "`,
		},
		{
			name: "swap-lease", model: "NO_SWAP_LEASE", without: "two deliveries take over the same record",
			old: `" AND #lease = :seen_lease"`, new: `" AND (#lease = :seen_lease OR attribute_exists(#lease))"`,
		},
		{
			name: "swap-no-owner", without: "a takeover of what AWS Powertools wrote takes it from its new owner",
			old: `"attribute_not_exists(#owner) AND #expiration > :second_before AND #expiration <= :seen_expiration"`,
			new: `"(attribute_not_exists(#owner) OR attribute_exists(#owner)) AND #expiration > :second_before AND #expiration <= :seen_expiration"`,
		},
		{
			name: "swap-no-lease", without: "so it does if there was no lease",
			old: `" AND attribute_not_exists(#lease)"`,
			new: `" AND (attribute_not_exists(#lease) OR attribute_exists(#lease))"`,
		},
		{
			name: "swap-expiration", without: "two deliveries take over the same record of AWS Powertools",
			old: `"attribute_not_exists(#owner) AND #expiration > :second_before AND #expiration <= :seen_expiration"`,
			new: `"attribute_not_exists(#owner) AND (#expiration > :second_before OR #expiration <= :seen_expiration)"`,
		},
		{
			name: "swap-fraction", without: "a record of AWS Powertools with a fractional expiry is never taken over",
			old:   `"attribute_not_exists(#owner) AND #expiration > :second_before AND #expiration <= :seen_expiration"`,
			new:   `"attribute_not_exists(#owner) AND #expiration > :second_before AND #expiration = :seen_expiration AND #expiration <= :seen_expiration"`,
			first: "Fractional",
		},
		{
			name: "delete-condition", without: "a delete does not compare anything",
			old: "$e.sameAs($s.attr, $seen)", in: "Delete",
			new:   `$e.sameAs($s.attr, $seen); $e.condition = "(" + $e.condition + ") OR attribute_exists(#status)"`,
			first: "TestADeleteLeavesAnotherRecordAlone",
		},
		{
			name: "delete-owner", model: "NO_DELETE_OWNER", without: "a stale owner releases what someone else owns",
			old: "$e.sameAs($s.attr, $seen)", in: "Delete",
			new:   `$e.sameAs($s.attr, $seen); $e.condition += " OR #status = :seen_status"`,
			first: "TestADeleteLeavesAnotherRecordAlone",
		},
		{
			name: "delete-status", without: "a release deletes a result",
			old: "$e.sameAs($s.attr, $seen)", in: "Delete",
			new:   `$e.sameAs($s.attr, $seen); $e.condition = "(" + $e.condition + ") OR #owner = :seen_owner"`,
			first: "TestADeleteLeavesAnotherRecordAlone",
		},
		{
			name: "lease-kept", without: "a write that leaves the lease alone takes it away",
			old: "if !$next.Lease.IsZero() && !$next.Lease.Equal($seen.Lease) {",
			new: "if !$next.Lease.Equal($seen.Lease) {",
		},
		{
			name: "never-shorter", model: "NO_SHORTENS", without: "a renewal that arrives late moves the lease back",
			old: "$e.neverShorter($s.attr, $seen, $next)", new: "",
		},
		{
			name: "never-shorter-seen", without: "so does one of an owner that knows its lease",
			old: "if !$renews || $next.Lease.IsZero() || !$seen.Lease.IsZero() && !$next.Lease.Before($seen.Lease) {",
			new: "if !$renews || $next.Lease.IsZero() || !$seen.Lease.IsZero() {",
		},
		{
			name: "never-shorter-owner", without: "a takeover that was undone stays, because its lease is longer",
			old: `$renews := $seen.Owner != "" && $seen.Owner == $next.Owner && $next.Status == $StatusInProgress`,
			new: `$renews := $seen.Owner != "" && $next.Status == $StatusInProgress`,
			in:  "neverShorter",
		},
		{
			name: "never-shorter-in-progress", without: "an owner cannot end its claim before the lease does",
			old: `$renews := $seen.Owner != "" && $seen.Owner == $next.Owner && $next.Status == $StatusInProgress`,
			new: `$renews := $seen.Owner != "" && $seen.Owner == $next.Owner`,
			in:  "neverShorter",
		},
		{
			name: "never-shorter-unsaid", without: "a write that says no lease counts as one that moves it back",
			old: "if !$renews || $next.Lease.IsZero() || !$seen.Lease.IsZero() && !$next.Lease.Before($seen.Lease) {",
			new: "if !$renews || !$seen.Lease.IsZero() && !$next.Lease.Before($seen.Lease) {",
		},
		{
			name: "never-shorter-equal", without: "a renewal that is delivered twice has lost its lease",
			old: `" AND (attribute_not_exists(#lease) OR #lease <= " + $a.lease.value + ")"`,
			new: `" AND (attribute_not_exists(#lease) OR #lease < " + $a.lease.value + ")"`,
		},
		{
			name: "never-shorter-absent", without: "a claim without a lease cannot be renewed",
			old: `" AND (attribute_not_exists(#lease) OR #lease <= " + $a.lease.value + ")"`,
			new: `" AND #lease <= " + $a.lease.value`,
		},
		{
			name: "content-leftovers", without: "an encoding that was left over counts again under a new commit",
			old:   `$e.setOrRemove($a.encoding, $c.encoding != "", textValue($c.encoding))`,
			new:   `if $c.encoding != "" { $e.set($a.encoding, textValue($c.encoding)) }`,
			first: "Requests|Leftovers",
		},
		{
			name: "claim-old-item", without: "a refusal and the record that it shows are two moments",
			old: "types.ReturnValuesOnConditionCheckFailureAllOld", new: "types.ReturnValuesOnConditionCheckFailureNone",
			in: "Claim", first: "Requests",
		},
		{
			name: "swap-old-item", without: "the same of a swap",
			old: "types.ReturnValuesOnConditionCheckFailureAllOld", new: "types.ReturnValuesOnConditionCheckFailureNone",
			in: "Swap", first: "Requests",
		},
		{
			name: "refused-read", without: "a refusal without the record is an empty record",
			old: "$held, _, $err := $s.get($ctx, $op, $key)", in: "refuser", new: "var $held store.Record; var $err error",
			first: "SendsNoOldItem",
		},
		{
			name: "consistent-get", without: "a read shows what is no longer held",
			old: "ConsistentRead: aws.Bool(true),", in: "Store.get", new: "ConsistentRead: aws.Bool(false),",
			first: "Requests",
		},
		{
			name: "every-attempt", without: "a write that an earlier attempt applied counts as not applied",
			old: "return $a.seen.Load() && $a.open.Load() == 0", new: "return true",
			first: "Attempt",
		},
		{
			name: "attempts-seen", without: "a client that hides its attempts is believed",
			old: "return $a.seen.Load() && $a.open.Load() == 0", new: "return $a.open.Load() == 0",
			first: "Attempt",
		},
		{
			name: "attempts-answered", without: "an attempt whose reply was lost counts as not applied",
			old: "if neverSent($err) || answeredNotApplied($err) {", new: "if $err != nil {",
			first: "Attempt",
		},
		{
			name: "attempts-sent", without: "a server that cannot be reached leaves every write open",
			old: "if neverSent($err) || answeredNotApplied($err) {", new: "if answeredNotApplied($err) {",
			first: "Attempt|Failures|Errors",
		},
		{
			name: "attempts-server-error", without: "after a server error a write counts as not applied",
			old:   "$code < http.StatusBadRequest || $code >= http.StatusInternalServerError",
			new:   "$code < http.StatusBadRequest",
			first: "Failures",
		},
		{
			name: "attempts-known-code", without: "an answer of something in between counts as that of DynamoDB",
			old: "_, $known := kindOfCode($code); return $known", new: `return $code != "-"`,
			first: "Failures",
		},
		{
			name: "attempts-of-delete", without: "a delete that was applied and asked again deleted nothing",
			old:   "$refused && $a.seen.Load() && $a.open.Load() > 0",
			new:   "$refused && $a.seen.Load() && $a.open.Load() < 0",
			first: "Attempt",
		},
		{
			name: "attempts-of-read", without: "a refusal that cannot be read counts as not applied",
			old: "$se.NotApplied = $a.notApplied()", new: "_ = $se",
			first: "Look|Attempt",
		},
		{
			name: "refused-type", without: "an error of another kind is read as a refusal",
			old: "if string($begin[:$n]) != refusedBegins {", new: "if $n == 0 {",
			first: "Refusals",
		},
		{
			name: "refused-header", without: "an error whose kind the header says is read as what the body says",
			old: `|| $resp.Header.Get("X-Amzn-Errortype") != ""`, new: "",
			first: "Refusals",
		},
		{
			name: "refused-whole", without: "an answer that is read the usual way lacks its beginning",
			old:   "io.MultiReader(bytes.NewReader($begin[:$n]), $resp.Body)",
			new:   "io.MultiReader(bytes.NewReader(nil), $resp.Body)",
			first: "Refusals",
		},
		{
			name: "errors-too-large", without: "a result that does not fit is a rejected call",
			old: "if $kind == $FailureRejected && tooLarge(errorMessage($err)) {", new: "if false {",
			first: "Errors|Failures",
		},
		{
			name: "errors-accuse", without: "every rejected call accuses the table of having another key",
			old: "case $kind == $FailureRejected && aboutTheKey(errorMessage($err)):", new: "case $kind == $FailureRejected:",
			first: "Errors|Failures|Rejections",
		},
		{
			name: "errors-private", without: "an error carries what was written",
			old:   `case $known && $kind != $FailureRejected, harmless(errorMessage($err)), $code == "" && status($err) == 0:`,
			new:   `case $code != "-" || $known && $kind == "":`,
			first: "Errors|Failures",
		},
	}
}
