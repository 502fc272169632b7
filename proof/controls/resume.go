package main

import "slices"

// resumeControls are the guards of the steps of an execution: of a step that begins and is recorded, of an execution that ends, and
// of one that goes on where another has stopped.
func resumeControls() []control {
	return slices.Concat(stepBeginControls(), stepWriteControls(), stepEndControls(), stepTakeoverControls())
}

// stepBeginControls are those of a step before its function runs, and of what that says.
func stepBeginControls() []control {
	return []control{
		{
			name: "step-name", without: "a step has a name that no store keeps",
			old: "case !$ValidStep($name):", new: "case false:", in: "Delivery.Step", first: "Step",
		},
		{
			name: "step-nested", without: "a step runs again because another one around it does",
			old: `case $under.Step != "":`, new: "case false:", in: "Delivery.Step", first: "Step",
		},
		{
			name: "step-unfit", without: "an effect happens whose result nobody can record",
			old: `if $unfit := $d.StepTypes.unfit($e); $unfit != "" {`, new: `if $unfit := $d.StepTypes.unfit($e); $unfit == "never" {`,
			first: "Step",
		},
		{
			name: "step-twice", without: "two effects share a name, and the second gets the result of the first",
			old: "case slices.Contains($s.asked, $name):", new: "case false:", in: "steps.begin", first: "Step",
		},
		{
			name: "step-over", without: "a step begins after its handler has returned",
			old: "case $s.over:", new: "case false:", in: "steps.begin", first: "Step",
		},
		{
			name: "step-most", without: "a record grows with every step, and each duplicate pays for it",
			old: "case !$has && $s.count() >= $MaxSteps:", new: "case !$has && false:", first: "Step",
		},
		{
			name: "step-most-held", without: "an execution with a hundred steps cannot be resumed",
			old: "case !$has && $s.count() >= $MaxSteps:", new: "case ($has || !$has) && $s.count() >= $MaxSteps:", first: "Step",
		},
		{
			name: "step-sealed", without: "an altered result of a step is resumed with",
			old: "} else if !$s.held.Sealed() {", new: "} else if false {", in: "step.resume", first: "Step",
		},
		{
			name: "step-kind", without: "a step of a later version runs again",
			old: `default: return $UnreadableStep("its recorded result is of a kind that this version does not know", nil)`,
			new: "default: return s.run(ctx, false)", in: "step.do", first: "Step",
		},
		{
			name: "step-marks-refuse", model: "NO_START_MARK", without: "an effect that must not be repeated after a crash leaves no mark",
			old: "$s.effect.AtMostOnce() || $s.d.RefuseCrashed", new: "$s.effect.AtMostOnce()", first: "Step|Refuse",
		},
		{
			name: "step-open", model: "NO_OPEN_MARK", without: "an effect that may have begun begins again",
			old: "case $StepStarted: return $s.settleOpen($ctx)", new: "case $StepStarted: return $s.run($ctx, false)", first: "Begun",
		},
		{
			name: "step-open-unresolved", without: "so it does without anybody to ask",
			old: "if !$s.effect.CanResolve() { return $s.unknown(nil) }", new: "if !$s.effect.CanResolve() { return $s.run(ctx, false) }",
			first: "Begun",
		},
		{
			name: "step-unknown", without: "a handler that goes on behind an effect that may have begun is released",
			old: "$s.d.steps.note(func($k *stepsKnown) { $k.uncertain = true })", new: "", in: "step.unknown", first: "Begun|Uncertain",
		},
		{
			name: "step-lease-over", model: "NO_STEP_LEASE", without: "an effect begins although somebody else may execute by now",
			old: "$over := $d.leaseOver()", new: "$over := false", first: "Stale|Step",
		},
		{
			name: "step-lease-lost", without: "so it does although a step before has found somebody else",
			old: "$over = $over || $k.leaseLost; $k.leaseLost = $over", new: "$k.leaseLost = $k.leaseLost || $over", first: "Stale|Step",
		},
		{
			name: "step-ended", without: "an effect begins although its time is up",
			old: "case $cause != nil: return &$Fault{Kind: $StepRefused", new: "case false: return &$Fault{Kind: $StepRefused",
			in: "step.live", first: "Step",
		},
		{
			name: "step-marked-late", without: "an effect begins although writing its start mark took all of the lease",
			old:   "if $fault := $s.live($ctx); $fault != nil { $s.idle(); return $fault }",
			new:   "",
			first: "StartMark",
		},
		{
			name: "step-marked-first", model: "NO_MARK_FIRST", without: "an effect happens at most once, as long as the store is up",
			old: "if $fault := $s.mark($ctx); $fault != nil { return $fault }", new: "_ = $s.mark($ctx)", first: "StartMark",
		},
		{
			name: "step-untouched", model: "NO_MARKS_REMOVED", without: "an effect that did not happen blocks its key",
			old: "case $NotExecuted: $s.idle(); return nil", new: "case $NotExecuted: return nil", in: "step.run", first: "MarksInSteps|Begun",
		},
		{
			name: "step-uncertain", without: "an effect that may have happened is repeated where the handler says nothing of it",
			old: "case $Uncertain: $s.d.steps.note(func($k *stepsKnown) { $k.uncertain = true }); return nil", new: "case $Uncertain: return nil",
			in: "step.run", first: "Uncertain|MarksInSteps",
		},
		{
			name: "step-terminal", without: "a final failure of a step is asked for again and again",
			old: "case $Terminal: return $s.recordRan($ctx, $StepFailure)", new: "case $Terminal: return nil",
			in: "step.run", first: "Final|MarksInSteps",
		},
		{
			name: "step-encoded", without: "an effect whose result panics when it is encoded is repeated",
			old: "if !$encoded { $s.lost(true, \"\", nil) }", new: "_ = $encoded", first: "Encod",
		},
		{
			name: "step-found", without: "what a resolver has found and nobody could record is lost for the handler, too",
			old: "$s.out = $r.out; $text, $err := encodeJSON($r.out)", new: "$text, $err := encodeJSON($r.out)", first: "Begun|Found",
		},
	}
}

// stepWriteControls are those of the write of a step.
func stepWriteControls() []control {
	return []control{
		{
			name: "step-landed", model: "NO_MARK_LANDED", without: "a step whose reply was lost counts as lost",
			old: "case $written, $there.Kind == $kind && $there.Seal == $step.Seal:", new: "case $written:", first: "Repl|Lost",
		},
		{
			name: "step-landed-seal", without: "the start mark of somebody else counts as one's own",
			old: "case $written, $there.Kind == $kind && $there.Seal == $step.Seal:", new: "case $written, $there.Kind == $kind:", first: "Stale|Step",
		},
		{
			name: "step-unknown-result", without: "what happened is not recorded because somebody found the lease lapsed",
			old: "$held.Owner == $d.owner && $held.Status != $StatusCompleted && $kind != $StepStarted:", new: "false:",
			in: "step.write", first: "Stale|Step",
		},
		{
			name: "step-unknown-mark", model: "NO_RECORD_STATUS", without: "an effect begins under a record that is UNKNOWN",
			old: "$held.Owner == $d.owner && $held.Status != $StatusCompleted && $kind != $StepStarted:",
			new: "$held.Owner == $d.owner && $held.Status != $StatusCompleted:", in: "step.write", first: "StartMark|Stale|Step",
		},
		{
			name: "step-stale", model: "NO_RECORD_OWNER", without: "a stale owner records its step in the record of somebody else",
			old: "default: $d.steps.note(func($k *stepsKnown) { $k.leaseLost, $k.taken = true, $held }); return $ErrLeaseLost",
			new: "default: seen = unleased($held); $d.steps.note(func($k *stepsKnown) { _ = execution.ErrLeaseLost })", in: "step.write", first: "Stale",
		},
		{
			name: "step-detached", model: "NO_LATE_RECORDING", without: "what happened is not recorded because the time of the handler is up",
			old: "$ctx = $WithinDetached($ctx, $end); if $kind != $StepStarted && !$d.Repeatable {",
			new: "$ctx = within($ctx, $end); if $kind != $StepStarted && !$d.Repeatable {", in: "step.write", first: "ContextHasEnded",
		},
		{
			name: "step-last-word", without: "no time is kept to say that a step is lost",
			old: "if $kind != $StepStarted && !$d.Repeatable { $ctx = $KeepForLast($ctx) }", new: "", in: "step.write", first: "Lost",
		},
		{
			name: "step-retried", without: "one lost message loses a step",
			old: "if !$MayPass($err) || !$Pause($ctx, $failures) { return $err }", new: "if true { return $err }", in: "step.write", first: "Repl|Lost",
		},
		{
			name: "step-lease", model: "NO_STEP_OVERTAKEN", without: "a late copy of a step makes a record expire under its lease",
			old: "$r.Lease, $r.Expiry = $lease, $d.expiryInProgress($lease)", new: "$r.Expiry = $d.expiryInProgress($lease)", first: "LateCopy",
		},
		{
			name: "step-lease-renewed", without: "a step that meets a renewal is lost",
			old: "if $lease.Before($held.Lease) { $lease = $held.Lease }", new: "", in: "step.write", first: "LateCopy|Renew",
		},
		{
			name: "step-expiry", model: "NO_STEP_EXPIRY", without: "what was recorded is gone before anybody can resume",
			old: "$r.Lease, $r.Expiry = $lease, $d.expiryInProgress($lease)", new: "$r.Lease = $lease", first: "RaisesTheExpiry",
		},
	}
}

// stepEndControls are those of an execution with steps that ends.
func stepEndControls() []control {
	return []control{
		{
			name: "step-kept", without: "a release deletes what steps have recorded, or never does",
			old: "if $d.ended.any() || $d.committed.doubt {", new: "if $d.committed.doubt {", first: "Step",
		},
		{
			name: "step-kept-writes", without: "a handler that fails before its first step blocks its key until its lease ends",
			old: "$ours.StepWrites = $d.mine.StepWrites", new: "$ours.StepWrites = 0", in: "releaseGone", first: "BeforeItsFirstStep",
		},
		{
			name: "step-kept-unknown", without: "a record that somebody made UNKNOWN meanwhile stays so although its owner has failed",
			old: "if $kept || $held.Owner != $d.owner || $held.Status == $StatusCompleted { return nil } $seen = $Unleased($held)",
			new: "return nil", in: "releaseAs", first: "Step",
		},
		{
			name: "step-kept-reply", without: "a release whose reply was lost counts as a lost lease",
			old: "$kept = $swapped || $held.Owner == $next.Owner", new: "$kept = $swapped", first: "Repl|Step",
		},
		{
			name: "step-kept-owner", model: "NO_RELEASE_TOKEN", without: "a late message of who has released changes what it left",
			old:   "$r.Owner, $r.Reason, $r.Lease, $r.Tries = rand.Text(), $ReasonReleased, $now, 0",
			new:   "$r.Reason, $r.Lease, $r.Tries = $ReasonReleased, $now, 0; _ = rand.Text",
			first: "Step",
		},
		{
			name: "step-kept-reason", without: "a release counts as a crash",
			old:   "$r.Owner, $r.Reason, $r.Lease, $r.Tries = rand.Text(), $ReasonReleased, $now, 0",
			new:   "$r.Owner, $r.Lease, $r.Tries = rand.Text(), $now, 0",
			first: "Step",
		},
		{
			name: "step-kept-attention", without: "an order that stopped between two steps is on no list",
			old: "$r.Attention, $r.AttentionAt, $r.Derived = $AttentionOf($r.Key), $now.Add($ReleasedWait), $d.handed.Sorted()",
			new: "", first: "Step",
		},
		{
			name: "step-idle", without: "a start mark that stands for nothing blocks its step",
			old: "$r.Steps = $d.ended.removed()", new: "", first: "MarksInSteps|StartMark",
		},
		{
			name: "step-running", without: "an effect that still runs is repeated",
			old: "$k.lost = $k.lost || $s.gate.Busy()", new: "", first: "StillRuns",
		},
		{
			name: "step-lost", model: "NO_LOST", without: "an effect whose result is lost is repeated",
			old: "case $s.lost: return $Ending{fate: $FateUnknown", new: "case false: return $Ending{fate: $FateUnknown",
			in: "withSteps", first: "Lost",
		},
		{
			name: "step-lost-noted", without: "so it is where nobody takes note of it",
			old: "$k.lost = true; $k.never = $k.never || $never", new: "_ = $never", first: "Lost",
		},
		{
			name: "step-lost-heals", without: "an effect that may be repeated needs a person after an outage",
			old: "case $s.lost && $d.Repeatable && !$s.never:", new: "case false:", in: "withSteps", first: "Lost|Repeatable",
		},
		{
			name: "step-lost-never", without: "an effect whose result can never be recorded is repeated for ever",
			old: "case $s.lost && $d.Repeatable && !$s.never:", new: "case $s.lost && $d.Repeatable:", in: "withSteps", first: "Lost|Repeatable",
		},
		{
			name: "step-uncertain-end", without: "an execution with an effect that may have happened is released",
			old: "case $s.uncertain: return $Ending{fate: $FateUnknown", new: "case false: return $Ending{fate: $FateUnknown",
			in: "withSteps", first: "Uncertain|Begun",
		},
		{
			name: "step-lost-first", model: "NO_LOST_FIRST", without: "one outage loses a result and the lease, and the effect is repeated",
			old: "case $leaseLost && $d.isOthers($s.taken):", new: "case $leaseLost:", in: "withSteps", first: "TestALostStepOutweighsALostLease",
		},
		{
			name: "step-lease-left", without: "who has lost its lease in a step releases the record",
			old: "case $leaseLost, $s.any() && ($s.leaseLost || $d.leaseOver()):", new: "case $leaseLost && false:",
			in: "withSteps", first: "Stale|Step",
		},
		{
			name: "step-lease-left-over", without: "so does one whose lease has ended",
			old: "case $leaseLost, $s.any() && ($s.leaseLost || $d.leaseOver()):", new: "case $leaseLost:",
			in: "withSteps", first: "Stale|Step",
		},
		{
			name: "step-lease-error", without: "who has lost its lease makes the record UNKNOWN, as if it had failed",
			old: "$failed := $leaseLost && $e.fate == $FateUnknown && $e.reason == $ReasonError", new: "$failed := false", in: "withSteps", first: "Stale|Step",
		},
		{
			name: "step-refused-released", without: "a panic behind the last step needs a person",
			old: "if $failed || $crashed && $s.resumable() {", new: "if $failed || $crashed && false {", in: "withSteps", first: "Refuse",
		},
		{
			name: "step-refused-told", without: "a panic in the middle of an effect is repeated",
			old: "if $failed || $crashed && $s.resumable() {", new: "if $failed || $crashed {", in: "withSteps", first: "Refuse",
		},
		{
			name: "step-refused-lost", without: "so is an effect whose result is lost",
			old: "return $k.any() && !$k.lost && (", new: "return $k.any() && (", first: "Refuse|Lost",
		},
		{
			name: "step-refused-none", model: "NO_INTERRUPTED_SOME", without: "so is a handler that had no step at all",
			old: "return $k.any() && !$k.lost && (", new: "return !$k.lost && (", first: "Refuse|Panic|Interrupted",
		},
		{
			name: "step-dropped", without: "a store is not told which steps a completion drops",
			old: "$seen.Steps = $d.ended.held", new: "", in: "conclude", first: "ACompletionNames",
		},
	}
}

// stepTakeoverControls are those of a claim that meets a record with steps.
func stepTakeoverControls() []control {
	return []control{
		{
			name: "takeover-after", model: "NO_ALL_NEW", without: "a step that a stale owner has recorded since the look is repeated",
			old: "if $won && $m.kind == $MoveTakeOver { $d.mine = $held;", new: "if $won && $m.kind == $MoveTakeOver { $held.Steps = $m.seen.Steps; $d.mine = $held;",
			first: "LastStep",
		},
		{
			name: "takeover-any", without: "a stale owner that records steps keeps everybody from taking over",
			old: "$held.StepWrites = $AnyStepWrites; return $Judgement{verdict: $VerdictMove, move: $Move{kind: $MoveTakeOver, seen: $held, next: $next}}",
			new: "return $Judgement{verdict: $VerdictMove, move: $Move{kind: $MoveTakeOver, seen: $held, next: $next}}", first: "LastStep",
		},
		{
			name: "takeover-steps", without: "a takeover writes the steps again that it saw",
			old: "$r.Steps = nil; return unattended($r)", new: "return unattended($r)", in: "claimed", first: "Step",
		},
		{
			name: "takeover-handed", without: "an execution does not know what was recorded before it",
			old: "$d.steps.take($d.mine.Steps)", new: "", first: "Step",
		},
		{
			name: "takeover-mine", without: "each write of an execution repeats the steps that it found",
			old: "$d.mine.Steps = nil", new: "", in: "handle", first: "Step",
		},
		{
			name: "undo-steps", model: "NO_UNDO_STEPS", without: "the undo of a takeover brings back start marks, or is refused because of them",
			old: "$seen.Steps = nil; return $seen", new: "return $seen", in: "takenBack", first: "UndoOfATakeover",
		},
		{
			name: "refusal-steps", without: "a crash in the middle of an effect is never settled: nobody can write that it is UNKNOWN",
			old: "$r.Status, $r.Reason = $StatusUnknown, $reason; $r.Steps = nil", new: "$r.Status, $r.Reason = $StatusUnknown, $reason", first: "Refuse|Begun",
		},
		{
			name: "refuse-resumes", without: "a crash between two steps needs a person",
			old: "case $held.Resumable():", new: "case false:", first: "Refuse",
		},
		{
			name: "refuse-resumes-told", without: "a crash in the middle of an effect is taken over",
			old: "case $held.Resumable():", new: "case len($held.Steps) > 0:", first: "Refuse",
		},
		{
			name: "refuse-resumes-writes", without: "so is one whose effect began since the look",
			old: "$j.move.seen.StepWrites = $held.StepWrites", new: "", first: "Refuse|LastStep",
			in: "judgeInProgress",
		},
		{
			name: "refuse-resumes-unsettled", without: "what was UNKNOWN executes after a delivery that asked the resolver has crashed",
			old: "case $Unsettled($held) && !$d.Resolves:", new: "case false:", first: "Refuse|ThatAskedTheResolver",
		},
		{
			name: "unsettled", without: "so it does without that policy",
			old: "$d.open = $held.Status == $StatusUnknown || $Unsettled($held)", new: "$d.open = $held.Status == $StatusUnknown",
			first: "ThatAskedTheResolver",
		},
		{
			name: "unsettled-kept", model: "NO_ASK_OPEN", without: "so it does because the record does not say what it was",
			old: "$next.Reason, $next.Attention, $next.Derived = $held.Reason, $held.Attention, $held.Derived", new: "$next.Attention, $next.Derived = $held.Attention, $held.Derived", first: "ThatAskedTheResolver",
		},
		{
			name: "resolver-steps", without: "a crash between two steps waits for a resolver that cannot know",
			old: "&& ($d.open || !$d.mine.Resumable())", new: "", in: "handle", first: "Resolv",
		},
		{
			name: "resolver-steps-open", without: "what is UNKNOWN is executed without asking the resolver, where steps are recorded",
			old: "&& ($d.open || !$d.mine.Resumable())", new: "&& !$d.mine.Resumable()", in: "handle", first: "Resolv",
		},
	}
}

// modelledStepControls are those that the model has by themselves.
func modelledStepControls() []control {
	return []control{
		{
			name: "step-kept-lease", model: "NO_RELEASE_LEASE", without: "what was released waits for the lease of who released it, for whoever looks at nothing else",
			old:   "$r.Owner, $r.Reason, $r.Lease, $r.Tries = rand.Text(), $ReasonReleased, $now, 0",
			new:   "$r.Owner, $r.Reason, $r.Tries = rand.Text(), $ReasonReleased, 0",
			first: "TestWhatAStepRecordedIsNotRepeatedAfterAnError",
		},
		{
			name: "step-failed-mark", model: "NO_MARKS_KEPT", without: "an effect that failed and may have happened begins again",
			old: "if $err != nil { return nil }; return $s.recordRan($ctx, $StepValue)",
			new: "if $err != nil { $s.idle(); return nil }; return $s.recordRan($ctx, $StepValue)", in: "step.run", first: "TestMarksInSteps",
		},
		{
			name: "resumable-none", model: "NO_RESUMABLE_SOME", without: "under Refuse a crash without steps is executed again",
			old: "return len($r.Steps) > 0", new: "return true", in: "Resumable", first: "TestRefuseResumesOnlyWhatItsStepsTell",
		},
	}
}

// toldStepControls are those of what comes of a step for the handler, the caller and the observer.
func toldStepControls() []control {
	return []control{
		{
			name: "step-first-time", without: "a handler sees another value the first time than when it resumes",
			old: "$s.report.Recorded = true; return $s.accept($text, $kind)", new: "$s.report.Recorded = true; return nil",
			first: "TestTheSameKeysAndResults",
		},
		{
			name: "step-mark-idle", without: "the start mark of an effect that was not begun stays",
			old: "$s.d.steps.failed($err); $s.idle()", new: "$s.d.steps.failed($err)", first: "TestAStartMarkThatCannotBeWritten",
		},
		{
			name: "step-too-large", without: "the bound on results does not hold for steps",
			old: "if $most := $s.d.MaxResult; $most > 0 && len($text) > $most {", new: "if false {", first: "TestAStepWhoseResultIsLost",
		},
		{
			name: "steps-superseded", without: "who lost its lease in a step fails, although the answer is there",
			old: "if !$e.leaseLost || !$d.isOthers($taken) {", new: "if true { _ = $taken;", first: "TestAStaleOwnerRecordsNothing",
		},
		{
			name: "steps-open-refused", without: "under Refuse an execution resumes beside an effect that may have begun",
			old: "if $s.Kind == $StepStarted { return false }", new: "if $s.Kind == $StepStarted { continue }", in: "Resumable", first: "TestRefuseResumesOnlyWhatItsStepsTell",
		},
		{
			name: "steps-not-rewritten", without: "a crash with an open start mark cannot become UNKNOWN",
			old: "$r.Steps = nil; $r.Attention", new: "$r.Attention", in: "unknown", first: "TestRefuseResumesOnlyWhatItsStepsTell",
		},
		{
			name: "steps-orphans", without: "nobody learns of steps that no code asks for any more",
			old: "$d.Report.Orphans = $d.ended.orphans", new: "_ = $d.ended.orphans", first: "TestATakeoverSeesTheLastStepOfAStaleOwner",
		},
	}
}
