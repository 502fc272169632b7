package main

// modelledMessageControls are the guards of messages that the model has beside those of the other controls.
func modelledMessageControls() []control {
	return []control{
		{
			name: "message-transaction", model: "NO_TRANSACTION", without: "a commit is made without its message",
			old: "$TransactItems: slices.Concat([]types.TransactWriteItem{{Update: $completes}}, $own.items)", in: "Store.Commit",
			new: "$TransactItems: []types.TransactWriteItem{{Update: $completes}}", first: "MessageIsWritten",
		},
		{
			name: "message-untried", model: "NO_PUT_TRIES", without: "the stream's filter keeps a new message back", first: "MessageIsWritten",
			old: "$d.CreatedAt, $d.Due, $d.Shard = $now, $now, shardOf($d.ID)",
			new: "$d.CreatedAt, $d.Due, $d.Shard, $d.Tries = $now, $now, shardOf($d.ID), 1",
		},
		{
			name: "message-listed", model: "NO_PUT_LISTED", without: "no drain finds a new message", first: "MessageIsWritten",
			old: "$d.CreatedAt, $d.Due, $d.Shard = $now, $now, shardOf($d.ID)", new: "$d.CreatedAt, $d.Due, $d.Shard = $now, $now, parkedShard",
		},
		{
			name: "relay-delivery-first", model: "NO_DELIVERY_FIRST", without: "a message is done before it is delivered",
			old: "$failure := $r.try($ctx, $e)", new: "_, _ = $r.box.Done($ctx, $e, $r.s.Now()); $failure := $r.try($ctx, $e)",
			in: "Relay.handedOver", first: "Stream|Times|CanNever",
		},
		{
			name: "relay-failure", model: "NO_FAILURE", without: "a message is done that was not delivered",
			old: "return $r.deliver($ctx, $e)", new: "_ = $r.deliver($ctx, $e); return nil", in: "Relay.try", first: "FiveTimes|CanNever",
		},
		{
			name: "relay-reported", model: "NO_REPORT", without: "a failure is acknowledged, and the stream does not bring the message back",
			old: "case Delivered, Marked, Elsewhere, PutOff, Parked: return false", new: "case Delivered, Marked, Elsewhere, PutOff, Parked, Failed: return false", first: "FiveTimes",
		},
		{
			name: "relay-unmarked", model: "NO_UNMARKED", without: "so is a delivery that could not be marked",
			old: "case Delivered, Marked, Elsewhere, PutOff, Parked: return false", new: "case Delivered, Marked, Elsewhere, PutOff, Parked, Unmarked: return false", first: "CouldNotMark",
		},
		{
			name: "box-done-owner", model: "NO_DONE_OWNER", without: "a delivery marks a later message with the same id",
			old: "pendingOfOwner()", new: anyOwner, in: "box.Done", first: "ItsOwnCommit",
		},
		{
			name: "box-done-due", model: "NO_DONE_CLEARS", without: "a message that was delivered stays due",
			old: `"SET done_at = :now, expiration = :expiration REMOVE outbox_due, outbox_shard, tries, parked_at"`,
			new: `"SET done_at = :now, expiration = :expiration REMOVE outbox_shard, tries, parked_at"`, first: "DeliversAndMarks",
		},
		{
			name: "box-failed-owner", model: "NO_FAILED_OWNER", without: "a failure counts for a later message with the same id",
			old: "pendingOfOwner()", new: anyOwner, in: "box.Failed", first: "ItsOwnCommit",
		},
		{
			name: "box-failed-pending", model: "NO_FAILED_PENDING", without: "a failure makes a message due that somebody else has delivered",
			old: "pendingOfOwner()", new: doneOrPending, in: "box.Failed", first: "ThatIsDone",
		},
		{
			name: "box-failed-count", model: "NO_COUNT", without: "failures are not counted, and reported for ever",
			old: "refOne: number(1)", new: "refOne: number(0)", in: "box.Failed", first: "FiveTimes",
		},
		{
			name: "box-park-owner", model: "NO_PARK_OWNER", without: "a failure for good parks a later message with the same id",
			old: "pendingOfOwner()", new: anyOwner, in: "box.Park", first: "ItsOwnCommit",
		},
		{
			name: "box-park-pending", model: "NO_PARK_PENDING", without: "a failure for good parks what somebody else has delivered",
			old: "pendingOfOwner()", new: doneOrPending, in: "box.Park", first: "ThatIsDone",
		},
		{
			name: "box-park-count", model: "NO_PARK_COUNT", without: "a message that is parked at once passes the stream's filter",
			old: "refOne: number(1)", new: "refOne: number(0)", in: "box.Park", first: "CanNever|ListedAndRedriven",
		},
		{
			name: "box-take-owner", model: "NO_TAKE_OWNER", without: "a drain takes a later message that is due at the same instant",
			old: `"#owner = :owner AND outbox_due = :seen AND outbox_shard <> :parked"`,
			new: `"(attribute_exists(id) OR #owner = :owner) AND outbox_due = :seen AND outbox_shard <> :parked"`, first: "AsItWasRead|ItsOwnCommit",
		},
		{
			name: "box-take-count", model: "NO_TAKE_COUNT", without: "a drain does not count its tries",
			old: "refOne: number(1)", new: "refOne: number(0)", in: "box.Take", first: "ThatGrowAndParks",
		},
		{
			name: "drain-taken", model: "NO_TAKEN", without: "a drain delivers what it could not take",
			old: "case !$taken: return $e, Elsewhere, nil", new: "case !$taken && len($e.ID) == 0: return $e, Elsewhere, nil", in: "Relay.drained", first: "AsItWasRead",
		},
		{
			name: "redrive-parked", model: "NO_REDRIVE_PARKED", without: "what was delivered since it was shown is redriven",
			old: `"#owner = :owner AND outbox_shard = :parked AND parked_at = :at"`,
			new: `"#owner = :owner AND (attribute_exists(id) OR outbox_shard = :parked AND parked_at = :at)"`, first: "WhatWasShown|ListedAndRedriven",
		},
	}
}

// What the condition of a write to a message is without its guards.
const (
	anyOwner      = `"attribute_exists(outbox_due) AND (attribute_exists(#owner) OR #owner = :owner)"`
	doneOrPending = `"#owner = :owner"`
)
