package main

// conditionControls are the guards of the writes to DynamoDB.
func conditionControls() []control {
	const (
		attempts   = "dynamo/attempts.go"
		claim      = "dynamo/claim.go"
		errors     = "dynamo/errors.go"
		expression = "dynamo/expression.go"
		refused    = "dynamo/refused.go"
		store      = "dynamo/store.go"
		swap       = "dynamo/swap.go"
	)
	return []control{
		{
			name: "claim-condition", model: "NO_CLAIM_CONDITION",
			without: "a claim overwrites whatever is held", file: expression,
			old: `(#status = :completed AND #expiration <= :now)"`,
			new: `#status = :completed OR #expiration <= :now OR attribute_exists(#id)"`,
		},
		{
			name: "claim-completed", model: "NO_CLAIM_COMPLETED",
			without: "a claim overwrites an execution whose expiry has come", file: expression,
			old: `(#status = :completed AND #expiration <= :now)"`,
			new: `#expiration <= :now OR #status = :completed AND #expiration <= :now"`,
		},
		{
			name: "claim-expiry", model: "NO_CLAIM_EXPIRY",
			without: "a claim overwrites a result within its retention", file: expression,
			old: `(#status = :completed AND #expiration <= :now)"`,
			new: `#status = :completed OR #expiration <= :now AND #status = :completed"`,
		},
		{
			name: "claim-boundary", without: "a result is replayed in the second of its expiry", file: expression,
			old: `AND #expiration <= :now)"`, new: `AND #expiration < :now)"`,
		},
		{
			name: "swap-owner", model: "NO_SWAP_OWNER",
			without: "a stale owner completes, or releases, what someone else owns", file: expression,
			old: `e.condition += "#owner = :seen_owner"`,
			new: `e.condition += "(#owner = :seen_owner OR attribute_exists(#owner))"`,
		},
		{
			name: "swap-status", model: "NO_SWAP_STATUS", without: "a completed result is overwritten", file: expression,
			old: `"#status = :seen_status AND "`, new: `"(#status = :seen_status OR attribute_exists(#status)) AND "`,
		},
		{
			name: "swap-lease", model: "NO_SWAP_LEASE", without: "two deliveries take over the same record", file: expression,
			old: `" AND #lease = :seen_lease"`, new: `" AND (#lease = :seen_lease OR attribute_exists(#lease))"`,
		},
		{
			name:    "swap-no-owner",
			without: "a takeover of what AWS Powertools wrote takes it from its new owner", file: expression,
			old: `"attribute_not_exists(#owner) AND `,
			new: `"(attribute_not_exists(#owner) OR attribute_exists(#owner)) AND `,
		},
		{
			name: "swap-no-lease", without: "so it does if there was no lease", file: expression,
			old: `" AND attribute_not_exists(#lease)"`,
			new: `" AND (attribute_not_exists(#lease) OR attribute_exists(#lease))"`,
		},
		{
			name: "swap-expiration", without: "two deliveries take over the same record of AWS Powertools", file: expression,
			old: `#expiration > :second_before AND #expiration <= :seen_expiration"`,
			new: `(#expiration > :second_before OR #expiration <= :seen_expiration)"`,
		},
		{
			name:    "swap-fraction",
			without: "a record of AWS Powertools with a fractional expiry is never taken over", file: expression,
			old:   "#expiration > :second_before AND",
			new:   "#expiration > :second_before AND #expiration = :seen_expiration AND",
			first: "Fractional",
		},
		{
			name: "delete-condition", without: "a delete does not compare anything", file: swap,
			old: "e.sameAs(s.attr, seen)\n\tvar a attempts",
			new: "e.sameAs(s.attr, seen)\n\te.condition = \"(\" + e.condition + \") OR attribute_exists(#status)\"\n\tvar a attempts",
		},
		{
			name: "delete-owner", model: "NO_DELETE_OWNER",
			without: "a stale owner releases what someone else owns", file: swap,
			old: "e.sameAs(s.attr, seen)\n\tvar a attempts",
			new: "e.sameAs(s.attr, seen)\n\te.condition += \" OR #status = :seen_status\"\n\tvar a attempts",
		},
		{
			name: "delete-status", without: "a release deletes a result", file: swap,
			old: "e.sameAs(s.attr, seen)\n\tvar a attempts",
			new: "e.sameAs(s.attr, seen)\n\te.condition = \"(\" + e.condition + \") OR #owner = :seen_owner\"\n\tvar a attempts",
		},
		{
			name: "lease-kept", without: "a write that leaves the lease alone takes it away", file: expression,
			old: "if !next.Lease.IsZero() && !next.Lease.Equal(seen.Lease) {", new: "if !next.Lease.Equal(seen.Lease) {",
		},
		{
			name:    "content-leftovers",
			without: "an encoding that was left over counts again under a new commit", file: expression,
			old:   `e.setOrRemove(a.encoding, c.encoding != "", textValue(c.encoding))`,
			new:   "if c.encoding != \"\" {\n\t\te.set(a.encoding, textValue(c.encoding))\n\t}",
			first: "Requests|Leftovers",
		},
		{
			name: "claim-old-item", without: "a refusal and the record that it shows are two moments", file: claim,
			old: "types.ReturnValuesOnConditionCheckFailureAllOld", new: "types.ReturnValuesOnConditionCheckFailureNone",
			first: "Requests",
		},
		{
			name: "swap-old-item", without: "the same of a swap", file: swap,
			old: "types.ReturnValuesOnConditionCheckFailureAllOld", new: "types.ReturnValuesOnConditionCheckFailureNone",
			first: "Requests",
		},
		{
			name: "refused-read", without: "a refusal without the record is an empty record", file: store,
			old: "held, _, err = s.get(ctx, op, key)", new: "err = nil",
			first: "SendsNoOldItem",
		},
		{
			name: "consistent-get", without: "a read shows what is no longer held", file: store,
			old: "ConsistentRead: aws.Bool(true),", new: "ConsistentRead: aws.Bool(false),",
			first: "Requests",
		},
		{
			name: "every-attempt", without: "a write that an earlier attempt applied counts as not applied", file: attempts,
			old: "return a.seen.Load() && a.open.Load() == 0", new: "return true",
			first: "Attempt",
		},
		{
			name: "attempts-seen", without: "a client that hides its attempts is believed", file: attempts,
			old: "return a.seen.Load() && a.open.Load() == 0", new: "return a.open.Load() == 0",
			first: "Attempt",
		},
		{
			name: "attempts-answered", without: "an attempt whose reply was lost counts as not applied", file: attempts,
			old: "if neverSent(err) || answeredNotApplied(err) {", new: "if err != nil {",
			first: "Attempt",
		},
		{
			name: "attempts-sent", without: "a server that cannot be reached leaves every write open", file: attempts,
			old: "if neverSent(err) || answeredNotApplied(err) {", new: "if answeredNotApplied(err) {",
			first: "Attempt|Failures|Errors",
		},
		{
			name: "attempts-server-error", without: "after a server error a write counts as not applied", file: attempts,
			old:   "code < http.StatusBadRequest || code >= http.StatusInternalServerError",
			new:   "code < http.StatusBadRequest",
			first: "Failures",
		},
		{
			name:    "attempts-known-code",
			without: "an answer of something in between counts as that of DynamoDB", file: attempts,
			old: "_, known := kindOfCode(errorCode(err))\n\treturn known", new: `return errorCode(err) != "-"`,
			first: "Failures",
		},
		{
			name: "attempts-of-delete", without: "a delete that was applied and asked again deleted nothing", file: swap,
			old: "refused && a.seen.Load() && a.open.Load() > 0", new: "refused && a.seen.Load() && a.open.Load() < 0",
			first: "Attempt",
		},
		{
			name: "attempts-of-read", without: "a refusal that cannot be read counts as not applied", file: store,
			old: "se.NotApplied = a.notApplied()", new: "_ = se",
			first: "Look|Attempt",
		},
		{
			name: "refused-type", without: "an error of another kind is read as a refusal", file: refused,
			old: "if string(begin[:n]) != refusedBegins {", new: "if n == 0 {",
			first: "Refusals",
		},
		{
			name: "refused-header", without: "an error whose kind the header says is read as what the body says", file: refused,
			old: ` || resp.Header.Get("X-Amzn-Errortype") != ""`, new: "",
			first: "Refusals",
		},
		{
			name: "refused-whole", without: "an answer that is read the usual way lacks its beginning", file: refused,
			old: "io.MultiReader(bytes.NewReader(begin[:n]), resp.Body)", new: "io.MultiReader(bytes.NewReader(nil), resp.Body)",
			first: "Refusals",
		},
		{
			name: "errors-private", without: "an error carries what was written", file: errors,
			old:   `case known && kind != idempotent.FailureRejected, quotesNothing(errorMessage(err)), code == "" && status(err) == 0:`,
			new:   `case code != "-" || known && kind == "":`,
			first: "Errors|Failures",
		},
	}
}
