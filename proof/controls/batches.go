package main

// scheduleControls are the guards of batches that every schedule of proof/consumers is about, beside those of batchControls.
func scheduleControls() []control {
	schedules := []string{"./proof/consumers"}
	return []control{
		{
			name: "batches-in-progress", without: "a function takes for poison what another invocation executes, and it is acknowledged",
			old: "case $errors.Is($err, $idempotent.ErrInProgress), $errors.Is($err, $idempotent.ErrSuperseded): return InProgress",
			new: "case $errors.Is($err, $idempotent.ErrInProgress), $errors.Is($err, $idempotent.ErrSuperseded): return Poison", suite: schedules,
		},
		{
			name: "batches-panic", without: "a panic is a success", in: "batch.handle",
			old: "$outcome := Panicked", new: "$outcome := Succeeded", suite: schedules,
		},
		{
			name: "batches-function-panic", without: "a record is lost whose function has panicked", in: "batch.hand",
			old: "$fault != nil { return $fault }", new: "$fault != nil { return nil }", suite: schedules,
		},
		{
			name: "batches-missing-key", without: "a record without a key blocks its group for ever, although a function takes poison",
			old: "case *$idempotent.MissingKeyError: $operation = $e.Operation", new: `case *$idempotent.MissingKeyError: $operation = $e.Operation + "-"`,
			suite: schedules,
		},
		{
			name: "batches-mismatch", without: "the record of another order with the key of one comes again for ever, although a function takes poison",
			old: "case *$idempotent.MismatchError: $operation = $e.Operation", new: `case *$idempotent.MismatchError: $operation = $e.Operation + "-"`,
			suite: schedules,
		},
		{
			name: "batches-one-number", without: "the answer for a stream names every failure", in: "lowest",
			old: "return []string{$first}", new: "_ = $first; return numbers", suite: schedules,
		},
		{
			name: "batches-fifo-group", without: "the messages of a group of a FIFO queue run at the same time",
			old: `$all[$i].group = "group " + $m.Attributes["MessageGroupId"]`, new: `$all[$i].group = ""`, suite: schedules,
		},
		{
			name: "batches-partition", without: "the records of a partition key run at the same time",
			old: `group: "key " + $r.Kinesis.PartitionKey`, new: `group: ""`, suite: schedules,
		},
		{
			name: "batches-item", without: "the changes of an item run at the same time",
			old: `group: "item " + string($keys)`, new: `group: string($keys[:0])`, suite: schedules,
		},
		{
			name: "batches-late-copy", without: "a copy is begun too late that has waited for the other one", in: "batch.one",
			old: "$t.wait() defer $t.leave() if $b.late($ctx) { return end{outcome: NotBegun, again: true} }",
			new: "defer $t.leave(); if $b.late($ctx) { return end{outcome: NotBegun, again: true} }; $t.wait()", suite: schedules,
		},
	}
}
