package main

// commitProtocolControls are the guards of commits in the protocol.
func commitProtocolControls() []control {
	const commit = "Commit|ADeclined|AnUnprotected|Heartbeat|AHandlerThat|Stale"
	return []control{
		{
			name: "commit-over", without: "a commit begins although the handler has returned", first: commit,
			old: `case $c.over: return 0, commitRefused("the handler has returned");`, new: "",
		},
		{
			name: "commit-once", without: "an execution commits a second time", first: commit,
			old: `case $k.landed.Key != "": return 0, commitRefused("the execution has committed its answer before, and has only one");`, new: "",
		},
		{
			name: "commit-after-failed", without: "a commit begins although the one before has failed", first: commit,
			old: `case $k.failed != nil: return 0, commitRefused("an earlier commit of the execution has failed");`, new: "",
		},
		{
			name: "commit-joined", without: "an execution is settled while a commit of it is under way", first: commit,
			old: "if $under != nil { <-$under }", new: "_ = $under", in: "commits.close",
		},
		{
			name: "commit-in-step", without: "a commit begins inside of a step", first: commit,
			old: `case $under.Step != "":`, new: `case $under.Step == "never":`, in: "Delivery.Commit",
		},
		{
			name: "commit-in-resolver", without: "a resolver commits", first: commit,
			old: `case $d.resolving.Load():`, new: "case false:",
		},
		{
			name: "commit-goes-on", without: "after a declined commit nothing renews the lease, and no step begins", first: commit,
			old: "$d.beside.goOn(); $d.steps.gate.Open()", new: "", in: "commit.do",
		},
		{
			name: "commit-goes-on-once", without: "after a commit that did not begin the lease is renewed twice", first: commit,
			old: "if $b.held { $b.held = false; $b.begin() }", new: "$b.held = false; $b.begin()", in: "background.goOn",
		},
		{
			name: "commit-holds-steps", without: "a commit does not wait for the steps that run", first: commit,
			old: "if $err := $c.d.steps.gate.Close($ctx); $err != nil {", new: "if $err := error(nil); $err != nil {",
		},
		{
			name: "commit-refuses-steps", without: "a step begins beside a commit", first: commit,
			old: "if !$s.gate.Enter() {", new: "if $s.gate.Enter(); false {", in: "steps.begin",
		},
		{
			name: "commit-holds-heartbeat", without: "the lease is renewed beside a commit", first: commit,
			old: "$c.d.beside.hold()", new: "", in: "commit.alone",
		},
		{
			name: "commit-live", without: "a commit is sent although its context has ended", first: commit,
			old: "return $c.live($ctx)", new: "return nil", in: "commit.alone",
		},
		{
			name: "commit-lease", model: "NO_COMMIT_LEASE", without: "the condition of a commit names no lease, so that nothing can be moved out of its way", first: commit,
			old: "$c.seen.Lease, $c.seen.Steps = $d.protection(), $d.steps.written()", new: "$c.seen.Steps = $d.steps.written()",
		},
		{
			name: "commit-steps", without: "a commit leaves the steps in the record", first: commit,
			old: "$c.seen.Lease, $c.seen.Steps = $d.protection(), $d.steps.written()", new: "$c.seen.Lease = $d.protection()",
		},
		{
			name: "commit-lost-reply", model: "NO_COMMIT_LANDED", without: "a commit whose reply was lost counts as a lost lease", first: commit,
			old: "case $held.Seal == $c.next.Seal: return $c.landed()", new: "case false: return nil", in: "commit.send",
		},
		{
			name: "commit-late-renewal", model: "NO_COMMIT_RENEWED", without: "a renewal that was not answered fails the commit", first: commit,
			old: "case $c.isOurs($held) && !$held.Lease.Equal($c.seen.Lease): $c.seen.Lease = $held.Lease", new: "", in: "commit.send",
		},
		{
			name: "commit-client-attempts", model: "NO_COMMIT_ATTEMPTS", without: "an attempt that the client made before a declined one lands later", first: commit,
			old: "$c.doubt($err); return $c.declined($ctx, $err)", new: "return $c.declined($ctx, $err)",
		},
		{
			name: "commit-fence", model: "NO_FENCE", without: "an attempt that was not answered lands after the commit was declined or has failed", first: commit,
			old: "if !$c.open { return fenceStands, $held, nil }", new: "if true { return fenceStands, $held, nil }",
		},
		{
			name: "commit-fence-late", model: "NO_FENCE_LATE", without: "a commit that was faster than the fence counts as a lost lease", first: commit,
			old: "case $held.Seal == $c.next.Seal: return fenceLate, $held, nil", new: "",
		},
		{
			name: "commit-unread", without: "a record that could not be reached after a commit is released", first: commit,
			old: "$k.failed, $k.unread = $ErrCommitFailed, true", new: "$k.failed = $ErrCommitFailed",
		},
		{
			name: "commit-unread-writes-nothing", without: "a record that tells the outcome of a commit is overwritten", first: commit,
			old: "case $c.unread: return ending{fate: fateLeave};", new: "", in: "Delivery.withCommit",
		},
		{
			name: "commit-failed-answer", model: "NO_FAILED_ANSWER", without: "an answer is stored although its rows are not", first: commit,
			old: "case $e.fate == fateComplete && $e.reason != $ReasonTerminal: return $d.failed($ReasonError)", new: "", in: "Delivery.withCommit",
		},
		{
			name: "commit-failed-sent", without: "an answer is sent although its rows are not there", first: commit,
			old: "if $dropped && $r.Outcome == Executed { return Result{Outcome: CommitFailed, Err: $failed} }", new: "",
		},
		{
			name: "commit-landed-settles", without: "an execution that has committed is settled once more", first: commit,
			old: `case $d.committed.landed.Key != "": return $d.landed($e);`, new: "", in: "Delivery.settle",
		},
		{
			name: "commit-compares", without: "what the handler returned is sent although it committed something else", first: commit,
			old: "if $e.fate == fateComplete && $e.reason == $c.Reason && bytes.Equal($e.result, $c.Result) {", new: "if $e.fate == fateComplete {",
		},
		{
			name: "commit-panic", without: "a panic after a commit takes the committed answer away", first: commit,
			old: "if $d.Report.Panic = recover(); $d.Report.Panic != nil { $d.Report.Stack = debug.Stack(); $r = $ended }", new: "",
		},
		{
			name: "commit-sent-twice", model: "NO_COMMITTED_ANSWER", without: "a settlement takes a commit that landed late for its own result", first: commit,
			old: "case $d.hasLanded($held): return $d.landed(ending{}), nil;", new: "", in: "Delivery.conclude",
		},
		{
			name: "commit-sent-twice-release", model: "NO_RELEASE_LOOK", without: "a release overlooks a commit that landed late", first: commit,
			old: "case $d.hasLanded($refusing):", new: "case false && $d.hasLanded($refusing):", in: "Delivery.release",
		},
		{
			name: "commit-sent-twice-leave", without: "a second commit overlooks that the first one landed late", first: commit,
			old: "if $d.hasLanded($d.ended.taken) { return $d.landed(ending{}) }", new: "", in: "Delivery.leave",
		},
		{
			name: "commit-doubt-keeps", model: "NO_COMMIT_KEPT", without: "a release after a commit in doubt deletes the record", first: commit,
			old: "if $d.ended.any() || $d.committed.doubt {", new: "if $d.ended.any() {",
		},
		{
			name: "commit-doubt-renewal", model: "NO_RENEWED_DOUBT", without: "so it does after an attempt that met another lease and may have been sent twice", first: commit,
			old: "$d.commits.note(func($k *commitsKnown) { $k.doubt = true })", new: "", in: "commit.send",
		},
		{
			name: "commit-token", without: "a condition with another lease is sent under the same token", first: commit,
			old: `sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", $c.next.Seal, $c.next.Key, $c.before, $move))`,
			new: `sha256.Sum256(fmt.Appendf(nil, "%s %s", $c.next.Seal, $c.next.Key))`,
		},
		{
			name: "commit-seal-writes", without: "commits of one owner with the same answer and other rows are taken for each other",
			old: "$h.Write($digest[:])", new: "_ = $digest", in: "CommitSeal", suite: []string{"./store"},
		},
		{
			name: "commit-failed-problem", without: "an HTTP client that may retry gets the error of a function", first: "AnHTTPHandlerReturns",
			old: "$isHTTP && !$d.answer.given && $d.protocol.CommitFailed($d.answer.err)", new: "$isHTTP && false",
		},
		{
			name: "commit-keeps", without: "an answer is committed that is not to be stored", first: commit,
			old: "if $w.keeps != nil && !$w.keeps($out) {", new: "if false {", in: "work.Answer",
		},
	}
}
