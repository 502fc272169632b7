package main

// sweepControls are the guards of what goes through a whole store: of its pages, its judgement, its writes and its cursor.
func sweepControls() []control {
	of := []string{"./operate"}
	return []control{
		{
			name: "list-after", without: "a listing on DynamoDB begins anew where it should go on",
			old: "$all.start = $s.attr.key($q.After)", new: "", first: "TestListingRequests",
		},
		{
			name: "list-after-memory", without: "so does one in memory",
			old: "$key > $q.After &&", new: "", suite: []string{"./memory"}, first: "TestConformance|TestStore",
		},
		{
			name: "sweep-grace", without: "a sweep whose clock is ahead takes live records for lapsed ones",
			old: "$store.Reached($r.ProtectedUntil().Add($Grace), $now)", new: "store.Reached($r.ProtectedUntil(), $now)",
			suite: of, first: "TestAClockThatIsWrong",
		},
		{
			name: "sweep-policy", without: "a sweep makes records UNKNOWN whose handler executes again",
			old: "$refuses := $w.config.Policies[$r.Operation()] == idempotent.Refuse", new: "$refuses := true || $w == nil",
			suite: of, first: "TestWhatASweepMakes",
		},
		{
			name: "sweep-resumable", without: "a sweep blocks an execution that the next request would resume",
			old: "case $saw == sightUnsettled, $refuses && !$r.Resumable() && !foreign($r):", new: "case $saw == sightUnsettled, $refuses && !foreign($r):",
			suite: of, first: "TestWhatASweepMakes",
		},
		{
			name: "sweep-foreign", without: "a sweep writes records of AWS Powertools",
			old: "case $saw == sightUnsettled, $refuses && !$r.Resumable() && !foreign($r):", new: "case $saw == sightUnsettled, $refuses && !$r.Resumable():",
			suite: of, first: "TestWhatASweepMakes",
		},
		{
			name: "sweep-unsettled", without: "a record that was UNKNOWN is executed again once whoever was to settle it has died",
			old: `case $r.Reason != "": return sightUnsettled`, new: `case false: return sightUnsettled`,
			suite: of, first: "TestWhatASweepMakes",
		},
		{
			name: "sweep-parked", without: "a sweep takes a record out of those that are parked",
			old: `if $r.Attention != "" { return $r } return $w.listed($r)`, new: "return $w.listed($r)",
			suite: of, first: "TestWhatASweepMakes",
		},
		{
			name: "sweep-expiry", without: "what became UNKNOWN is gone before anybody has settled it",
			old: "if $kept.After($r.Expiry) { $r.Expiry = $kept }", new: "_ = $kept",
			suite: of, first: "TestWhatASweepMakes",
		},
		{
			name: "sweep-own", without: "a sweep looks at the record of its own cursor",
			old: "case $listed.Operation() == SweepOperation || $w.sight($listed) == sightNothing:", new: "case $w.sight($listed) == sightNothing:",
			suite: of, first: "TestASweepLeavesCursorsAlone",
		},
		{
			name: "sweep-dry", without: "a dry run makes records UNKNOWN",
			old: "if $w.config.DryRun { $count() return nil }", new: "",
			suite: of, first: "TestADryRunWritesNothing",
		},
		{
			name: "sweep-landed", without: "a write whose reply was lost counts as that of somebody else",
			old: "case $swapped, landed($held, $next):", new: "case $swapped, false && landed($held, $next):",
			suite: of, first: "TestACallThatFailsOnce",
		},
		{
			name: "sweep-hopeless", without: "a sweep that may not write tries it with every record",
			old: "$w.failing >= maxSweepFailing || hopeless($err)", new: "$w.failing >= maxSweepFailing",
			suite: of, first: "TestAnOutageEndsTheRun",
		},
		{
			name: "sweep-outage", without: "a sweep of a table that takes no writes goes on to its end",
			old: "$w.failing >= maxSweepFailing || hopeless($err)", new: "hopeless($err)",
			suite: of, first: "TestAnOutageEndsTheRun",
		},
		{
			name: "sweep-rate", without: "the single looks of a sweep take the capacity that requests need",
			old: "$w.looks.spend(1) $w.reads.spend(1)", new: "",
			suite: of, first: "TestTheRateIsThatOf",
		},
		{
			name: "sweep-rate-together", without: "the single looks of a sweep come on top of its rate",
			old: "$w.looks.spend(1) $w.reads.spend(1)", new: "$w.looks.spend(1)",
			suite: of, first: "TestTheRateIsThatOf",
		},
		{
			name: "sweep-write-rate", without: "a sweep of many crashed keys throttles the table",
			old: "$w.writes.spend(changeUnits)", new: "", suite: of, first: "TestTheRateOfWrites",
		},
		{
			name: "sweep-reached", without: "a run with time for one page never comes further",
			old: "$c.reached($behind)", in: "sweep.records", new: "", suite: of, first: "TestASweepThatHasTimeForOnePage",
		},
		{
			name: "sweep-behind", without: "a page counts as done before its records were looked at",
			old: "$begun, $behind = true, $p.Next", new: "$begun, $behind = true, $p.Next; _ = c.advance(ctx, $behind)",
			suite: of, first: "TestASweepThatIsKilled",
		},
		{
			name: "sweep-lease", without: "two sweeps run at once",
			old: "case $held.Status == store.StatusInProgress && !$held.Lapsed($now): $c.until = $held.ProtectedUntil() return $held, nil", new: "",
			suite: of, first: "TestTwoSweepsDoNot",
		},
		{
			name: "sweep-taken", without: "a sweep that was taken over goes on",
			old: "return errSweepTaken", new: "return nil", suite: of, first: "TestASweepThatWasTakenOver",
		},
		{
			name: "sweep-keep", without: "a sweep loses its lease within a long page",
			old: "return $c.write($ctx, nil)", new: "return nil", suite: of, first: "TestTheLeaseIsKept",
		},
		{
			name: "sweep-settings", without: "a sweep with another policy leaves out what the one before has passed",
			old: "&& $old.Settings == $settings", new: "", suite: of, first: "TestWhoCannotGoOn",
		},
		{
			name: "sweep-restart", without: "a sweep cannot be begun anew",
			old: "&& !$w.config.Restart", new: "", suite: of, first: "TestWhoCannotGoOn",
		},
		{
			name: "sweep-version", without: "a sweep goes on with a cursor that it does not understand",
			old: "$err == nil && $s.Version == cursorVersion", new: "$err == nil", suite: of, first: "TestWhoCannotGoOn",
		},
		{
			name: "sweep-mark", without: "a sweep takes the record of a handler for its cursor",
			old: "$held.Fingerprint != cursorMark ||", new: "", suite: of, first: "TestARecordThatIsNoCursor",
		},
		{
			name: "sweep-clean-lease", without: "a deletion by a clock that is ahead meets live leases",
			old: "Now: $now.Add(-$w.config.Grace)", new: "Now: $now", suite: of, first: "TestWhatHasExpiredIsDeleted",
		},
		{
			name: "sweep-clean-on", without: "a deletion that was killed begins anew",
			old: "$cur.advance($ctx, $page.Next)", new: "error(nil)", suite: of, first: "TestADeletionThatIsKilled",
		},
		{
			name: "sweep-stage", without: "a run that goes on with a deletion reads all records again",
			old: "$c.state.Stage, $c.lease = $stage, $c.w.stageLease($stage)", new: "$c.lease = $c.w.stageLease($stage)",
			suite: of, first: "TestADeletionThatIsKilled",
		},
		{
			name: "sweep-stage-lease", without: "a deletion loses its lease within a page",
			old: "$c.state.Stage, $c.lease = $stage, $c.w.stageLease($stage)", new: "$c.state.Stage = $stage",
			suite: of, first: "TestADeletionHasTheLease",
		},
	}
}
