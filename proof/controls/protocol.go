package main

// claimControls are the guards of a claim.
func claimControls() []control {
	return []control{
		{
			name: "own-claim", model: "NO_OWN_CLAIM", without: "a claim whose reply was lost blocks itself",
			old: "case $held.Owner == $v.owner && $held.Status == $StatusInProgress:", new: "case false:", in: "judge",
		},
		{
			name: "own-claim-status", model: "NO_OWN_STATUS", without: "an own claim that someone made UNKNOWN executes",
			old: "case $held.Owner == $v.owner && $held.Status == $StatusInProgress:", new: "case $held.Owner == $v.owner:", in: "judge",
			first: "TestOwnClaimThatSomeoneMadeUnknownIsUnknown",
		},
		{
			name: "fingerprint", model: "NO_FINGERPRINT", without: "another request gets the stored result",
			old: `case $v.fingerprint == "" || $held.Fingerprint == $v.fingerprint:`, new: "case true:",
		},
		{
			name: "fingerprint-any-state", without: "another request executes after a crash, or learns of a running one",
			old: "$a, $same := $v.sameRequest($held); !$same {",
			new: `$a, $same := $v.sameRequest($held); !$same && $held.Status == "COMPLETED" {`,
		},
		{
			name: "fingerprint-version", without: "a record of another algorithm version counts as another request",
			old: `case $held.Fingerprint != "" && !$SameVersion($held.Fingerprint, $d.Fingerprint):`, new: "case false:",
			first: "TestFingerprintOfAnUnknownVersionIsUnreadable",
		},
		{
			name: "claimable", without: "an expired record is replayed for as long as DynamoDB keeps it",
			old: `case $held.Key == "" || $held.Claimable($now):`, new: `case $held.Key == "":`,
			in:    "judge",
			first: "TestRecordThatCompletedAndExpiredBeforeTheTakeoverIsClaimed",
		},
		{
			name: "claimable-status", model: "NO_CLAIM_LEASE",
			without: "a record in progress can be claimed over once its expiry has come",
			old:     "return !$live && $Reached($r.Expiry, $now)", new: "_ = $live; return $Reached($r.Expiry, $now)",
			suite: []string{"./memory"},
			first: "TestAnExpiredRecordIsProtectedWhileItsLeaseLives",
		},
		{
			name: "claimable-expiry", model: "NO_CLAIM_EXPIRY", without: "a result is claimed over within its retention",
			old: "return !$live && $Reached($r.Expiry, $now)", new: "return !$live",
			suite: []string{"./memory"},
			first: "TestAllocatedMemoryForLargeResponses",
		},
		{
			name: "claimable-any-status", model: "NO_GONE", without: "what is UNKNOWN, and what crashed, blocks its key beyond its expiry",
			old: "$live := $r.Status == $StatusInProgress && !$r.leaseOver($now)", new: "$live := $r.Status != StatusCompleted",
			suite: []string{"./memory"}, first: "TestWhatHasExpiredIsGone",
		},
		{
			name: "claimable-lease-in-progress", without: "a result whose claim had a long lease is replayed after its expiry",
			old: "$live := $r.Status == $StatusInProgress && !$r.leaseOver($now)", new: "$live := !$r.leaseOver($now)",
			suite: []string{"./memory"}, first: "Expir",
		},
		{
			name: "lease-absent", without: "a running execution of AWS Powertools that set no lease is taken over",
			old: "if $r.Lease.IsZero() { return $r.Expiry }", new: "",
			first: "TestRecordOfPowertools",
		},
		{
			name: "shortens-owner", without: "a takeover that was undone stays, because its lease is longer",
			old:   `$renews := $r.Owner != "" && $r.Owner == $next.Owner && $next.Status == $StatusInProgress`,
			new:   `$renews := $r.Owner != "" && $next.Status == $StatusInProgress`,
			suite: []string{"./memory"}, first: "TestTakeoverThatIsUndone",
			in: "Shortens",
		},
		{
			name: "shortens-no-owner", without: "a record that nobody holds is not renewed with an earlier lease",
			old:   `$renews := $r.Owner != "" && $r.Owner == $next.Owner && $next.Status == $StatusInProgress`,
			new:   "$renews := $r.Owner == $next.Owner && $next.Status == $StatusInProgress",
			suite: []string{"./memory"},
			in:    "Shortens",
			first: "MayMoveBack",
		},
		{
			name: "shortens-in-progress", without: "an owner cannot end its claim before the lease does",
			old:   `$renews := $r.Owner != "" && $r.Owner == $next.Owner && $next.Status == $StatusInProgress`,
			new:   `_ = $StatusInProgress; $renews := $r.Owner != "" && $r.Owner == $next.Owner`,
			suite: []string{"./memory"},
			in:    "Shortens",
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "shortens-unsaid", without: "a write that says no lease counts as one that moves it back",
			old:   "return $renews && !$next.Lease.IsZero() && $next.Lease.Before($r.Lease)",
			new:   "return $renews && $next.Lease.Before($r.Lease)",
			suite: []string{"./memory"},
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "shortens-equal", without: "a renewal that is delivered twice has lost its lease",
			old:   "return $renews && !$next.Lease.IsZero() && $next.Lease.Before($r.Lease)",
			new:   "return $renews && !$next.Lease.IsZero() && !$next.Lease.After($r.Lease)",
			suite: []string{"./memory"},
			first: "TestStoreKeepsTheContract",
		},
		{
			name: "gone", without: "a record that vanished between refusal and look is unreadable",
			old: `case $held.Key == "" || $held.Claimable($now):`, new: `case $held.Key != "" && $held.Claimable($now):`,
			in:    "judge",
			first: "TestAClaimThatMeetsATransactionReads",
		},
		{
			name: "live-lease", without: "a running execution is taken over",
			old: "case !$held.Lapsed($now):", new: "case false:",
		},
		{
			name: "lapsed-lease", model: "NO_LAPSE", without: "a crashed execution blocks its key for ever",
			old: "case !$held.Lapsed($now):", new: "case true:",
		},
		{
			name: "lease-over-expiry", model: "NO_LEASE_FIRST",
			without: "an execution that outlives the expiry loses its protection",
			old:     "return $Reached($r.ProtectedUntil(), $now)",
			new:     "return $Reached($r.ProtectedUntil(), $now) || $Reached($r.Expiry, $now)",
			first:   "TestAnExpiredRecordIsProtectedWhileItsLeaseLives",
		},
		{
			name: "ends-at-its-end", model: "NO_END_INSTANT", without: "a lease holds at the instant of its end",
			old: "return !$now.Before($end)", new: "return $now.After($end)",
		},
		{
			name: "lease-rounded-up", without: "a lease ends before it should",
			old: "return $down.Add($unit)", new: "return $down",
			in:    "roundUp",
			first: "TestWhateverHappensIsWhatTheReferenceSays",
		},
		{
			name: "expiry-after-lease", model: "NO_EXPIRY_FLOOR", without: "TTL deletes what protects an execution",
			old: "if $t.Before($lease) {", new: "if false {",
			in:    "expiryAt",
			first: "TestExpiryNeverComesBeforeTheEndOfTheLease",
		},
		{
			name: "refuse", model: "NO_REFUSE", without: "an execution that must not be repeated is repeated after a crash",
			old: "|| !$RefuseCrashed || $Resolves:", new: "|| true:",
		},
		{
			name: "refuse-keeps-owner", without: "the owner of a refused record cannot bring its result",
			old:   "$next.Expiry = $ExpiryAt($now.Add($v.timing.UnknownRetention), time.Time{})",
			new:   "$next.Expiry = $ExpiryAt($now.Add($v.Timing.UnknownRetention), time.Time{}); $next.Owner = $v.owner",
			first: "TestWhateverHappensIsWhatTheReferenceSays",
		},
		{
			name: "unknown-outcome", model: "NO_UNKNOWN", without: "an execution of unknown outcome is repeated",
			old: "return $d.takeOver($held) } return $Judgement{result: $Result{Outcome: $UnknownOutcome, Reason: $held.Reason}}",
			new: "return $d.takeOver($held) }; return $d.takeOver($held)",
		},
		{
			name: "unreadable-status", without: "a record that nobody understands is executed over",
			old: `return $d.takeOver($held) } return $Judgement{result: $Result{Outcome: $UnknownOutcome, Reason: $held.Reason}} default: return $Judgement{result: $UnreadableRecord("its status is none of INPROGRESS, COMPLETED, UNKNOWN")}`,
			new: "return $d.takeOver($held) }; return $Judgement{result: $Result{Outcome: $UnknownOutcome, Reason: $held.Reason}}; default: return $d.takeOver($held)",
		},
		{
			name: "replay-digest", without: "an altered result is replayed",
			old: `if $held.Seal != "" && !$held.Sealed($held.Result) {`, new: "if false {",
			in: "Delivery.replay",
		},
		{
			name: "replay-json", without: "a result of Powertools that is no JSON is replayed",
			old: `case $held.Seal == "" && !json.Valid($result):`, new: "case false:",
			first: "FuzzStoredResult",
		},
		{
			name: "fail-closed", model: "NO_FAIL_CLOSED", without: "the handler runs although the store did not answer",
			old: "if $f.repeat($tries, $m, $err) { continue } return $d.giveUp($ctx, &$f, $f.cause, $end), $m, false",
			new: "if $f.repeat($tries, $m, $err) { continue }; $d.giveUp($ctx, &$f, $f.cause, $end); $d.mine = $m.next; return Result{}, $m, true",
		},
		{
			name: "undo", model: "NO_UNDO", without: "a claim of unknown outcome stays behind and blocks the key",
			old: "$v.undo($ctx, *$f.unresolved, $end)", new: "_ = $end",
		},
		{
			name: "undo-never-executes", model: "NO_UNDO_RULE",
			without: "a claim that was undone executes if a read still shows it",
			old:     "if $f.repeat($tries, $m, $err) { continue } return $d.giveUp($ctx, &$f, $f.cause, $end), $m, false",
			new:     "if $f.repeat($tries, $m, $err) { continue }; gone := $d.giveUp($ctx, &$f, $f.cause, $end); if held, _, err := $d.Store.Get(context.WithoutCancel($ctx), $d.RecordKey); err == nil && held.Owner == $d.owner { $d.mine = held; return Result{}, $m, true }; return gone, $m, false",
		},
		{
			name: "refused-answer", model: "NO_REFUSED_ANSWER", without: "whoever makes a record UNKNOWN executes",
			old: "if $won && $m.kind == $MoveRefuse {", new: "if false {",
		},
		{
			name: "refusal-not-undone", model: "NO_REFUSE_STAYS",
			without: "a refusal of unknown outcome is undone, and the crash forgotten",
			old:     "if $m.kind != $MoveRefuse && $m.kind != $MoveLook && $MayBeApplied($err) {", new: "if $m.kind != $MoveLook && $MayBeApplied($err) {",
			first: "TestRefusalOfUnknownOutcomeStands",
		},
		{
			name: "undo-only-unknown", without: "a claim that was certainly not applied is undone",
			old: "if $m.kind != $MoveRefuse && $m.kind != $MoveLook && $MayBeApplied($err) {", new: "if $m.kind != $MoveRefuse && $m.kind != $MoveLook {",
			first: "TestThrottlingIsNotAnsweredWithAFlood",
		},
		{
			name: "undo-unknown", without: "a claim that may have been applied is not undone",
			old: "if $m.kind != $MoveRefuse && $m.kind != $MoveLook && $MayBeApplied($err) {", new: "if false {",
		},
		{
			name: "undo-detached", without: "a caller that gives up leaves its claim behind",
			old: "$Retry($WithinDetached($ctx, $end), func", new: "$Retry(within($ctx, $end), func",
		},
		{
			name: "undo-restores", model: "NO_UNDO_RESTORE", without: "a takeover that is undone deletes what it took over",
			old: "if $m.kind == $MoveClaim { $ours.StepWrites", new: "if true { $ours.StepWrites",
		},
		{
			name: "undo-own-token", model: "NO_UNDO_TOKEN",
			without: "a late repetition of an undone takeover executes nothing but blocks the key",
			old:     "$seen.Owner, $seen.Lease = rand.Text(), $d.Now().Truncate(time.Millisecond)",
			new:     "$seen.Lease = $d.Now().Truncate(time.Millisecond)",
		},
		{
			name: "undo-lease", model: "NO_UNDO_LEASE", without: "what was taken back is blocked until a lease ends that never ran",
			old:   "$seen.Owner, $seen.Lease = rand.Text(), $d.Now().Truncate(time.Millisecond)",
			new:   "$seen.Owner, $seen.Lease = rand.Text(), time.Time{}",
			first: "TestTakeoverThatIsUndone",
		},
		{
			name: "undo-lease-absent", without: "so is a record of AWS Powertools that had no lease",
			old:   "$seen.Owner, $seen.Lease = rand.Text(), $d.Now().Truncate(time.Millisecond)",
			new:   "$seen.Owner = rand.Text()",
			first: "TestTakeoverThatIsUndone",
		},
		{
			name: "undo-time", without: "an outage leaves no time for the undo",
			old: "$end.Add(-min($UndoBudget, time.Until($end)/3))", new: "$end",
		},
		{
			name: "claim-half-time", without: "a reply that never comes takes the whole budget",
			old: "($Record, bool, error) { $ctx, $cancel := $HalfOf($ctx)",
			new: "($Record, bool, error) { $ctx, $cancel := context.WithCancel($ctx)",
			in:  "send",
		},
		{
			name: "claim-budget", without: "an outage is not answered within the budget",
			old: "$longest := $ClaimBudget", new: "$longest := time.Minute", in: "tryClaim",
		},
		{
			name: "undo-in-transaction", without: "a claim of unknown outcome that then meets a transaction stays behind",
			old:   "} else if !$f.wait($tries) { return $d.giveUp($ctx, &$f, $f.cause, $end), $m, false",
			new:   "} else if !$f.wait($tries) { return unanswered($f.cause), $m, false",
			first: "TestAClaimThatThenMeetsATransactionIsUndone",
		},
		{
			name: "claim-budget-lease", without: "a claim may take longer than the lease that it takes leaves for a renewal",
			old: "$longest = min($longest, ($d.Timing.Lease-$d.Timing.Margin)/2)", new: "_ = $longest",
			first: "TestClaimWithoutADeadlineEndsWhileItsLeaseStillHolds",
		},
		{
			name: "read-half-time", without: "a look that is never answered takes the whole budget",
			old: "$ctx, $cancel := $HalfOf($ctx)", new: "$ctx, $cancel := context.WithCancel($ctx)",
			in: "look", first: "TestAnOutageWhileWaiting",
		},
		{
			name: "claim-worn", model: "NO_WORN", without: "a handler starts under a lease that is partly used up",
			old: "if !$claimed || !$d.worn() {", new: "if true {",
			first: "PartlyUsedUp",
		},
		{
			name: "claim-worn-deadline", without: "so does one with a deadline, after its machine was suspended",
			old: "$lost := $d.Timing.Margin / 2", new: "$lost := time.Hour",
			in: "worn", first: "PartlyUsedUp",
		},
		{
			name: "claim-worn-lease", without: "so does one without a deadline",
			old: "$lost = $d.Timing.Lease / 3", new: "$lost = time.Hour",
			in: "worn", first: "PartlyUsedUp",
		},
		{
			name: "claim-worn-undone", without: "a claim that took too long blocks the one that follows it",
			old: "$d.undo($ctx, $taken, $d.undoEnd(time.Now()))", new: "_ = $taken",
			first: "PartlyUsedUp",
		},
		{
			name: "claim-most", without: "where every claim takes too long, claiming does not end",
			old: "for range $MaxClaims {", new: "for range 100 * $MaxClaims {",
			first: "TestClaimsThatAllTakeTooLong",
		},
		{
			name: "claim-over", without: "a handler starts after its deadline",
			old: "if $d.over(time.Now()) { return true }", new: "",
			in: "worn", first: "TestAClaimThatComesAfterItsDeadline",
		},
		{
			name: "untouched-released", without: "a wrong password blocks the key of an effect that must not be repeated",
			old: "case $e.Untouched:", new: "case false:",
			first: "TestAResponseThatMeansThatNothingHappenedReleases",
		},
		{
			name: "max-result", without: "one request costs thousands of write units",
			old: "if $w.maxResult > 0 && len($result) > $w.maxResult {", new: "if false {",
			first: "TestAResultAboveTheBoundIsSentAndNeverExecutedAgain",
		},
		{
			name: "claim-new-token", without: "a claim that is begun anew keeps its token, and a copy of its undo ends it",
			old:   "$d.owner, $d.started, $d.deadline = rand.Text(), time.Now(), nearDeadline($ctx)",
			new:   "if $d.owner == \"\" { $d.owner = rand.Text() }; $d.started, $d.deadline = time.Now(), nearDeadline($ctx)",
			first: "TestAClaimThatIsBegunAnewIsNotEndedByTheUndoOfTheFirst",
		},
		{
			name: "claim-over-once", without: "a claim is begun anew although the deadline has come",
			old: "if $d.over(time.Now()) { break }", new: "",
			in: "claim", first: "TestAClaimThatComesAfterItsDeadline",
		},
		{
			name: "undo-end-over", without: "there is no time to undo a claim that comes after its deadline",
			old:   "if !$d.over($now) && $d.deadline.Before($end) && !$d.deadline.IsZero() {",
			new:   "if $d.deadline.Before($end) && !$d.deadline.IsZero() {",
			first: "TestAClaimThatComesAfterItsDeadline",
		},
		{
			name: "undo-end-deadline", without: "the undo of a claim that took too long takes the time to answer",
			old:   "if !$d.over($now) && $d.deadline.Before($end) && !$d.deadline.IsZero() {",
			new:   "if false {",
			first: "TestAClaimThatIsTakenBack",
		},
		{
			name: "claim-conflict", model: "NO_BUSY_LOOK", without: "duplicates that repeat their claim keep the owner from its commit",
			old: "$busy := $InTransaction($err)", new: "$busy := false; _ = $InTransaction",
			first: "TestAClaimThatMeetsATransaction",
		},
		{
			name: "claim-conflict-pause", without: "a key that is in a transaction gets a flood of claims",
			old: "if !$busy { $moves++ } else if !$f.wait($tries) {", new: "if !$busy { $moves++ } else if $f.count++; $f.count > 1000 {",
			first: "TestAClaimThatMeetsATransaction",
		},
		{
			name: "claim-conflict-moves", without: "a record that does not change at all is taken for one that never rests",
			old: "if !$busy { $moves++ } else if !$f.wait($tries) {", new: "if $moves++; $busy && !$f.wait($tries) {",
			first: "TestAClaimThatMeetsATransaction",
		},
		{
			name: "attempt", without: "a takeover of a Powertools record counts as a first execution",
			old: "if $held.Attempt == 0 {", new: "if false {",
		},
		{
			name: "unleased", model: "NO_UNLEASED", without: "a renewal whose reply was lost makes the owner a stranger",
			old:   "$mine.Lease, $mine.Expiry, $mine.StepWrites = time.Time{}, time.Time{}, $AnyStepWrites",
			new:   "$mine.Expiry, $mine.StepWrites = time.Time{}, $AnyStepWrites",
			first: "TestFarDeadlineCountsAsNone",
		},
		{
			name: "crashed-kept", model: "NO_CRASHED_KEPT", without: "a crashed record is deleted before it can be settled",
			old: "if $RefuseCrashed || $d.inquiry != nil { $keep", new: "if $d.inquiry != nil { $keep",
			first: "TestWhateverHappensIsWhatTheReferenceSays",
		},
	}
}

// executionControls are the guards around a handler.
func executionControls() []control {
	return []control{
		{
			name: "panic-settles", without: "a panic leaves the key blocked",
			old: "$v.settle($hctx, $v.withSteps($v.withCommit($v.panicked($returned)), nil))", new: "(Result{})",
			first: "TestEndingsByMarkAndPolicy",
		},
		{
			name: "panic-after-return", without: "a panic after the effect leads to a second execution",
			old: "case $Returned:", new: "case false:",
			in:    "crashed",
			first: "TestPanicOfATracerAfterTheHandlerReturnedDoesNotRelease",
		},
		{
			name: "panic-refuse", without: "a panic is repeated although crashes must not be",
			old: "case $RefuseCrashed:", new: "case false:",
			in: "crashed",
		},
		{
			name: "resolver-first", model: "NO_RESOLVER_FIRST",
			without: "a crashed execution is repeated without asking the resolver",
			old:     "$Resolves && $under.Recovered", new: "false",
		},
		{
			name: "resolver-recovered", without: "the resolver is asked about a first execution",
			old: "$Resolves && $under.Recovered", new: "$Resolves",
			first: "TestResolvedResponseIsStoredWithoutCookiesAndMarked",
		},
		{
			name: "margin", model: "NO_MARGIN", without: "a process that is killed late has lost its lease",
			old: "max(time.Until($deadline), 0) + $Margin", new: "max(time.Until($deadline), 0)",
		},
		{
			name: "reserve", without: "the handler takes the time that completing needs",
			old: "$reserve := min($Reserve, time.Until($v.deadline)/10)", new: "$reserve := time.Duration(0)",
		},
		{
			name: "reserve-tenth", without: "a short invocation loses its time to the reserve",
			old: "min($Reserve, time.Until($v.deadline)/10)", new: "$Reserve",
		},
		{
			name: "far-deadline", without: "a crashed process blocks its key until a deadline hours away",
			old: "time.Until($deadline) <= $FarDeadline", new: "true",
			first: "TestFarDeadline",
		},
		{
			name: "heartbeat", without: "an execution without a deadline loses its lease",
			old: "$held.Add($lease/3-$lease)", new: "$held.Add($lease*3)",
		},
		{
			name: "heartbeat-cancels", model: "NO_CANCEL", without: "a handler whose lease is lost is not told",
			old: "$cancel($ErrLeaseLost)", new: "_ = err",
		},
		{
			name: "heartbeat-joined", without: "a renewal may come after the settlement",
			old: "<-$joined", new: "_ = $joined",
			in: "background.join",
		},
		{
			name: "heartbeat-sent", model: "NO_SENT_TIME", without: "a lease counts from when its renewal was answered",
			old:   "$begun := time.Now(); if !$last.IsZero() && !$begun.Before($last) { return nil } $tries, $cancel := context.WithDeadline($ctx, $limit); $err := $d.renew($tries)",
			new:   "$begun := time.Now(); if !$last.IsZero() && !$begun.Before($last) { return nil }; $tries, $cancel := context.WithDeadline($ctx, $limit); $err := $d.renew($tries); $begun = time.Now()",
			first: "TestRenewedLeaseCountsFromWhenItWasAskedFor",
		},
		{
			name: "heartbeat-margin", without: "a handler is told only when its lease has ended",
			old: "$held.Add(-$d.Timing.Margin)", new: "$held",
		},
		{
			name: "renewal-overtaken", without: "a handler whose later renewal came first is told that it has lost its lease",
			old:   "case $err == nil && $held.Owner == $d.owner && $held.Status == $StatusInProgress:",
			new:   `case $err == nil && $held.Owner == "nobody":`,
			first: "TestARenewalThatFindsALaterOne",
		},
		{
			name: "renewal-taken", without: "a handler whose record was taken over is not told",
			old:   "case $err == nil && $held.Owner == $d.owner && $held.Status == $StatusInProgress:",
			new:   "case $err == nil && $held.Status == $StatusInProgress:",
			first: "TestHandlerIsCancelledAtOnce",
		},
		{
			name: "renewal-refused", without: "so is one whose record someone made UNKNOWN",
			old:   "case $err == nil && $held.Owner == $d.owner && $held.Status == $StatusInProgress:",
			new:   "case $err == nil && $held.Owner == $d.owner:",
			first: "TestHandlerIsCancelledAtOnce",
		},
		{
			name: "renewal-denied", without: "credentials that expire for a moment end a long execution",
			old: "case !$Pause($ctx, $failures): return $err", new: "case !mayPass($err) || !$Pause($ctx, $failures): return $err",
			in: "renew", first: "TestADeniedRenewal",
		},
		{
			name: "renewal-half-time", without: "a renewal that is never answered is not repeated",
			old: "$ctx, $cancel := $HalfOf($ctx)", new: "$ctx, $cancel := context.WithCancel($ctx)",
			in:    "tryRenew",
			first: "TestRenewalThatIsNeverAnswered",
		},
		{
			name: "overrun", model: "NO_OVERRUN", without: "a handler that overruns its deadline loses its claim although its process lives",
			old: "$d.beside.start($ctx, $d.renewOverrun)", new: "_ = $d.renewOverrun",
			first: "TestALiveProcess",
		},
		{
			name: "overrun-detached", without: "so it does because its context has ended",
			old: "context.WithCancel(context.WithoutCancel($ctx))", new: "context.WithCancel($ctx)",
			in: "background.start", first: "TestALiveProcess",
		},
		{
			name: "overrun-most", without: "a handler that hangs blocks its key for ever",
			old: "$d.renewUntil($ctx, $first, $first.Add($margin/4), $d.deadline.Add($LongestOverrun))",
			new: "$d.renewUntil($ctx, $first, $first.Add($margin/4), time.Time{})", first: "TestAnOverrunIsProtected",
		},
		{
			name: "overrun-most-far", without: "so does one whose deadline is hours away",
			old: "$last = $deadline.Add($LongestOverrun)", new: "_ = $deadline",
			in: "withHeartbeat", first: "TestAnOverrunIsProtected",
		},
		{
			name: "overrun-late", without: "a process that is about to be killed sends a renewal, which outlives it",
			old: "time.Until($d.deadline)+$d.Timing.Margin/2", new: "time.Until($d.deadline)",
			first: "TestAnOverrunWithinHalfOfTheMargin",
		},
		{
			name: "overrun-joined", without: "a renewal may come after the settlement of a handler that has overrun",
			old: "if !$overrun.Stop() { $d.beside.end() }", new: "$overrun.Stop()",
			first: "Overrun|LiveProcess",
		},
		{
			name: "overrun-over", without: "renewals begin after the handler has ended",
			old: "if $b.over || $b.held || $b.run == nil { return }", new: "if $b.held || $b.run == nil { return }",
			in:    "background.begin",
			first: "TestARenewalDoesNotBegin",
		},
		{
			name: "mark-cautious", without: "an error that says that nothing happened hides one that says that something did",
			old:   "$found = max($found, $MarkOf($wrapper.Unwrap()))",
			new:   "if $found == Unmarked { $found = $MarkOf($wrapper.Unwrap()) }",
			first: "MostCautious",
		},
		{
			name: "mark-joined-cautious", without: "the same of errors that were joined",
			old: "$found = max($found, $MarkOf($e))", new: "if $found == Unmarked { $found = $MarkOf($e) }",
			first: "MostCautious",
		},
		{
			name: "mark-wrapped", without: "a mark inside of another error does not count",
			old: "$found = max($found, $MarkOf($wrapper.Unwrap()))", new: "_ = $wrapper",
			first: "MostCautious",
		},
		{
			name: "mark-joined", without: "nor does one among errors that were joined",
			old: "$found = max($found, $MarkOf($e))", new: "_ = $e",
			first: "MostCautious",
		},
		{
			name: "interrupted", without: "an execution cut off by its deadline is repeated although it must not be",
			old: "case $RefuseCrashed && $ctx.Err() != nil:", new: "case false:",
		},
		{
			name: "error-policy", without: "a failed execution is repeated although it must not be",
			old: "if $RefuseFailed {", new: "if false {",
		},
		{
			name: "wait-worthwhile", without: "a delivery that waited begins at the last moment",
			old: "case !$v.worthwhile($started):", new: "case false:",
		},
		{
			name: "wait-deadline", without: "a delivery waits until it has no time to answer",
			old: "$end = $Answerable($deadline, $started)", new: "$end = $deadline",
			in: "await",
		},
		{
			name: "wait-growing", without: "waiting floods the table with reads",
			old: "min($FirstLook<<min($n, 10), $LastLook)", new: "$FirstLook",
		},
	}
}

// settlementControls are the guards of completing and releasing.
func settlementControls() []control {
	return []control{
		{
			name: "settle-detached", without: "a caller that gives up loses the result",
			old: "$v.note($err); $ctx = $WithinDetached($ctx, $end)", new: "$v.note($err); $ctx = within($ctx, $end)", in: "settle",
		},
		{
			name: "settle-before-kill", without: "a completion is cut off by Lambda's kill",
			old: "if $d.deadline.Sub($now) >= $d.Timing.Reserve/10 { return $Answerable($d.deadline, $now), nil }", new: "",
		},
		{
			name: "settle-within-lease", without: "an execution settles while another one runs, which has found its lease lapsed",
			old: "if $protected.Sub($now) < $least { return $d.extend($ctx, $now, $budget) } return $protected", new: "_ = $least; return end",
			first: "TestASettlementEndsWhileItsLeaseLives",
		},
		{
			name: "settle-extends", without: "a handler that overran, or has a very large result, has no time to settle",
			old:   "if $protected.Sub($now) < $least { return $d.extend($ctx, $now, $budget) }",
			new:   "_ = $least",
			first: "TestASettlementEndsWhileItsLeaseLives|Overruns",
		},
		{
			name: "landed", model: "NO_COMMIT_CHECK",
			without: "a completion whose reply was lost is taken for someone else's",
			old:     `case strings.HasPrefix($held.Seal, $v.owner+"."):`, new: `case strings.HasPrefix($held.Seal, "nobody."):`,
		},
		{
			name: "complete-absent", model: "NO_STORE_IF_GONE", without: "a result whose record was deleted is lost",
			old: `case $d.inquiry == nil && ($held.Key == "" || $held.Claimable($now)):`, new: "case false:",
			in: "conclude",
		},
		{
			name: "complete-unknown", without: "an owner cannot bring the result of what someone made UNKNOWN",
			old: "case $held.Owner == $v.owner && $held.Status != $StatusCompleted:", new: "case false:",
		},
		{
			name: "complete-takeover", model: "NO_OTHER_LAPSED", without: "a result is lost because someone else crashed",
			old: "case $d.inquiry == nil && $next.Status == $StatusCompleted && $d.lapsedElsewhere($held, $now):", new: "case false:",
		},
		{
			name: "complete-takeover-same", without: "a result is stored under another request",
			old: "return $same && $held.Status == $StatusInProgress && $held.Lapsed($now)",
			new: "_ = $same; return $held.Status == $StatusInProgress && $held.Lapsed($now)",
		},
		{
			name: "complete-live", without: "a stale owner takes the record from a running execution",
			old: "return $same && $held.Status == $StatusInProgress && $held.Lapsed($now)",
			new: "return $same && $held.Status == $StatusInProgress",
		},
		{
			name: "all-agree", model: "NO_OTHER_RESULT", without: "two callers of one request get two results",
			old: "!$same || $ours != $StatusCompleted {", new: "true { _ = $same",
		},
		{
			name: "elsewhere-same", model: "NO_FINGERPRINT_ELSEWHERE", without: "a caller gets the result of another request",
			old: "!$same || $ours != $StatusCompleted {", new: "$ours != $StatusCompleted { _ = $same",
		},
		{
			name: "elsewhere-running", model: "NO_OTHER_RUNNING",
			without: "a stale owner answers with a result that may not be the stored one",
			old:     "$r := $InProgress($held, $now); $r.Outcome = $Superseded; return $r",
			new:     "return Result{Outcome: Executed}",
		},
		{
			name: "elsewhere-superseded", model: "NO_SUPERSEDED", without: "a delivery that executed says that it did not",
			old: "$r := $InProgress($held, $now); $r.Outcome = $Superseded; return $r", new: "return $InProgress($held, $now)",
			first: "TestLostLeaseAtCompletion",
		},
		{
			name: "result-lost", model: "NO_LAST_WORD", without: "an effect whose result could not be stored is repeated",
			old: "return $v.becomeUnknown($ctx, $ReasonResultLost)", new: "return Result{Outcome: Executed}",
		},
		{
			name: "never-released-after", model: "NO_KEEP", without: "an execution whose completion failed is repeated",
			old: "return $v.becomeUnknown($ctx, $ReasonResultLost)", new: "$v.release($ctx); return Result{Outcome: Executed}",
		},
		{
			name: "repeatable", without: "an effect that may be repeated needs a person after an outage",
			old: "case $d.Repeatable && !$NeverFits($err):", new: "case false:",
			first: "TestRepeatableEffects",
		},
		{
			name: "repeatable-never-fits", model: "NO_NEVER_FITS", without: "an effect whose result can never be stored is repeated for ever",
			old: "case $d.Repeatable && !$NeverFits($err):", new: "case $d.Repeatable:",
			first: "TestAResultThatCanNeverBeStored",
		},
		{
			name: "repeatable-rejected", without: "so is one whose result the store never takes for another reason",
			old:   "$failed.Kind == $FailureTooLarge || $failed.Kind == $FailureRejected",
			new:   "$failed.Kind == $FailureTooLarge",
			first: "TestAResultThatIsRefusedAsInvalid",
		},
		{
			name: "own-result", model: "NO_OWN_RESULT", without: "an outage hides the result of the handler",
			old: "$d.conclude($ctx, $next); if $err != nil { $d.Report.Settlement = $Failed; $d.note($err); return $Result{Outcome: $Executed}",
			new: "$d.conclude($ctx, $next); if $err != nil { $d.Report.Settlement = $Failed; $d.note($err); return unanswered($err)",
		},
		{
			name: "last-word", without: "no time is kept to mark a result as lost",
			old: "$tries = $KeepForLast($ctx)", new: "$tries = $ctx", in: "complete",
		},
		{
			name: "complete-retried", without: "one lost message loses the result",
			old: "if !$MayPass($err) || !$Pause($ctx, $failures) { return $Result{}, $err",
			new: "if true { return $Result{}, $err",
		},
		{
			name: "release-retried", without: "one lost message blocks the key until the lease ends",
			old: "$err := $Retry($ctx, func($ctx context.Context) ($err error) { $tries++",
			new: "$err := try($ctx, func($ctx context.Context) ($err error) { $tries++",
			in:  "Delivery.releaseGone",
		},
		{
			name: "release-unknown", model: "NO_RELEASE_UNKNOWN", without: "nothing has happened, but what someone made UNKNOWN meanwhile stays so",
			old: "$deleted, $err = $d.Store.Delete($ctx, $unknown); if $tries > 1 && !$deleted {", new: "_ = $unknown; if $tries > 1 && !$deleted {",
			first: "TestNotExecutedReleases",
		},
		{
			name: "release-lost-reply", without: "a release whose reply was lost, and whose repetition fails, counts as failed",
			old: "if $tries > 1 && !$deleted { return nil }", new: "",
			first: "TestAReleaseWhoseReplyWasLost",
		},
		{
			name: "settle-size", without: "a large result is lost on a slow network",
			old: "$budget := $d.Timing.ClaimBudget + $transfer", new: "$budget := $d.Timing.ClaimBudget",
			first: "LargeResult",
		},
		{
			name: "complete-half-time", without: "a reply that never comes takes the whole settlement",
			old: "$PartOf($ctx, $TransferTime(len($next.Result)))", new: "context.WithCancel($ctx)",
			first: "TestCompletionIsRetried",
		},
		{
			name: "complete-share", without: "the write of a large result is cut off at half of the time that is left",
			old: "$PartOf($ctx, $TransferTime(len($next.Result)))", new: "$PartOf($ctx, 0)",
			first: "LargeResult",
		},
		{
			name: "complete-whole-time", without: "a large result that cannot be written leaves no time to mark it as lost",
			old: "max($left/2, min($needs, $left))", new: "max($left/2, $needs)",
			first: "LargeResult",
		},
		{
			name: "half-of-nothing", without: "a call for which no time is left is not cut short at all",
			old: "$left := max(time.Until($deadline), 0)", new: "$left := time.Until($deadline)",
			in:    "partOf",
			first: "TestAnUndoForWhichNoTimeIsLeft",
		},
		{
			name: "read-budget", without: "what could be stored cannot be replayed: reading has only what is left of the claim",
			old: "$ctx = $d.forReading($ctx)", new: "_ = $d.forReading($ctx)",
			first: "ReadOf|ReadingA",
		},
		{
			name: "read-before-kill", without: "a result is read until the process is killed",
			old: "$end = $Answerable($d.deadline, $now)", new: "$end = $d.deadline",
			in:    "forReading",
			first: "ReadOf|ReadingA",
		},
		{
			name: "read-longest", without: "a result that cannot be read keeps a delivery without a deadline for ever",
			old: "$end := $now.Add($LongestRead)", new: "$end := $now.Add(1000*$LongestRead)",
			first: "ReadOf|ReadingA",
		},
		{
			name: "read-outage", without: "an outage while a large result is read is answered only at the deadline",
			old: "$outage := !time.Now().Before($end) && !$UnansweredTry($err)", new: "_ = $end; $outage := false",
			first: "TestAnOutageOfReads",
		},
		{
			name: "read-slow", without: "a read that was only slow counts as an outage",
			old: "$outage := !time.Now().Before($end) && !$UnansweredTry($err)", new: "$outage := !time.Now().Before($end)",
			first: "ReadOf|ReadingA|OutageOfReads",
		},
		{
			name: "read-most", without: "a large result that is read piece by piece has only half of the time that is left",
			old: "$PartOf($ctx, max(time.Until($deadline), 0)/4*3)", new: "$PartOf($ctx, min(max(time.Until($deadline), 0), 0))",
			first: "ReadOf|ReadingA",
		},
		{
			name: "read-again", without: "a reply that never comes takes all of the time for reading",
			old: "$PartOf($ctx, max(time.Until($deadline), 0)/4*3)", new: "$PartOf($ctx, max(time.Until($deadline), 0))",
			first: "ReadOf|ReadingA",
		},
		{
			name: "read-retried", without: "one lost message hides a result",
			old:   "if $err == nil || !$MayPass($err) || $outage || !$Pause($ctx, $failures) { return $result, $err }",
			new:   "_ = $outage; return $result, $err",
			first: "ReadOf|ReadingA",
		},
	}
}
