package main

// outboxControls are the guards of messages: how they are made, delivered and marked.
func outboxControls() []control {
	return []control{
		{
			name: "put-keys-known", without: "two messages of one name fail at DynamoDB, with a text that names neither",
			old: "$w.rowKey, $err = $w.keyIn($it.key)", new: "", first: "NoTransactionTakes",
		},
		{
			name: "message-owner", without: "the message of a commit does not say which commit it has left with",
			old: "$d.ID, $d.Owner = $claim.DerivedKey($name), $claim.Owner", new: "$d.ID = $claim.DerivedKey($name)", first: "MessageIsWritten",
		},
		{
			name: "message-context", without: "a message outside of a delivery gets an id of its own each time",
			old:   `default: $d.problemf("the context belongs to no delivery, so nothing can be committed: pass on the one that the handler was given"); return`,
			new:   "default: $d.ID = execution.RandomKey()",
			in:    "draft.setKey",
			first: "SaysWhatIsWrong",
		},
		{
			name: "message-bytes", without: "a body of bytes becomes base64",
			old: "if _, $is := $body.([]byte); $is {", new: "if _, $is := $body.([]byte); $is && false {", first: "SaysWhatIsWrong",
		},
		{
			name: "message-html", without: "a body is escaped for HTML",
			old: "$encoder.SetEscapeHTML(false)", in: "draft.setBody", new: "", first: "MessageIsWritten",
		},
		{
			name: "box-owner", without: "the delivery of a message marks that of a later commit with the same id",
			old: `"#owner = :owner AND attribute_exists(outbox_due)"`, new: `"attribute_exists(outbox_due) AND (attribute_exists(#owner) OR #owner = :owner)"`,
			first: "ItsOwnCommit",
		},
		{
			name: "box-pending", without: "a failure makes a message pending that somebody else has delivered",
			old: `"#owner = :owner AND attribute_exists(outbox_due)"`, new: `"#owner = :owner"`, first: "ThatIsDone",
		},
		{
			name: "box-take-due", model: "NO_TAKE_DUE", without: "a drain delivers what another one has taken",
			old: `"#owner = :owner AND outbox_due = :seen AND outbox_shard <> :parked"`,
			new: `"#owner = :owner AND (attribute_exists(id) OR outbox_due = :seen) AND outbox_shard <> :parked"`, first: "AsItWasRead",
		},
		{
			name: "box-take-parked", model: "NO_TAKE_PARKED", without: "a drain delivers what was parked since it has read it",
			old: `"#owner = :owner AND outbox_due = :seen AND outbox_shard <> :parked"`,
			new: `"#owner = :owner AND outbox_due = :seen AND (attribute_exists(id) OR outbox_shard <> :parked)"`, first: "AsItWasRead",
		},
		{
			name: "relay-known-done", without: "what a stream repeats is delivered again by the same process",
			old: "case $known == done || $known == leftToOthers: return $e, Elsewhere, nil",
			new: "case $known == leftToOthers: return $e, Elsewhere, nil", first: "DeliversAndMarks",
		},
		{
			name: "relay-known-delivered", model: "NO_KNOWN", without: "a message that could not be marked is delivered again by the same process",
			old: "case $known == delivered: return $r.mark($ctx, $e, Marked)", new: "", first: "CouldNotMark",
		},
		{
			name: "relay-late", without: "a delivery begins that the invocation does not see the end of",
			old: "case $r.Late($ctx): return $e, NotBegun, $ctx.Err()", in: "Relay.handedOver", new: "", first: "BeginsNothing",
		},
		{
			name: "relay-reserve", without: "a delivery lasts until there is no time left to mark it",
			old: "$limit = min($limit, $time.Until($deadline)-$r.s.Reserve)", new: "$limit = min($limit, $time.Until($deadline))", first: "InTimeToMark",
		},
		{
			name: "relay-panic", without: "a delivery that panics ends the process, and holds up the stream",
			old: "if $value := recover(); $value != nil { $err = &PanicError{Value: $value, Stack: $debug.Stack()} }", new: "", first: "Panic",
			in: "deliverEntry",
		},
		{
			name: "relay-uncounted", model: "NO_UNCOUNTED", without: "a failure that could not be counted is acknowledged, and no stream brings the message back",
			old: "case $err != nil: return $e, Uncounted, $errors.Join($failure, $err)", in: "Relay.handedOver",
			new: "case $err != nil: return $e, PutOff, $errors.Join($failure, $err)", first: "CouldNotCount",
		},
		{
			name: "relay-unparked", without: "a message that could not be parked is acknowledged",
			old: "case $err != nil: return $e, Uncounted, $errors.Join($failure, $err)", in: "Relay.park",
			new: "case $err != nil: return $e, Parked, $errors.Join($failure, $err)", first: "CouldNotCount",
		},
		{
			name: "relay-put-off", model: "NO_PUT_OFF", without: "a message that always fails holds up its shard",
			old: "case $tries > $r.s.Reports: return $e, PutOff, $failure", new: "", first: "FiveTimes",
		},
		{
			name: "relay-permanent", model: "NO_PERMANENT", without: "what can never be delivered is tried again and again",
			old: "case permanent($failure): return $r.park($ctx, $e, $failure)", new: "", first: "CanNever",
		},
		{
			name: "relay-twice", without: "what is twice in an event is delivered twice",
			old: "if _, $twice := $first[$e.generation()]; $twice { continue }", new: "_ = $first", first: "TwiceInAnEvent",
		},
		{
			name: "drain-grace", without: "a drain takes what the stream is about to deliver",
			old: "return !$r.s.Now().Before($at.Add($r.s.Grace))", new: "return !$r.s.Now().Before($at)", first: "WhatIsDue",
		},
		{
			name: "drain-used-up", model: "NO_USED_UP", without: "a message that kills its process is delivered for ever",
			old: "if $e.Tries >= $r.s.MaxTries {", in: "Relay.drained", new: "if $e.Tries >= $r.s.MaxTries && false {", first: "KillsItsProcess",
		},
		{
			name: "drain-late-list", without: "a drain delivers what the index still lists",
			old: "if !$pending || $e.Parked || !$r.due($e.Due) {", new: "if !$pending {", first: "ListIsLate",
		},
		{
			name: "drain-last-try", without: "a message that has failed as often as it may is tried once more",
			old: "case permanent($failure) || $e.Tries >= $r.s.MaxTries:", new: "case permanent($failure):", first: "ThatGrowAndParks",
		},
		{
			name: "drain-no-time", without: "a drain takes and counts what it has no time for",
			old: "if $r.Late($ctx) { return }", in: "Relay.found", new: "", first: "ItsTurnTooLong",
		},
		{
			name: "relay-too-short", without: "a function whose timeout is too short delivers nothing, and does not say why",
			old: "if len($entries) > 0 && $r.relay.Late($ctx) {", new: "if len($entries) > 0 && $r.relay.Late($ctx) && false {", first: "TooShort",
		},
		{
			name: "stream-table", without: "a relay delivers what is in a table that is none of its own",
			old: `if $source := $record.EventSourceArn; $source != "" && !$r.isOf($source) {`,
			new: `if $source := $record.EventSourceArn; $source != "" && !$r.isOf($source) && false {`, first: "AnotherTable",
		},
		{
			name: "stream-tries", model: "NO_FILTER", without: "a mark of a failure is delivered",
			old: "case $e.Tries > 0: $report.Skipped++", new: "", first: "AsksForNothing",
		},
		{
			name: "box-consistent", without: "a drain delivers what it has an old copy of",
			old: "ConsistentRead: aws.Bool(true),", in: "box.read", new: "ConsistentRead: aws.Bool(false),", first: "ReadsAsItIs",
		},
		{
			name: "box-park-tries", model: "NO_PARK_TRIES", without: "a message that was redriven is parked by a failure before that",
			old: "if $e.Tries > 0 {", in: "box.Park", new: "if $e.Tries > 0 && false {", first: "ParkedByAnOldFailure",
		},
		{
			name: "relay-left", without: "what was put off is tried and counted again whenever the stream repeats its batch",
			old: "case $known == done || $known == leftToOthers: return $e, Elsewhere, nil", new: "case $known == done: return $e, Elsewhere, nil",
			first: "FiveTimes",
		},
		{
			name: "relay-left-due", without: "a message that was redriven is taken for the one that was parked",
			old: "if $k.state == leftToOthers && !$k.due.Equal($due) {", new: "if $k.state == leftToOthers && false {", first: "RedrivenAtOnce",
		},
		{
			name: "relay-goexit", without: "a deliverer that ends its goroutine has delivered the message",
			old: "$outcomes[$i] = Uncounted", new: "$outcomes[$i] = Elsewhere", first: "EndsItsGoroutine",
		},
		{
			name: "message-size", without: "a message leaves no room to count its tries in its item",
			old: "if $size > maxMessage {", new: "if $size > maxMessage + 1024 {", first: "LargestMessage",
		},
		{
			name: "index-foreign", without: "a row that is no message keeps its shard from being drained",
			old: "if attributevalue.UnmarshalMap($it, &$entry) != nil { $foreign++; continue }",
			new: `if err := attributevalue.UnmarshalMap($it, &$entry); err != nil { return nil, 0, "", err }`, first: "PassesBy",
		},
		{
			name: "drain-counts-in-time", without: "a drain counts until its invocation is over, and reports nothing",
			old: "case $ctx.Err() != nil: $c.partial = true; return $n, nil", new: "", first: "CountedInTime",
		},
		{
			name: "redrive-shown", model: "NO_REDRIVE_OWNER", without: "a message of a later commit is redriven for the one that was shown",
			old: `"#owner = :owner AND outbox_shard = :parked AND parked_at = :at"`,
			new: `"(attribute_exists(id) OR #owner = :owner) AND outbox_shard = :parked AND parked_at = :at"`, first: "WhatWasShown",
		},
		{
			name: "redrive-parked-again", without: "a message that was parked again is redriven for the first time's reason",
			old: `"#owner = :owner AND outbox_shard = :parked AND parked_at = :at"`,
			new: `"#owner = :owner AND outbox_shard = :parked AND (attribute_exists(id) OR parked_at = :at)"`, first: "WhatWasShown",
		},
		{
			name: "redrive-tries", model: "NO_REDRIVE_TRIES", without: "a message that was redriven does not pass the stream's filter",
			old: `"redriven_reason = :why REMOVE tries, parked_at"`, new: `"redriven_reason = :why REMOVE parked_at"`, first: "ListedAndRedriven",
		},
	}
}
