package main

// reconcileControls are the guards of a question about a record, and of what an execution does that meets one.
func reconcileControls() []control {
	const anywhere = "TestAReconciliationThatFailsAnywhere"
	return []control{
		{
			name: "ask-owner", model: "NO_ASK_OWNER", without: "an answer is written over the claim of somebody else",
			old: "$kept || $held.Owner != $d.owner || $held.Status == $StatusCompleted", new: "$kept || $held.Status == $StatusCompleted",
			in: "releaseAs", first: "TestAQuestionWhoseClaimWasTaken",
		},
		{
			name: "ask-live", model: "NO_ASK_LIVE", without: "a resolver is asked beside an execution",
			old: "case $held.Status == $StatusInProgress && !$held.Lapsed($now):", new: "case false:", in: "judgeOpen", first: "Reconcile|Resolver",
		},
		{
			name: "ask-due", without: "a question is asked before it is due",
			old: "case $d.inquiry.Due && ($held.Parked() || $held.AttentionAt.After($now)):", new: "case $d.inquiry.Due && $held.Parked():",
			first: "Parked",
		},
		{
			name: "ask-parked", without: "a question is asked about what is parked",
			old: "case $d.inquiry.Due && ($held.Parked() || $held.AttentionAt.After($now)):", new: "case $d.inquiry.Due && $held.AttentionAt.After($now):",
			first: "Parked",
		},
		{
			name: "ask-counted", without: "a question that dies forgets those before",
			old:   "$next.Attention, $next.AttentionAt, $next.Derived, $next.Tries = $held.Attention, $next.Lease, $held.Derived, $held.Tries",
			new:   "$next.Attention, $next.AttentionAt, $next.Derived = $held.Attention, $next.Lease, $held.Derived",
			first: "Parked|Question",
		},
		{
			name: "ask-released", without: "a released record whose question dies counts as a crash",
			old: "if $held.Released() { $next.Reason = $ReasonAsked }", new: "", first: anywhere,
		},
		{
			name: "ask-kept", without: "what is recorded is forgotten earlier because somebody was asked",
			old: "if $next.Expiry.Before($d.mine.Expiry) { $next.Expiry = $d.mine.Expiry }", new: "", first: "TestARecordIsKept",
		},
		{
			name: "ask-stays-parked", without: "what is parked is handed over again because a question has died",
			old: "if $held.Parked() { $next.Attention = $held.Attention }", new: "", in: "judgeInProgress", first: "TestAParkedRecordStaysParked",
		},
		{
			name: "ask-off", without: "a handler that is turned off settles records",
			old: "if $w.disabled { $p.addf", new: "if false { $p.addf", in: "checkReconciling", first: "TestAHandlerThatIsTurnedOff",
		},
		{
			name: "ask-not-stored", without: "a response that is never stored is replayed because a resolver found it",
			old: "if $w.keeps != nil && !$w.keeps($out) { return nil, $errNotKept }", new: "", in: "wrapped.found", first: "TestAResponseThatIsNotStored|TestAResolverStores",
		},
		{
			name: "ask-late", without: "a resolver is believed that answers after its time",
			old: "case $found.Finding == $Untouched && $late:", new: "case $found.Finding == $Untouched && $late && false:", first: "NobodyCanTell",
		},
		{
			name: "ask-hand-over", without: "a record is parked before somebody has taken it",
			old: "$q.MaxTries > 0 && $d.mine.Tries >= $q.MaxTries && $q.Park != nil && !$d.mine.Parked()", new: "$q.MaxTries < 0", first: "TestWhatIsParked",
		},
		{
			name: "ask-not-handed-over", without: "a record is parked although nobody could take it",
			old: "if $err != nil { return $d.askAgain", new: "if false { return $d.askAgain", first: "TestWhatIsParked",
		},
		{
			name: "ask-put-back", without: "a question in vain is not counted if a client has met it",
			old: "$next.Owner = rand.Text()", new: "", in: "stillOpen", first: "TestAQuestionWhoseLeaseWasLost",
		},
		{
			name: "ask-marks", without: "the mark of a step that nobody has done stays, and the next execution waits for it",
			old: "if $s.Kind == $StepStarted { $next.Steps[$name] = $Step{} }", new: "if $s.Kind == $StepStarted { _ = $name }", in: "untouched",
			first: "TestAStepThatMayHaveBegun",
		},
		{
			name: "asked-unknown", model: "NO_ASKED_UNKNOWN", without: "what was UNKNOWN executes because a question has died",
			old: "case $Unsettled($held) && !$d.Resolves:", new: "case $Unsettled($held) && !$d.Resolves && $d.RefuseCrashed:", first: anywhere,
		},
		{
			name: "asked-released", without: "a released record waits for the lease of a question that has died",
			old: "$r.Reason == $ReasonReleased || $r.Reason == $ReasonAsked", new: "$r.Reason == $ReasonReleased", first: anywhere,
		},
		{
			name: "asked-parked", without: "a parked record is asked about again because a client has met it",
			old: "$next.Attention, $next.AttentionAt = $d.openAs, $d.openSince", new: "$next.AttentionAt = $d.openSince",
			first: "TestAParkedRecordStays",
		},
	}
}
