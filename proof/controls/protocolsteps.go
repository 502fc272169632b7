package main

// executedStepControls are the guards of steps while an execution runs them, and when it ends.
func executedStepControls() []control {
	return append(begunStepControls(), endedStepControls()...)
}

// begunStepControls are those of one step.
func begunStepControls() []control {
	return []control{
		{
			name: "step-name", without: "any text becomes the name of an attribute",
			old: "case !$ValidStep(name):", new: "case false:", in: "Step", suite: []string{"."}, first: "TestStepsThatAreRefused",
		},
		{
			name: "step-nested", without: "a step inside of another is recorded, and repeated with it",
			old: `case $under.Step != "": return`, new: "case false: return", in: "Step",
			first: "TestStepsThatAreRefused",
		},
		{
			name: "step-used-twice", without: "the second use of a name gets the result of the first",
			old: "case $s.asked[$name]: return $held,", new: "case false: return $held,", first: "TestStepsThatAreRefused",
		},
		{
			name: "step-after-return", without: "a step begins after its handler has returned",
			old: "case $s.over:", new: "case false:", first: "TestStepsThatAreRefused",
		},
		{
			name: "step-hundred", without: "a record grows without a bound",
			old: "case !$has && $s.count() >= $maxSteps:", new: "case !$has && false:", first: "TestAHundredStepsAndNoMore",
		},
		{
			name: "step-lease-over", without: "a step begins although its lease has ended",
			old: "$lost := $s.d.leaseOver()", new: "$lost := false", first: "TestAStaleOwnerRecordsNothing",
		},
		{
			name: "step-lease-remembered", without: "an execution that met another owner begins its next effect",
			old: "$lost = $lost || $k.leaseLost", new: "_ = $k", first: "TestAStaleOwnerRecordsNothing",
		},
		{
			name: "step-context", without: "an effect begins although time is up",
			old: "case $cause != nil: return &$Fault", new: "case false: return &$Fault", in: "live", first: "TestStepsThatAreRefused",
		},
		{
			name: "step-resumed-seal", without: "a damaged result is taken for what was recorded",
			old: "} else if !$s.held.Sealed() {", new: "} else if false {", first: "TestAStepThatDoesNotDecodeAnyMore",
		},
		{
			name: "step-first-time", without: "a handler sees another value the first time than when it resumes",
			old: "$s.report.Recorded = true; return $s.accept($text, $kind)", new: "$s.report.Recorded = true; return nil",
			first: "TestTheSameKeysAndResults",
		},
		{
			name: "step-refuse-marks", without: "under Refuse a step that crashed inside of its effect seems not to have begun",
			old: "$s.effect.AtMostOnce() || $s.d.RefuseCrashed", new: "$s.effect.AtMostOnce()", first: "TestWhatAStepRecordedIsNotRepeatedAfterACrash",
		},
		{
			name: "step-mark-failed", without: "an effect happens without its start mark",
			old: "if $fault := $s.mark($ctx); $fault != nil {", new: "if $fault := $s.mark($ctx); false { _ = $fault;",
			first: "TestAStartMarkThatCannotBeWritten",
		},
		{
			name: "step-landed", without: "a write whose reply was lost is taken for somebody else's",
			old: "case $written, $there.Kind == $kind && $there.Seal == $step.Seal:", new: "case $written:", first: "TestRepliesOfStepWritesThatAreLost",
		},
		{
			name: "step-final", without: "a final failure is tried again",
			old: "case $Terminal: return $s.recordRan($ctx, $StepFailure)", new: "case $Terminal: return nil", first: "TestAFinalFailureOfAStepIsNotRepeated",
		},
		{
			name: "step-not-executed", without: "the start mark of an effect that did nothing stays",
			old: "case $NotExecuted: $s.idle()", new: "case $NotExecuted:", first: "TestMarksInSteps",
		},
		{
			name: "step-mark-idle", without: "the start mark of an effect that was not begun stays",
			old: "$s.d.steps.failed($err); $s.idle()", new: "$s.d.steps.failed($err)", first: "TestAStartMarkThatCannotBeWritten",
		},
		{
			name: "step-uncertain", without: "an uncertain effect is repeated if the handler says nothing of it",
			old: "case $Uncertain: $s.d.steps.note(func($k *$stepsKnown) { $k.uncertain = true })", new: "case $Uncertain:",
			first: "TestMarksInSteps",
		},
		{
			name: "step-open-unknown", without: "an effect that may have begun is forgotten if the handler says nothing of it",
			old: "$s.d.steps.note(func($k *$stepsKnown) { $k.uncertain = true }); return", new: "return", in: "unknown",
			first: "TestAnEffectThatMayHaveBegun",
		},
		{
			name: "step-too-large", without: "the bound on results does not hold for steps",
			old: "if $most := $s.d.MaxResult; $most > 0 && len($text) > $most {", new: "if false {", first: "TestAStepWhoseResultIsLost",
		},
		{
			name: "step-expiry", without: "the record of a resumed execution expires under it",
			old: "$r.Lease, $r.Expiry = $lease, $d.expiryInProgress($lease)", new: "$r.Lease, $r.Expiry = $lease, $d.mine.Expiry", first: "TestARecordingRaisesTheExpiry",
		},
		{
			name: "step-detached", without: "an effect that took until its deadline is not recorded",
			old: "$ctx = $WithinDetached($ctx, $end); if $kind", new: "$ctx = within($ctx, $end); if $kind",
			first: "TestAStepIsRecordedAfterTheHandlersContextHasEnded",
		},
	}
}

// endedStepControls are those of an execution that ends, and of the delivery that resumes it.
func endedStepControls() []control {
	return []control{
		{
			name: "steps-kept", without: "a release deletes what steps have recorded, or fails",
			old: "if $d.ended.any() {", new: "if false {", first: "TestWhatAStepRecordedIsNotRepeatedAfterAnError",
		},
		{
			name: "steps-fresh-owner", without: "a late write of the one who released the record lands in it",
			old: "$r.Owner, $r.Reason, $r.Lease = rand.Text(), $ReasonReleased, $now", new: "$r.Reason, $r.Lease = $ReasonReleased, $now",
			first: "TestWhatAStepRecordedIsNotRepeatedAfterAnError",
		},
		{
			name: "steps-attention", without: "nobody learns of an order that stopped half way",
			old: "$r.Attention, $r.AttentionAt, $r.Derived = $AttentionOf($r.Key), $now.Add($ReleasedWait), $d.handed.Sorted()", new: "_ = $now",
			first: "TestWhatAStepRecordedIsNotRepeatedAfterAnError",
		},
		{
			name: "steps-idle-removed", without: "a start mark that stands for nothing makes the record UNKNOWN",
			old: "$r.Steps = $d.ended.removed()", new: "$r.Steps = nil", first: "TestMarksInSteps",
		},
		{
			name: "steps-lease-lost", without: "who lost its lease releases the record of another",
			old: "case $leaseLost, $s.any() && ($s.leaseLost || $d.leaseOver()):", new: "case false:", first: "TestAStaleOwnerRecordsNothing",
		},
		{
			name: "steps-lease-lost-unknown", without: "a lost lease counts as a failure, and not as a crash",
			old: "if $leaseLost && $e.fate == $fateUnknown && $e.reason == $ReasonError {", new: "if false {", first: "TestEndingsByMarkAndPolicy",
		},
		{
			name: "steps-superseded", without: "who lost its lease in a step fails, although the answer is there",
			old: `if !$e.leaseLost || $taken.Key == "" || $taken.Owner == $d.owner {`, new: "if true { _ = $taken;", first: "TestAStaleOwnerRecordsNothing",
		},
		{
			name: "steps-lost", without: "an effect whose result was lost is released, and repeated",
			old: "case $s.lost: return", new: "case false: return", first: "TestAStepWhoseResultIsLost",
		},
		{
			name: "steps-lost-repeatable", without: "an effect that may be repeated makes its record UNKNOWN",
			old: "case $s.lost && $d.Repeatable && !$s.never:", new: "case false:", first: "TestAStepWhoseResultIsLost",
		},
		{
			name: "steps-lost-never", without: "a result that can never be stored is lost again and again",
			old: "case $s.lost && $d.Repeatable && !$s.never:", new: "case $s.lost && $d.Repeatable:", first: "TestAStepWhoseResultIsLost",
		},
		{
			name: "steps-running", without: "an effect that goes on is released, and begun beside itself",
			old: "$k.lost = $k.lost || $s.running > 0", new: "_ = $k.lost", first: "TestAStepThatStillRunsWhenTheHandlerReturns",
		},
		{
			name: "steps-refuse-released", without: "a refused crash between two steps waits for a person",
			old: "if $crashed && $s.resumable() {", new: "if $crashed && false {", first: "TestARefusedCrashWhoseStepsTellAllIsReleased",
		},
		{
			name: "steps-refuse-open", without: "a refused crash inside of a step is repeated",
			old: "$k.any() && !$k.lost && !$k.uncertain && (len($kept) == 0 || $Record{Steps: $kept}.Resumable())", new: "$k.any()",
			first: "TestARefusedCrashWhoseStepsTellAllIsReleased",
		},
		{
			name: "steps-refuse-resumes", without: "under Refuse no crash is resumed",
			old: "case $held.Resumable() && !$unsettled($held):", new: "case false:", first: "TestRefuseResumesOnlyWhatItsStepsTell",
		},
		{
			name: "steps-open-refused", without: "under Refuse an execution resumes beside an effect that may have begun",
			old: "if $s.Kind == $StepStarted { return false }", new: "if $s.Kind == $StepStarted { continue }", in: "Resumable", first: "TestRefuseResumesOnlyWhatItsStepsTell",
		},
		{
			name: "steps-all-new", without: "a takeover repeats the last step of a stale owner",
			old: "if $won && $m.kind == $moveTakeOver { $d.mine = $held", new: "if $won && $m.kind == $moveTakeOver { $d.mine = $m.next",
			first: "TestATakeoverSeesTheLastStepOfAStaleOwner",
		},
		{
			name: "steps-not-rewritten", without: "a crash with an open start mark cannot become UNKNOWN",
			old: "$r.Steps = nil; $r.Attention", new: "$r.Attention", in: "unknown", first: "TestRefuseResumesOnlyWhatItsStepsTell",
		},
		{
			name: "steps-write-compared", without: "under Refuse a step that began meanwhile is not seen, and the handler runs beside it",
			old: "$j.move.seen.StepWrites = $held.StepWrites;", new: "", first: "TestUnderRefuseAStepThatBeganMeanwhileIsSeen",
		},
		{
			name: "steps-orphans", without: "nobody learns of steps that no code asks for any more",
			old: "$d.Report.Orphans = $d.ended.orphans", new: "_ = $d.ended.orphans", first: "TestATakeoverSeesTheLastStepOfAStaleOwner",
		},
	}
}
