package main

// operatorControls are the guards of what operators do, and of what an execution does that meets it.
func operatorControls() []control {
	return []control{
		{
			name: "released-refuse", model: "NO_RELEASED", without: "what an operator has released becomes UNKNOWN again",
			old: "case $held.Released() || !$RefuseCrashed", new: "case !$RefuseCrashed",
			first: "TestARecordThatWasReleased",
		},
		{
			name: "released-lease", model: "NO_RELEASED_LAPSED", without: "a released record waits for a lease that nobody holds",
			old: "return $r.Reason == $ReasonReleased || $r.leaseOver($now)", new: "return $r.leaseOver($now)",
			first: "TestARecordThatWasReleased",
		},
		{
			name: "released-no-crash", without: "an execution after a release asks a resolver about an execution that ended",
			old: "$Attempt > 1 && $d.seenReason != $ReasonReleased", new: "$Attempt > 1",
			first: "TestARecordThatWasReleased",
		},
		{
			name: "released-seen", without: "so does one whose record says that it was released",
			old: `if $held.Status == $StatusInProgress && $held.Reason == "" {`, new: "if $held.Status == $StatusInProgress {",
			first: "TestARecordThatWasReleased",
		},
		{
			name: "overruled", model: "NO_OVERRULED", without: "an execution that comes back wins against the verdict of an operator",
			old: "&& !$d.overruled($held)", new: "",
			first: "TestAnOwnerThatComesBackAfterASettlement",
		},
		{
			name: "overruled-taken", without: "it wins once somebody else has taken the record over, too",
			old:   `$held.SettledBy != "" && ($held.Released() || !$held.SettledAt.Equal($SettledAt))`,
			new:   `$held.SettledBy != "" && $held.Released()`,
			first: "TestAnOwnerThatComesBackAfterASettlement",
		},
		{
			name: "overruled-before", without: "who claims after a settlement may not complete in place of somebody who crashed",
			old:   `$held.SettledBy != "" && ($held.Released() || !$held.SettledAt.Equal($SettledAt))`,
			new:   `$held.SettledBy != ""`,
			first: "TestWhoClaimsAfterASettlement",
		},
		{
			name: "attention", without: "a record that somebody has to settle is on no list",
			old: "$r.Attention, $r.AttentionAt = $AttentionOf($r.Key), $now.Truncate(time.Millisecond)", new: "",
			first: "TestARecordTellsItsStory",
		},
		{
			name: "attention-leaves", without: "a record that executes again stays on the list of what somebody has to settle",
			old: "return unattended($r)", new: "return $r",
			first: "TestWhatAStepRecorded",
		},
		{
			name: "derived-seen", without: "a resolver that cannot tell loses the names of the derived keys",
			old: "$d.handed.Add($d.seenDerived...)", new: "",
			first: "TestAResolverThatCannotTell",
			in:    "Delivery.handle",
		},
		{
			name: "derived-bounded", without: "a record grows with each derived key",
			old: "&& len($n.all) < $MaxNames", new: "",
			first: "TestWhatARecordKeeps",
		},
		{
			name: "handed-name", without: "a store cannot keep the name of a derived key, and loses the record",
			old: `$name != "" && len($name) <= $MaxName && utf8.ValidString($name)`, new: "(true || utf8.ValidString($name))",
			first: "TestWhatARecordKeeps",
		},
		{
			name: "operate-live", model: "NO_OPERATOR_LIVE", without: "an operator takes the record of a running execution",
			old:   "case $state == $StateInProgress: return &$LiveError{Until: $r.ProtectedUntil()}",
			new:   "case false: return &LiveError{Until: $r.ProtectedUntil()}",
			first: "TestWhatIsDoneInEachState",
		},
		{
			name: "operate-owner", model: "NO_OPERATOR_TOKEN", without: "what an execution sent before it was settled lands after that",
			old: "$r.Owner = rand.Text()", in: "Operator.next", new: "_ = rand.Text",
			first: "TestOfTwoOperators",
		},
		{
			name: "operate-shown", without: "what was shown decides nothing: whoever alters it takes a live claim",
			old: "return *$s.read, nil", new: "return $s.Record, nil",
			first: "TestWhatIsShown",
		},
		{
			name: "operate-completed", without: "an operator replaces a result that clients have got",
			old: "case $state == $StateExpired, $state == $StateCompleted: return $refused", new: "case $state == $StateExpired: return $refused",
			first: "TestWhatIsDoneInEachState",
		},
		{
			name: "operate-expired", without: "an operator brings back what has expired",
			old: "case $state == $StateExpired, $state == $StateCompleted: return $refused", new: "case $state == $StateCompleted: return $refused",
			first: "TestWhatIsDoneInEachState",
		},
		{
			name: "operate-strange", without: "a record that this version does not understand is changed",
			old: "case $state == $StateOther: return $refused", new: "",
			first: "TestWhatIsDoneInEachState",
		},
		{
			name: "operate-foreign", without: "a record of AWS Powertools is changed, which its writer overwrites unseen",
			old: `case $r.Owner == "" && $r.Status != $StatusUnknown:`, new: "case false:",
			first: "TestRecordsOfPowertools",
		},
		{
			name: "operate-layout", without: "a result is stored in a form that AWS Powertools does not read",
			old: "case $v.completes() && $r.Layout != $LayoutNative:", new: "case false:",
			first: "TestRecordsOfPowertools",
		},
		{
			name: "operate-operation", without: "the record of another operation is settled",
			old: `if $a.Operation != "" && $r.Operation() != $a.Operation {`, new: "if false {",
			first: "TestARecordOfAnotherOperation",
		},
		{
			name: "operate-expiry", without: "settling a record makes it expire before a late retry comes",
			old: "$r.Expiry.Before($kept) {", new: "!$kept.IsZero() {",
			first: "TestARecordIsNeverKeptForShorter",
			in:    "Operator.next",
		},
		{
			name: "operate-attention", without: "a settled record stays on the list",
			old: `$r.Attention, $r.AttentionAt, $r.Derived, $r.Tries = "", time.Time{}, nil, 0`, new: "$r.Tries = 0",
			in:    "Operator.next",
			first: "TestWhatIsDoneInEachState",
		},
		{
			name: "operate-own-write", without: "a settlement whose reply was lost inside the client counts as a change by somebody else",
			old: "case $swapped, $held.Owner == $next.Owner:", new: "case $swapped:",
			first: "TestAReplyThatTheClientLost",
		},
		{
			name: "operate-unknown", without: "a change that may still be applied counts as one that was refused",
			old: "case $found && $held.Matches($seen):", new: "case false:",
			first: "TestACallThatFails",
		},
		{
			name: "operate-dry", without: "a dry run does not see that the record has changed",
			old: "case !$found || !$held.Matches($seen):", new: "case !$found:",
			first: "TestWhatHasChanged",
		},
		{
			name: "operate-why", without: "nobody knows why a record was settled",
			old: `if $problem := $problemOf($a.Why, $maxWhy); $problem != "" {`, new: `if $problem := ""; $problem != "" {`,
			first: "TestBadInput",
		},
		{
			name: "operate-json", without: "a result that is no JSON is stored, and every retry fails",
			old: "if !utf8.Valid($v.result) || !json.Valid($v.result) {", new: "if !utf8.Valid($v.result) {",
			first: "TestBadInput",
		},
		{
			name: "operate-step-open", without: "an operator replaces the recorded result of a step",
			old: "case $step.Kind != $StepStarted:", new: "case false:",
			in:    "Verdict.stepAllowed",
			first: "TestAStepIsSettledOnlyIf",
		},
		{
			name: "operate-step-there", without: "an operator records a step that has never begun, and it does not run any more",
			old: "case !$found: return &StepError{Action: $v.action, Step: $v.step}", new: "case !$found: return nil",
			first: "TestAStepIsSettledOnlyIf|TestAStepOfARecord",
		},
		{
			name: "operate-step-live", without: "the verdict on a step is refused by nothing but the state of the record",
			old: "case $v.ofStep(): return $v.stepAllowed($r)", new: "",
			first: "TestAStepIsSettledOnlyIf",
		},
		{
			name: "operate-step-marks", without: "a step that was settled as not executed never runs",
			old: "$changed[$name] = store.Step{}", new: "_ = $name",
			in:    "Verdict.changedSteps",
			first: "TestWhatAChangeDoesToSteps",
		},
		{
			name: "operate-step-seal", without: "the result of a step that an operator has recorded is taken for an altered one",
			old:   "$changed[$v.step] = store.Step{Kind: store.StepValue, Seal: store.Seal($owner, $v.result), Result: $v.result}",
			new:   "$changed[$v.step] = store.Step{Kind: store.StepValue, Seal: store.Seal($owner, nil), Result: $v.result}",
			first: "TestWhatAChangeDoesToSteps",
		},
		{
			name: "operate-step-delta", without: "a completion, or a release, writes the steps of the record again",
			old: "$r.Steps = nil", new: "",
			in:    "Operator.next",
			first: "TestAChangeWritesOnlyTheSteps",
		},
		{
			name: "operate-step-attention", without: "an order that stopped between two steps is on no list once somebody has settled it",
			old: "if len(merged($seen, $r).Steps) > 0 {", new: "if false {",
			first: "TestWhatAChangeDoesToSteps",
		},
		{
			name: "operate-step-attention-none", without: "a released record that nobody has to settle is on the list",
			old: "if len(merged($seen, $r).Steps) > 0 {", new: "if true {",
			first: "TestAReleaseThatLeavesNoStep",
		},
		{
			name: "operate-step-again", without: "the open step of a released record cannot be settled as not executed",
			old:   "case $state == $StateReleased && !$v.completes() && len(named($r, $StepOpen)) == 0:",
			new:   "case $state == $StateReleased && !$v.completes():",
			first: "TestAReleasedRecordIsReleasedAgain",
		},
		{
			name: "operate-step-result", without: "an altered result of a step is shown as the recorded one",
			old: "case !$step.Sealed():", new: "case false:",
			in:    "Operator.StepResult",
			first: "TestResultsOfSteps",
		},
		{
			name: "operate-list-due", without: "ordinary retries fill the list of what somebody has to settle",
			old: `$l.Record.Attention != "" && store.Reached($l.Record.AttentionAt, $now)`, new: `$l.Record.Attention != ""`,
			first: "TestRecordsReleasedWithSteps",
		},
		{
			name: "operate-list-released", without: "every released record counts as one that somebody has to settle",
			old: `$l.State == $StateReleased && $l.Record.Attention != ""`, new: "$l.State == $StateReleased",
			first: "TestRecordsReleasedWithSteps",
		},
	}
}

// listingControls are the guards of listings.
func listingControls() []control {
	return []control{
		{
			name: "list-parts", without: "parts of results are listed as records that cannot be read",
			old: `"attribute_exists(#status)"`, new: `"attribute_exists(" + l.attr.recordKey().ref + ")"`,
			first: "TestWhatIsNoRecord",
		},
		{
			name: "list-operation", without: "an operation is listed with those whose names it begins",
			old: "if $err == nil && !$q.Names($listed) {", new: "if false {",
			first: "TestAnOperationIsNoPrefix",
		},
		{
			name: "list-rate", without: "a listing takes the capacity that requests need",
			old: "$p.due = time.Now().Add(time.Duration($units / $p.rate * float64(time.Second)))", new: "",
			first: "TestAListingWaits",
		},
		{
			name: "list-rate-saved", without: "a listing that was waited for reads in a burst",
			old:   "$p.due = time.Now().Add(time.Duration($units / $p.rate * float64(time.Second)))",
			new:   "if $p.due.IsZero() { $p.due = time.Now() }; $p.due = $p.due.Add(time.Duration($units / $p.rate * float64(time.Second)))",
			first: "TestWhatASlowReader",
		},
		{
			name: "list-context", without: "a listing whose caller has gone away waits for its next page",
			old: "case <-$ctx.Done(): return $ctx.Err() } }", new: "case <-make(chan struct{}): return nil } }",
			in:    "pace.wait",
			first: "TestAListingWhoseContextEnds",
		},
		{
			name: "list-pages", without: "a listing ends after its first page",
			old: "if len($page.last) == 0 {", new: "if true {",
			first: "TestAListingWaits",
		},
		{
			name: "list-no-index", without: "a table without the index counts as one that refuses requests",
			old: `strings.Contains($text, "specified index")`, new: "false",
			first: "TestATableWithoutTheIndex",
		},
	}
}
