package main

// transactionControls are the guards of commits on DynamoDB.
func transactionControls() []control {
	return []control{
		{
			name: "transaction-in-progress", without: "a transaction that is under way counts as not applied",
			old: "case $codeInProgress, codeMismatch: return false", new: "case $codeInProgress, codeMismatch: return true",
			first: "CancelledTransaction|Failures",
		},
		{
			name: "transaction-mismatch", without: "so does one whose token another request has used",
			old: "case $codeInProgress, codeMismatch: return false", new: "case codeMismatch: return true; case $codeInProgress: return false",
			first: "CancelledTransaction",
		},
		{
			name: "transaction-cancelled", without: "of a transaction that was cancelled nobody knows whether it was applied",
			old: "case codeCancelled: return true", new: "case codeCancelled: return false", first: "CancelledTransaction",
		},
		{
			name: "transaction-attempts", without: "a refused condition hides that an attempt before it may still be applied",
			old: "return &$Error{Op: $t.op, Kind: $kind, NotApplied: $t.attempts.notApplied(), Err: $err}",
			new: "return &$Error{Op: $t.op, Kind: $kind, NotApplied: true, Err: $err}", in: "transaction.error", first: "CancelledTransaction|BehindALost",
		},
		{
			name: "transaction-token", without: "each repetition of a commit is a transaction of its own",
			old: "$ClientRequestToken: $aws.String($token)", in: "Store.Commit",
			new: "$ClientRequestToken: nil", first: "CancelledTransaction",
		},
		{
			name: "transaction-record-first", without: "the condition of a row counts before the loss of the record",
			old:   "case $placed && $t.record != nil && $reasons[0].code == reasonCondition:",
			new:   "case $placed && $t.record != nil && $reasons[0].code == reasonCondition && $t.conditions($reasons[1:]) == nil:",
			first: "EveryReason|IsAnother",
		},
		{
			name: "transaction-conditions", without: "a conflict counts before a condition that does not hold",
			old: "if $refused := $t.conditions($reasons); $refused != nil {", new: "if $refused := $t.conditions($reasons); false {",
			first: "EveryReason",
		},
		{
			name: "transaction-placed", without: "the reason of one item is taken for that of another one",
			old:   "$placed := len($reasons) == len($t.in.TransactItems) && $slices.ContainsFunc($reasons, reason.failed)",
			new:   "$placed := len($reasons) > 0 && len($reasons) <= len($t.in.TransactItems) && $slices.ContainsFunc($reasons, reason.failed)",
			first: "AnswersThatLack",
		},
		{
			name: "transaction-unexplained", without: "a transaction that was cancelled for no known reason says nothing of a record that is lost",
			old: "if $err != nil || !$held.Matches($t.seen) { return $held, false, $err }", new: "if $err != nil { return $held, false, $err }",
			first: "AnswersThatLack",
		},
		{
			name: "transaction-own-record", without: "a commit sends a write of the record that it completes",
			old: "if $of.about($s.table, $key) {", new: "if $of.about($s.table, $key) && false {", first: "CannotCommit",
		},
		{
			name: "transaction-places", without: "rows in another Region than the record fail on the way",
			old: "return $w.checkPlaces($s.table)", new: `return $w.checkPlaces("")`, first: "CannotCommit",
		},
		{
			name: "transaction-size", without: "a transaction that is too large with the record fails on the way",
			old: "if $size := $record.size() + $own.size; $size > maxTransaction {", new: "if $size := $record.size() + $own.size; $size < 0 {",
			first: "CannotCommit",
		},
		{
			name: "transaction-told", without: "a rejection quotes values",
			old: "if begins($message, $expression) {", new: "if begins($message, $expression) { return true }; if begins($message, $expression) {",
			first: "Rejections",
		},
		{
			name: "transaction-reason-told", without: "so does the reason of an item",
			old: "case $r.is($FailureRejected) && !harmless($r.message):", new: "case false:", first: "EveryReason|Rejections",
		},
		{
			name: "transaction-unknown-reason-told", without: "so does a reason that nobody knows",
			old: "case !$slices.Contains([]string{reasonConflict, reasonCapacity, reasonThrottled, reasonInvalid, reasonTooLarge}, $r.code):",
			new: "case false:", first: "EveryReason",
		},
		{
			name: "check-strong", without: "nobody says that the table of records has no transactions",
			old: "if $c.commits && isStrong($out.Table) {", new: "if false {", in: "checker.checkRecords", first: "WithoutTransactions",
		},
		{
			name: "check-strong-commits", without: "a table of records is wrong for its want of transactions although nobody commits",
			old: "if $c.commits && isStrong($out.Table) {", new: "if isStrong($out.Table) {", in: "checker.checkRecords", first: "WithoutTransactions",
		},
		{
			name: "check-strong-rows", without: "nor that a table of rows has none",
			old: "if isStrong($out.Table) {", new: "if false {", in: "checker.checkCommitted", first: "WithoutTransactions",
		},
		{
			name: "check-place", without: "nor that it is in another account or Region",
			old: `$place != "" && $c.place != "" && $place != $c.place`, new: `$place == "-"`, first: "WithoutTransactions",
		},
	}
}

// itemControls are the guards of the items of a commit, before anything is sent.
func itemControls() []control {
	return []control{
		{
			name: "items-count", without: "a commit of more items than a transaction takes fails on the way",
			old: "if len($items) > MaxItems {", new: "if len($items) > MaxItems+1 {", first: "Together",
		},
		{
			name: "items-size", without: "so does one of more than 4 MB",
			old: "if $w.size > maxTransaction {", new: "if $w.size < 0 {", first: "Together",
		},
		{
			name: "items-distinct", without: "so does one with two writes of an item",
			old: "if $before, $is := $first[$identity]; $is {", new: "if $before, $is := $first[$identity]; $is && false {", in: "writes.checkDistinct", first: "Together",
		},
		{
			name: "items-put-key", without: "two puts of which the key is not known are taken for one item",
			old: "if len($other) == 0 || len($key) < len($other) {", new: "if false {", first: "Together",
		},
		{
			name: "items-places", without: "tables of two accounts are sent in one transaction",
			old: `case $here == "" || $here == $place:`, new: `case $here != "-":`, first: "Together|CannotCommit",
		},
		{
			name: "items-error", without: "an item that could not be made is written as it is",
			old: "if $it.Err != nil {", new: "if false {", in: "Item.write", first: "CannotBeWritten",
		},
		{
			name: "items-complete", without: "a value that is none brings a commit down",
			old: "if !complete($v) {", new: "if !complete($v) && false {", in: "write.check", first: "CannotBeWritten",
		},
		{
			name: "items-marshaler", without: "an error says what a value is that does not marshal",
			old: "case $err != nil: $m.problemf(\"%s: a %T does not marshal: a marshaler in it returned a %T\", $what, $v, $err)",
			new: "case $err != nil: $m.problemf(\"%s: a %T does not marshal: %v\", $what, $v, $err)", first: "CannotBeWritten",
		},
		{
			name: "items-name-taken", without: "the condition on an attribute means one that the user has named",
			old: "if !$taken && !$m.mentions($ref, $update) {", new: "if !$m.mentions($ref, $update) {", first: "Expressions",
		},
		{
			name: "items-name-mentioned", without: "a name that the user forgot to define means an attribute of another condition",
			old: "if !$taken && !$m.mentions($ref, $update) {", new: "if !$taken {", first: "Expressions",
		},
		{
			name: "items-parentheses", without: "a condition with OR weakens the other ones",
			old: "case len($m.conditions) > 1: $texts[$i] = inParentheses($c.expression)",
			new: "case len($m.conditions) > 1: $texts[$i] = $c.expression", first: "Expressions",
		},
		{
			name: "items-sdk-value", without: "a value of the SDK is written as a map with a member Value",
			old: "if $value, $ok := $v.(types.AttributeValue); $ok {", new: "if $value, $ok := $v.(types.AttributeValue); $ok && false {",
			first: "Rows",
		},
		{
			name: "items-copied", without: "a row changes after the item was made of it",
			old: "return $maps.Clone($it)", new: "_ = $maps.Clone($it); return $it", in: "itemMaker.marshalled", first: "Rows",
		},
		{
			name: "writes-lengths", without: "writes that differ have one digest",
			old: "return append(appendLength($b, len($s)), $s...)", new: "return append($b, $s...)", in: "appendText", first: "ReadBack",
		},
		{
			name: "writes-sorted", without: "writes have another digest each time",
			old: "slices.Sort($names); return $names", new: "return $names", in: "sortedNames", first: "ReadBack",
		},
	}
}
