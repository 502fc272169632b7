package main

import "slices"

// stepControls are the guards of the steps of records, in the contract of stores and in DynamoDB, and of what is told of steps.
func stepControls() []control {
	return slices.Concat(heldStepControls(), storedStepControls(), memoryStepControls(), modelledStepControls(), toldStepControls())
}

// heldStepControls are what the contract says of a held record, by which memory compares and merges.
func heldStepControls() []control {
	return []control{
		{
			name: "match-reason", without: "a record that was released since is taken over a second time",
			old: "case $r.Status == $StatusInProgress && $r.Reason != $seen.Reason: return false;", new: "",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "match-reason-in-progress", without: "an UNKNOWN record whose reason was not seen cannot be settled",
			old:   "case $r.Status == $StatusInProgress && $r.Reason != $seen.Reason:",
			new:   "case $r.Reason != $seen.Reason:",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "match-steps", model: "NO_DELETE_STEPS", without: "a release deletes a step that was recorded since",
			old:   "case $r.Status != $StatusCompleted && $seen.StepWrites != AnyStepWrites && $r.StepWrites != $seen.StepWrites: return false;",
			new:   "",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "match-steps-any", without: "an owner has to know how often it wrote steps",
			old: "&& $seen.StepWrites != AnyStepWrites", new: "",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "match-steps-completed", without: "a result cannot be deleted by who saw it before its steps were dropped",
			old: "case $r.Status != $StatusCompleted && $seen.StepWrites != AnyStepWrites && $r.StepWrites != $seen.StepWrites:",
			new: "case $seen.StepWrites != AnyStepWrites && $r.StepWrites != $seen.StepWrites:", suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "merged-completed", without: "a replay carries the steps of its execution",
			old: "if $next.Status == $StatusCompleted { return nil, 0, true }", new: "",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "merged-start", model: "NO_MARK_ABSENT", without: "a late start mark wipes the result of its step",
			old: "$has && $s.Kind == $StepStarted {", new: "false && $has && $s.Kind == $StepStarted {",
			in: "Record.Merged", suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "merged-removes", without: "a start mark whose effect has not begun stays for ever",
			old: `if $s.Kind == "" { delete($steps, $name) } else { $steps[$name] = $s }`, new: "$steps[$name] = $s",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "merged-held", without: "a step replaces all others",
			old: "maps.Copy($steps, $r.Steps)", new: "",
			in: "Record.Merged", suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "merged-counts", without: "nobody sees that another step was recorded",
			old: "return $steps, $r.StepWrites + 1, true", new: "return $steps, $r.StepWrites, true",
			suite: []string{"./memory"}, first: "TestStoreKeepsTheContract",
		},
		{
			name: "hands-over-completed", without: "a completion by a takeover reads the result that it has just written",
			old: "$r.Owner != $next.Owner && $next.Status != $StatusCompleted", new: "$r.Owner != $next.Owner",
			suite: []string{"./dynamo"}, first: "Requests",
		},
	}
}

func memoryStepControls() []control {
	return []control{
		{
			name: "memory-hands-over", without: "a takeover does not see the last step of the owner before",
			old: "if !$seen.HandsOver($next) { return store.Record{}, true }; return $next, true",
			new: "return store.Record{}, true", first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-merged", without: "a start mark is written where the step is held",
			old: "|| !$merged {", new: "|| false && !$merged {", in: "swap", first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-steps", without: "a Swap forgets the steps that it does not change",
			old: "$next.Steps, $next.StepWrites = $steps, $writes", new: "_, _ = $steps, $writes",
			in: "swap", first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-steps-copied", without: "what is stored changes with the bytes of a step",
			old: "for $name, $step := range $r.Steps { $step.Result = bytes.Clone($step.Result); $r.Steps[$name] = $step }", new: "",
			in: "copied", first: "TestStoreKeepsTheContract",
		},
		{
			name: "memory-steps-listed", without: "a listing carries the results of steps",
			old: `$r.Result, $r.Parts, $r.Seal, $r.Derived, $r.Steps = nil, "", "", nil, nil`,
			new: `$r.Result, $r.Parts, $r.Seal, $r.Derived = nil, "", "", nil`, first: "TestStoreKeepsTheContract",
		},
		{
			name: "cache-steps", without: "a replay from memory carries the steps of its execution",
			old: "$r.Steps, $r.StepWrites = nil, 0", new: "",
			in: "learn", first: "RememberedWithoutSteps",
		},
	}
}

// storedStepControls are how steps are written to DynamoDB and read.
func storedStepControls() []control {
	return []control{
		{
			name: "swap-reason", without: "a record that was released since is taken over a second time, in DynamoDB",
			old: `$e.condition += " AND #reason = :seen_reason"`, new: `$e.condition += " AND (#reason = :seen_reason OR attribute_not_exists(#reason))"`,
			first: "Requests",
		},
		{
			name: "swap-no-reason", without: "so it is if it was not released when it was seen",
			old: `$e.condition += " AND attribute_not_exists(#reason)"`, new: `$e.condition += " AND (attribute_not_exists(#reason) OR attribute_exists(#reason))"`,
			first: "Requests",
		},
		{
			name: "swap-reason-unknown", without: "an UNKNOWN record whose reason was not seen cannot be settled, in DynamoDB",
			old: "switch { case $seen.Status != $StatusInProgress: case", new: "switch { case", in: "sameReason", first: "Requests",
		},
		{
			name: "swap-steps", model: "NO_OPERATOR_STEPS", without: "an operator settles a record in which a step was recorded since",
			old: `$e.condition += " AND #steps = :seen_steps"`, new: `$e.condition += " AND (#steps = :seen_steps OR attribute_exists(#steps))"`,
			first: "Requests",
		},
		{
			name: "swap-no-steps", without: "a release deletes the first step of a record",
			old: `$e.condition += " AND attribute_not_exists(#steps)"`, new: `$e.condition += " AND (attribute_not_exists(#steps) OR attribute_exists(#steps))"`,
			first: "Requests",
		},
		{
			name: "swap-steps-any", without: "an owner has to know how often it wrote steps, in DynamoDB",
			old: "$seen.Status == $StatusCompleted || $seen.StepWrites == $AnyStepWrites", new: "$seen.Status == $StatusCompleted",
			first: "Requests",
		},
		{
			name: "swap-steps-completed", without: "what another program has completed cannot be deleted",
			old: "$seen.Status == $StatusCompleted || $seen.StepWrites == $AnyStepWrites", new: "$seen.StepWrites == $AnyStepWrites",
			first: "TestStore$",
		},
		{
			name: "swap-start", without: "a late start mark wipes the result of its step, in DynamoDB",
			old: `$e.condition += " AND attribute_not_exists(" + $at.ref + ")"`, new: "", in: "setSteps", first: "Requests",
		},
		{
			name: "swap-counts", without: "nobody sees that another step was recorded, in DynamoDB",
			old: "$e.count($a.steps)", new: "", first: "Requests",
		},
		{
			name: "swap-drops-steps", without: "a replay pays for the steps of its execution",
			old: "$e.dropSteps($a, $seen)", new: "", first: "Requests|ACompletionLeaves",
		},
		{
			name: "swap-drops-count", without: "the count of steps stays in a completed record",
			old: "if $seen.StepWrites != 0 || len($seen.Steps) > 0 {", new: "if false {", first: "Requests|ACompletionLeaves",
		},
		{
			name: "swap-hands-over", without: "a takeover does not see the last step of the owner before, in DynamoDB",
			old: "$in.ReturnValues = types.ReturnValueAllNew", new: "", first: "Requests|ATakeover",
		},
		{
			name: "swap-handed-over-read", without: "a takeover whose answer lacks the record has no steps",
			old: "if len($it) > 0 { return $s.decode($next.Key, $it) }", new: "return $s.decode($next.Key, $it)", first: "ATakeoverWithout",
		},
		{
			name: "swap-handed-over-owner", without: "a takeover takes the record of another owner for its own",
			old: "case $err == nil && ($held.Owner != $next.Owner || $held.Status != $next.Status):", new: "case false:", first: "ATakeoverWithout",
		},
		{
			name: "swap-handed-over-open", without: "a takeover that cannot be read counts as not applied",
			old: "$failed.NotApplied = false", new: "_ = $failed", first: "ATakeoverWithout",
		},
		{
			name: "steps-completed", without: "what another program has completed shows the steps that were left over",
			old: "if $r.Status == $StatusCompleted { return }", new: "", in: "decoder.steps", first: "LeftOver|CannotBeUnderstood",
		},
		{
			name: "steps-kind", without: "a step of a kind that this version does not know counts as one that it knows",
			old: `default: $d.fail($at, "is no step that this version knows"); return $step`, new: "default:", first: "StepsThatCannot",
		},
		{
			name: "steps-place", without: "a result that is kept elsewhere is read as none",
			old: `default: $d.fail($at, "is a step whose result is where this version does not look")`, new: "", first: "StepsThatCannot",
		},
		{
			name: "steps-seal", without: "a step that was cut short counts as a start mark",
			old: "if len($kind) == len($text) {", new: "if false {", first: "StepsThatCannot",
		},
		{
			name: "steps-type", without: "a step of another type counts as none",
			old: `default: $d.fail($at, "has type "+typeName($v)+", not S or B"); return $step`, new: "default: return $step", first: "StepsThatCannot",
		},
		{
			name: "steps-compressed", without: "a step that was altered is resumed with",
			old: "$err != nil || !$step.Sealed()", new: "$err != nil", first: "StepsThatCannot",
		},
		{
			name: "steps-list", without: "a list of parts that is malformed counts as one",
			old: "if _, $ok := parsePartList($list); !$ok {", new: "if _, $ok := parsePartList($list); false && !$ok {",
			in: "decoder.stepContent", first: "StepsThatCannot",
		},
		{
			name: "steps-binary", without: "the result of a step that is no text is altered",
			old: "if utf8.Valid($text) {", new: "if true {", in: "stepValue", first: "StepsThatAreNoText",
		},
		{
			name: "steps-spaces", without: "a seal with a space is read as a shorter one",
			old: "$seal := escapeSeal.Replace($step.Seal)", new: "$seal := $step.Seal", first: "TextOfSteps",
		},
		{
			name: "steps-most", without: "parts of one step are written although another one is too large",
			old: "for _, $step := range $next.Steps { if len($step.Result) > maxResult {", new: "for _, $step := range $next.Steps { if false {",
			first: "StepBeyond",
		},
		{
			name: "steps-unsealed", without: "a step whose seal does not cover it is in parts that nobody can verify",
			old: `if $step.Parts != "" || len($step.Result) == 0 || !$step.Sealed() {`, new: `if $step.Parts != "" || len($step.Result) == 0 {`,
			first: "SealDoesNotCover",
		},
		{
			name: "steps-room", without: "a record with many steps grows without limit, and every duplicate pays for it",
			old: "$room -= len($s.attr.stepPrefix) + len($name) + $s.stepWeight($step)", new: "_ = $s.stepWeight($step)", first: "WhileThereIsRoom",
		},
		{
			name: "steps-room-parts", without: "one large step in parts sends all small ones there",
			old: `if $step.Parts != "" { return $around + len($step.Parts) }`, new: `if $step.Parts != "" { return $around << 10 }`, first: "WhileThereIsRoom",
		},
		{
			name: "steps-outlive", without: "the parts of a step are gone before somebody has settled its record",
			old: "$s.writeParts($ctx, $op, $r.OfStep($step), $pieces, stepPartsOutlive)",
			new: "$s.writeParts($ctx, $op, $r.OfStep($step), $pieces, partsOutlive)", first: "Requests|WhileThereIsRoom",
		},
		{
			name: "steps-outlive-result", without: "a completion that fails shortens the life of a step with the same result",
			old: "if $step.Seal == $next.Seal { return stepPartsOutlive }", new: "_ = $step", in: "outlive", first: "OutliveACompletion",
		},
		{
			name: "steps-prefix", without: "another attribute is read as a step",
			old: "if strings.HasPrefix($at.name, $c.attr.stepPrefix) {", new: "if false {", first: "Collide",
		},
		{
			name: "steps-prefix-length", without: "a prefix leaves no room for the name of a step",
			old: "if $p := $c.attr.stepPrefix; len($p) > maxName-maxStepName || !utf8.ValidString($p) {", new: "if $p := $c.attr.stepPrefix; !utf8.ValidString($p) {",
			first: "Collide",
		},
	}
}
