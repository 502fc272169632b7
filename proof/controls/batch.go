package main

// batchControls are the guards of batches of records, and of the keys that records have by themselves.
func batchControls() []control {
	return []control{
		{
			name: "batch-list", without: "an answer without failures is null",
			old: "$events.SQSEventResponse{BatchItemFailures: []$events.SQSBatchItemFailure{}}", new: "$events.SQSEventResponse{}", in: "SQS",
			first: "EmptyEvent",
		},
		{
			name: "batch-identifier", without: "an answer has an empty identifier, which is the failure of the whole batch",
			old: `if $rec.id == "" {`, new: `if $rec.id == "none" {`, first: "WithoutAnID",
		},
		{
			name: "batch-named-once", without: "a message that is in a batch twice is named twice",
			old: "if $id := $b.records[$i].id; $e.again && !$named[$id] {", new: "if $id := $b.records[$i].id; $e.again {", first: "InABatchTwice",
		},
		{
			name: "batch-copies", without: "a message that is in a batch twice fails, and runs again at once",
			old: "if $original, $twice := $first[$rec.id]; $twice && $b.source == sourceSQS {", new: "if $original, $twice := $first[$rec.id]; $twice && $original < 0 {",
			first: "InABatchTwice",
		},
		{
			name: "batch-one-key", without: "of two messages of one order in a batch the second is refused, because the first one runs",
			old: "$t.wait() defer $t.leave()", new: "defer $t.leave()", first: "WithOneKey",
		},
		{
			name: "batch-group", without: "the records of a group run at the same time",
			old: `case $rec.group == "" || !$known:`, new: `case $rec.group != "" || !$known:`, first: "StayInOrder",
		},
		{
			name: "batch-stop", without: "a group goes on behind a failure",
			old: `$stopped[$group] = $b.ends[$i].again && $group != ""`, new: `_ = $stopped[$group] && $group != ""`, first: "StayInOrder",
		},
		{
			name: "batch-stop-standard", without: "one at a time, a failure of a standard queue holds up all messages",
			old: `$stopped[$group] = $b.ends[$i].again && $group != ""`, new: `$stopped[$group] = $b.ends[$i].again`, first: "OneAtATime",
		},
		{
			name: "batch-event-order", without: "one at a time, the groups run one after the other, and not in the order of the event",
			old: "case $b.c.concurrency == 1 && len($lanes) > 0:", new: "case $b.c.concurrency == 0 && len($lanes) > 0:", first: "OneAtATime",
		},
		{
			name: "batch-behind", without: "what is behind a failure in its group is acknowledged without having run",
			old: "if $stopped[$group] { $b.ends[$i] = end{outcome: NotBegun, again: true}", new: "if $stopped[$group] { $b.ends[$i] = end{outcome: NotBegun}", first: "StayInOrder",
		},
		{
			name: "batch-fifo", without: "a fair queue is taken for a FIFO queue, and its messages wait for each other",
			old: `return $strings.HasSuffix($m.EventSourceARN, ".fifo") || $m.EventSourceARN == "" && $m.Attributes["SequenceNumber"] != ""`,
			new: `return $m.Attributes["MessageGroupId"] != "" || $strings.HasSuffix($m.EventSourceARN, ".fifo")`, first: "ToldByItsName",
		},
		{
			name: "batch-lowest", without: "a stream goes on behind a record that has failed",
			old: "if compareNumbers($n, $first) < 0 {", new: "if compareNumbers($n, $first) > 0 {", first: "LowestFailure",
		},
		{
			name: "batch-number", without: "sequence numbers are compared as texts",
			old: "$cmp.Or($cmp.Compare(len($a), len($b)), $strings.Compare($a, $b))", new: "$cmp.Or($strings.Compare($a, $b), 0)", in: "compareNumbers",
			first: "LowestNumber",
		},
		{
			name: "batch-number-zeros", without: "a sequence number with zeros in front counts as a larger one",
			old: `$a, $b = $strings.TrimLeft($a, "0"), $strings.TrimLeft($b, "0")`, new: "_ = $strings.TrimLeft", first: "LowestNumber",
		},
		{
			name: "batch-slots", without: "all records of a batch run at once, whatever the limit",
			old: "$slots := make(chan struct{}, $b.c.concurrency)", new: "$slots := make(chan struct{}, len($b.records)+1)", first: "UpToALimit",
		},
		{
			name: "batch-late", without: "a record is begun that the timeout of the function ends",
			old: "if $b.late($ctx) { return end{outcome: NotBegun, again: true} }", new: "", first: "NearTheDeadline",
		},
		{
			name: "batch-ended", without: "records are begun after the invocation has ended",
			old: "if $ctx.Err() != nil { return true }", new: "", in: "batch.lateIn", first: "InvocationHasEnded",
		},
		{
			name: "batch-slowest", without: "a record is begun for which there is no time, by what the others took",
			old: "max($b.c.reserve, $time.Duration($b.slowest.Load()))", new: "max($b.c.reserve, $time.Duration(0*$b.slowest.Load()))", first: "NearTheDeadline",
		},
		{
			name: "batch-first-late", without: "a function with too short a timeout does nothing, and nobody notices",
			old: "if len($b.records) > 0 && $b.late($ctx) {", new: "if len($b.records) < 0 && $b.late($ctx) {", first: "WithoutTime",
		},
		{
			name: "batch-nothing-late", without: "an empty event fails if there is no time",
			old: "if len($b.records) > 0 && $b.late($ctx) {", new: "if $b.late($ctx) {", first: "WithoutTime",
		},
		{
			name: "batch-marks", without: "a final failure comes again, because its mark has been removed",
			old: "$b.handler.Handle($execution.Unprotected($ctx, nil), $rec.event)", new: "$b.handler.Handle($ctx, $rec.event)", first: "FinalFailureIsAcknowledged",
		},
		{
			name: "batch-stripped", without: "the functions of a batch get the error with its mark, and not the handler's own",
			old: "$outcome, $fault = $b.outcomeOf($err), $execution.Stripped($err)", new: "$outcome, $fault = $b.outcomeOf($err), $err; _ = $execution.Stripped",
			first: "FunctionOfFinalFailures",
		},
		{
			name: "batch-slow-waits", without: "time that was spent in waiting for another execution keeps the records behind from being begun",
			old: "if $outcome != InProgress { $b.tookAtLeast($time.Since($began)) }", new: "$b.tookAtLeast($time.Since($began))", first: "HowSlow",
		},
		{
			name: "batch-inner", without: "what is wrong inside of a handler, and may pass, is acknowledged as poison",
			old: "return $operation == $b.handler.Operation()", new: `return $operation != ""`, first: "InnerHandler",
		},
		{
			name: "batch-observer", without: "a panic of an observer lets each batch come again",
			old: "if $fault := guarded(func() { $observe($ctx, $report) }); $fault != nil {", new: "var $fault error; $observe($ctx, $report); if $fault != nil {",
			first: "OfAnObserver",
		},
		{
			name: "batch-item-keys", without: "an item without a readable key ends the whole batch",
			old: "if guarded(func() { $keys, _ = $json.Marshal($r.Change.Keys) }) != nil { $keys = nil }", new: "$keys, _ = $json.Marshal($r.Change.Keys)", first: "ItemWithoutKeys",
		},
		{
			name: "batch-terminal", without: "a final failure comes again",
			old: "case $execution.MarkOf($err) == $execution.Terminal:", new: "case $execution.MarkOf($err) == $execution.Terminal && false:",
			in: "batch.outcomeOf", first: "FinalFailureIsAcknowledged",
		},
		{
			name: "batch-terminal-taken", without: "a final failure that its function has not taken is lost",
			old: "$e.again = $e.functionErr != nil", new: "$e.again = false", first: "OnceItsFunctionHasTakenIt",
		},
		{
			name: "batch-poison-taken", without: "poison that its function has not taken is lost",
			old: "$e.again = $b.poison == nil || $e.functionErr != nil", new: "$e.again = $b.poison == nil", first: "OnceItsFunctionHasTakenIt",
		},
		{
			name: "batch-poison-kept", without: "poison is acknowledged although nobody takes it",
			old: "$e.again = $b.poison == nil || $e.functionErr != nil", new: "$e.again = $e.functionErr != nil", first: "PoisonComesAgain",
		},
		{
			name: "batch-function-panic", without: "a panic of a function of the configuration ends the whole batch",
			old: "if $fault := guarded(func() { $err = $take($ctx, $rec.event, $failure) }); $fault != nil { return $fault }",
			new: "$err = $take($ctx, $rec.event, $failure)", first: "TestAFinalFailureIsAcknowledgedOnceItsFunctionHasTakenIt",
		},
		{
			name: "batch-panic", without: "the panic of one record is that of the whole batch",
			old: "if $value := recover(); $value != nil || !$returned {", new: "if $value := any(nil); $value != nil || !$returned {", first: "APanicIsThat",
		},
		{
			name: "batch-goexit", without: "a handler that ends its goroutine has succeeded",
			old: "if $value := recover(); $value != nil || !$returned {", new: "if $value := recover(); $value != nil || $returned && false {", first: "APanicIsThat",
		},
		{
			name: "batch-key-panic", without: "the panic of a function of the key is that of the whole batch",
			old: "if $fault := guarded(func() { $key = $b.keyOf($ctx, $rec) }); $fault != nil { return turn{fault: $fault} }",
			new: "$key = $b.keyOf($ctx, $rec)", first: "FunctionOfTheKey",
		},
		{
			name: "batch-visibility-group", without: "the messages behind one in progress keep it from coming again",
			old: "$b.setVisibility($ctx, $i, $lane[$at+1:])", new: "$b.setVisibility($ctx, $i, $lane[$at+1:$at+1])", first: "ComeAgainWithIt",
		},
		{
			name: "batch-visibility-others", without: "the messages of other groups are set aside, too",
			old: `$group := $b.records[$i].group; $is && ($i == $first || $group != "" && $group == $b.records[$first].group)`,
			new: `$group := $b.records[$i].group; $is && ($i == $first || $group != "s" || $group == $b.records[$first].group)`, first: "OtherGroups",
		},
		{
			name: "batch-visibility-failed", without: "each failure comes again at once",
			old: "if $b.ends[$i].again && $b.ends[$i].outcome == InProgress {", new: "if $b.ends[$i].again && $b.ends[$i].outcome != NotBegun {", first: "EveryOtherFailure",
		},
		{
			name: "batch-wait", without: "a stream uses up its retries while a lease ends",
			old: "if $b.source != sourceSQS { $b.waitForLeases($ctx) }", new: "if $b.source == \"\" { $b.waitForLeases($ctx) }", first: "WaitsForTheEnd",
		},
		{
			name: "batch-wait-queue", without: "a queue waits for a lease, in a function that is paid for its time",
			old: "if $b.source != sourceSQS { $b.waitForLeases($ctx) }", new: "$b.waitForLeases($ctx)", first: "ComesAgainWhenItsLease",
		},
		{
			name: "batch-wait-deadline", without: "a record is tried again although there is no time for it",
			old: "if $rest := $time.Until($e.until); $e.outcome == InProgress && !$b.lateIn($ctx, $rest) {", new: "if $rest := $time.Until($e.until); $e.outcome == InProgress {",
			first: "WaitsForTheEnd",
		},
		{
			name: "batch-wait-group", without: "behind a record that was tried again the rest of its group does not run",
			old: "if $b.records[$i].group == $b.records[$first].group {", new: "if $i == $first && $b.records[$i].group == $b.records[$first].group {", first: "WaitsForTheEnd|RestOfItsGroup",
		},
		{
			name: "batch-hold", without: "the retries of a stream are over before the lease of a process is that has died",
			old: "if $e.outcome == InProgress { $longest = max($longest, $time.Until($e.until)) }", new: "_ = $e", first: "WaitsForTheEnd",
		},
		{
			name: "batch-hold-deadline", without: "the answer for a stream waits for a lease beyond the timeout of the function",
			old: "$longest = min($longest, $time.Until($deadline)-$b.c.reserve)", new: "$longest = min($longest, $time.Until($deadline)+0*$b.c.reserve)", first: "WaitsForTheEnd",
		},
		{
			name: "batch-one-number", without: "records of a stream that were sent together are acknowledged without having run, but for the first",
			old: "if $original, $twice := $first[$rec.id]; $twice && $b.source == sourceSQS {", new: "if $original, $twice := $first[$rec.id]; $twice {",
			first: "WithOneSequenceNumber",
		},
		{
			name: "batch-body-null", without: "a body that is null becomes an order of nothing",
			old: `case string($text) == "null":`, new: `case string($text) == "nil":`, first: "NoneOfTheHandlers",
		},
		{
			name: "batch-body-poison", without: "a body that does not decode is no poison",
			old: "case *BodyError: return true", new: "case *BodyError: return false", first: "NoneOfTheHandlers",
		},
		{
			name: "batch-body-executed", without: "a body that does not decode makes the record UNKNOWN, where failures do",
			old: "return $none, $idempotent.NotExecuted($err)", new: "return $none, $err", in: "JSON", first: "NothingHasHappened",
		},
		{
			name: "batch-body-secret", without: "the error of a decoder quotes the body",
			old: `$wrong.Reason = $fmt.Sprintf("a decoder refused it with a %T", $err)`, new: "$wrong.Reason = $fmt.Sprint($err)", first: "DecoderOfTheUsers",
		},
		{
			name: "batch-problems", without: "a report grows with its batch",
			old: `$e.outcome != "" && len($report.Problems) < maxProblems {`, new: `$e.outcome != "" {`, first: "HundredProblems",
		},
		{
			name: "batchsqs-queue", without: "receipts are sent to another queue",
			old: "if $err := sameQueue($queueURL, $messages); $err != nil { return $err }", new: "_ = sameQueue", first: "AnotherQueue",
		},
		{
			name: "batchsqs-rounded", without: "a message comes again a little before the end of the lease, and uses up a receive",
			old: "(min($after, $longest) + $time.Second - 1) / $time.Second", new: "min($after, $longest) / $time.Second", first: "TenAtATime",
		},
		{
			name: "batchsqs-longest", without: "SQS refuses a time that is longer than it can be",
			old: "(min($after, $longest) + $time.Second - 1) / $time.Second", new: "($after + 0*$longest + $time.Second - 1) / $time.Second", first: "HalfADay",
		},
		{
			name: "batchsqs-failed", without: "a message whose visibility was not changed is not reported",
			old: "if len($out.Failed) > 0 {", new: "if len($out.Failed) < 0 {", first: "DoesNotTake",
		},
		{
			name: "record-key-content", without: "the same order next week is taken for a copy, because SQS made its deduplication id of the body",
			old: `if $sum := $sha256.Sum256([]byte($m.Body)); $id == "" || $id == $hex.EncodeToString($sum[:]) {`,
			new: `if $sum := $sha256.Sum256([]byte($m.Body)); $id == "" || $id == "x"+$hex.EncodeToString($sum[:]) {`, first: "TheKeyOfAFIFO",
		},
		{
			name: "record-key-group", without: "messages of two groups are taken for copies",
			old: `together($m.EventSourceARN, $m.Attributes["MessageGroupId"], $id)`, new: `together($m.EventSourceARN, $id)`, first: "TheKeyOfAFIFO",
		},
		{
			name: "record-key-queue", without: "messages of two queues are taken for copies",
			old: `together($m.EventSourceARN, $m.Attributes["MessageGroupId"], $id)`, new: `together($m.Attributes["MessageGroupId"], $id)`, first: "TheKeyOfAFIFO",
		},
		{
			name: "record-key-stream", without: "records of two streams are taken for copies",
			old: "together($stream, $r.EventID)", new: `together($stream[:0], $r.EventID)`, first: "RecordOfAStream",
		},
		{
			name: "record-key-fan-out", without: "a record is executed again, because its mapping has become a consumer of its own",
			old: `$stream, _, _ := $strings.Cut($r.EventSourceArn, "/consumer/")`, new: `$stream, _, _ := $strings.Cut($r.EventSourceArn, "/none/")`, first: "RecordOfAStream",
		},
		{
			name: "record-key-lengths", without: "a client chooses a group and an id that are written as others are",
			old: "$b.WriteString($strconv.Itoa(len($part))) $b.WriteByte(':')", new: "_ = $strconv.Itoa", in: "together", first: "TheKeyOfAFIFO",
		},
		{
			name: "record-key-nil", without: "an event without a message panics",
			old: "if $r := any($in).(*$T); $r != nil { return $key(*$r), nil }", new: "return $key(*any($in).(*$T)), nil", in: "keyFrom", first: "WithoutAnID",
		},
		{
			name: "record-key-powertools", without: "with records of AWS Powertools the receipt handle of a message is part of its key",
			old: "if $c.shared == nil { $f.key = $own } else {", new: "if $c.shared == nil { $f.key = $own } else if false {", first: "SharedWithAWSPowertools",
		},
		{
			name: "batch-list-refused", without: "a list of records, as a pipe sends it, is wrapped with one key",
			old: "if $record := recordOf($event); $record != nil { return $record }\n\tif $event.Kind() != $reflect.Struct", new: "if $event.Kind() != $reflect.Struct", in: "recordIn", first: "WholeBatch|InATypeOfTheUser",
		},
		{
			name: "batch-embedded-refused", without: "a batch that is embedded in a type of the user's is wrapped with one key",
			old: "case $f.Anonymous && elemOf($f.Type).Kind() == $reflect.Struct:", new: "case $f.Anonymous && elemOf($f.Type).Kind() == $reflect.Chan:",
			in: "recordIn", first: "InATypeOfTheUser",
		},
		{
			name: "batch-job-allowed", without: "a job that has messages among other things cannot be wrapped",
			old: `case $ofEvents || $f.Name == "Records":`, new: `case $ofEvents || $f.Name != "":`, first: "WholeBatch",
		},
	}
}
