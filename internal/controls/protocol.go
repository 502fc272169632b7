package main

// claimControls are the guards of a claim.
func claimControls() []control {
	const claim, judge, record = "claim.go", "judge.go", "record.go"
	return []control{
		{
			name: "own-claim", model: "NO_OWN_CLAIM", without: "a claim whose reply was lost blocks itself", file: judge,
			old: "case held.Owner == v.owner && held.Status == StatusInProgress:", new: "case false:",
		},
		{
			name: "own-claim-status", model: "NO_OWN_STATUS", without: "an own claim that someone made UNKNOWN executes", file: judge,
			old: "case held.Owner == v.owner && held.Status == StatusInProgress:", new: "case held.Owner == v.owner:",
		},
		{
			name: "fingerprint", model: "NO_FINGERPRINT", without: "another request gets the stored result", file: judge,
			old: `case v.fingerprint == "" || held.Fingerprint == v.fingerprint:`, new: "case true:",
		},
		{
			name: "fingerprint-any-state", without: "another request executes after a crash, or learns of a running one", file: judge,
			old: "a, same := v.sameRequest(held); !same {", new: "a, same := v.sameRequest(held); !same && held.Status == StatusCompleted {",
		},
		{
			name: "fingerprint-version", without: "a record of another algorithm version counts as another request", file: judge,
			old: `case held.Fingerprint != "" && versionOf(held.Fingerprint) != versionOf(v.fingerprint):`, new: "case false:",
		},
		{
			name: "claimable", without: "an expired record is replayed for as long as DynamoDB keeps it", file: judge,
			old: `case held.Key == "" || held.Claimable(now):`, new: `case held.Key == "":`,
		},
		{
			name: "claimable-status", model: "NO_CLAIM_COMPLETED", without: "a record in progress can be claimed over once its expiry has come", file: record,
			old: "return r.Status == StatusCompleted && reached(r.Expiry, now)", new: "return reached(r.Expiry, now)",
			suite: []string{".", "./memory"},
		},
		{
			name: "claimable-expiry", model: "NO_CLAIM_EXPIRY", without: "a result is claimed over within its retention", file: record,
			old: "return r.Status == StatusCompleted && reached(r.Expiry, now)", new: "return r.Status == StatusCompleted",
			suite: []string{".", "./memory"},
		},
		{
			name: "gone", without: "a record that vanished between refusal and look is unreadable", file: judge,
			old: `case held.Key == "" || held.Claimable(now):`, new: `case held.Key != "" && held.Claimable(now):`,
		},
		{
			name: "live-lease", without: "a running execution is taken over", file: judge,
			old: "case !held.lapsed(now):", new: "case false:",
		},
		{
			name: "lapsed-lease", model: "NO_LAPSE", without: "a crashed execution blocks its key for ever", file: judge,
			old: "case !held.lapsed(now):", new: "case true:",
		},
		{
			name: "lease-over-expiry", model: "NO_LEASE_FIRST", without: "an execution that outlives the expiry loses its protection", file: record,
			old: "if r.Lease.IsZero() {\n\t\treturn reached", new: "if r.Lease.IsZero() || reached(r.Expiry, now) {\n\t\treturn reached",
		},
		{
			name: "ends-at-its-end", model: "NO_END_INSTANT", without: "a lease holds at the instant of its end", file: record,
			old: "return !now.Before(end)", new: "return now.After(end)",
		},
		{
			name: "lease-rounded-up", without: "a lease ends before it should", file: record,
			old: "return down.Add(unit)", new: "return down",
		},
		{
			name: "expiry-after-lease", model: "NO_EXPIRY_FLOOR", without: "TTL deletes what protects an execution", file: record,
			old: "if t.Before(lease) {", new: "if false {",
		},
		{
			name: "refuse", model: "NO_REFUSE", without: "an execution that must not be repeated is repeated after a crash", file: judge,
			old: "case v.crash == Reexecute || v.user.resolver != nil:", new: "case true:",
		},
		{
			name: "refuse-keeps-owner", without: "the owner of a refused record cannot bring its result", file: judge,
			old: "// The owner stays: it may still bring the result.", new: "next.Owner = v.owner",
		},
		{
			name: "unknown-outcome", model: "NO_UNKNOWN", without: "an execution of unknown outcome is repeated", file: judge,
			old: "return decision{answer: v.unknown(held.Reason)}", new: "return decision{move: v.takeOver(held)}",
		},
		{
			name: "unreadable-status", without: "a record that nobody understands is executed over", file: judge,
			old: `return decision{answer: v.unreadable("its status is none of INPROGRESS, COMPLETED, UNKNOWN", nil)}`,
			new: "return decision{move: v.takeOver(held)}",
		},
		{
			name: "replay-digest", without: "an altered result is replayed", file: judge,
			old: `case held.Parts == "" && held.Commit != "" && !held.Committed(result):`, new: "case false:",
		},
		{
			name: "replay-json", without: "a result of Powertools that is no JSON is replayed", file: judge,
			old: `case held.Commit == "" && !json.Valid(result):`, new: "case false:",
		},
		{
			name: "fail-closed", model: "NO_FAIL_CLOSED", without: "the handler runs although the store did not answer", file: claim,
			old: "return v.failed(f.cause), false", new: "v.mine = m.next\n\t\t\treturn answer{}, true",
		},
		{
			name: "undo", model: "NO_UNDO", without: "a claim of unknown outcome stays behind and blocks the key", file: claim,
			old: "v.undo(ctx, *f.unresolved, end)", new: "_ = end",
		},
		{
			name: "undo-never-executes", model: "NO_UNDO_RULE", without: "a claim that was undone executes if a read still shows it", file: claim,
			old: "v.undo(ctx, *f.unresolved, end)",
			new: "v.undo(ctx, *f.unresolved, end)\n" +
				"\t\t\t\tif held, _, err := v.store.Get(context.WithoutCancel(ctx), v.recordKey); err == nil && held.Owner == v.owner {\n" +
				"\t\t\t\t\tv.mine = held\n\t\t\t\t\treturn answer{}, true\n\t\t\t\t}",
		},
		{
			name: "refused-answer", model: "NO_REFUSED_ANSWER", without: "whoever makes a record UNKNOWN executes", file: claim,
			old: "if won && m.kind == moveRefuse {", new: "if false {",
		},
		{
			name: "refusal-not-undone", model: "NO_REFUSE_STAYS", file: claim,
			without: "a refusal of unknown outcome is undone, and the crash forgotten",
			old:     "if m.kind != moveRefuse && mayBeApplied(err) {", new: "if mayBeApplied(err) {",
		},
		{
			name: "undo-only-unknown", without: "a claim that was certainly not applied is undone", file: claim,
			old: "if m.kind != moveRefuse && mayBeApplied(err) {", new: "if m.kind != moveRefuse {",
			first: "TestThrottlingIsNotAnsweredWithAFlood",
		},
		{
			name: "undo-unknown", without: "a claim that may have been applied is not undone", file: claim,
			old: "if m.kind != moveRefuse && mayBeApplied(err) {", new: "if false {",
		},
		{
			name: "undo-detached", without: "a caller that gives up leaves its claim behind", file: claim,
			old: "ctx = withinDetached(ctx, end)", new: "ctx = within(ctx, end)",
		},
		{
			name: "undo-restores", model: "NO_UNDO_RESTORE", without: "a takeover that is undone deletes what it took over", file: claim,
			old: "if m.kind == moveClaim {\n\t\t_, err", new: "if true {\n\t\t_, err",
		},
		{
			name: "undo-own-token", model: "NO_UNDO_TOKEN", without: "a late repetition of an undone takeover executes nothing but blocks the key", file: claim,
			old: "restored.Owner = v.owner", new: "",
		},
		{
			name: "undo-time", without: "an outage leaves no time for the undo", file: claim,
			old: "end.Add(-min(undoBudget, time.Until(end)/3))", new: "end",
		},
		{
			name: "claim-half-time", without: "a reply that never comes takes the whole budget", file: claim,
			old: "(Record, bool, error) {\n\tctx, cancel := halfOf(ctx)", new: "(Record, bool, error) {\n\tctx, cancel := context.WithCancel(ctx)",
		},
		{
			name: "claim-budget", without: "an outage is not answered within the budget", file: claim,
			old: "longest := v.timing.ClaimBudget", new: "longest := time.Minute",
		},
		{
			name: "attempt", without: "a takeover of a Powertools record counts as a first execution", file: judge,
			old: "if held.Attempt == 0 {", new: "if false {",
		},
		{
			name: "unleased", model: "NO_UNLEASED", without: "a renewal whose reply was lost makes the owner a stranger", file: claim,
			old: "mine.Lease, mine.Expiry = time.Time{}, time.Time{}", new: "mine.Expiry = time.Time{}",
		},
		{
			name: "crashed-kept", model: "NO_CRASHED_KEPT", without: "a crashed record is deleted before it can be settled", file: claim,
			old: "if v.crash == Refuse {\n\t\tkeep", new: "if false {\n\t\tkeep",
		},
	}
}

// executionControls are the guards around a handler.
func executionControls() []control {
	const invoke, lease, policy, wait = "invoke.go", "lease.go", "policy.go", "wait.go"
	return []control{
		{
			name: "panic-settles", without: "a panic leaves the key blocked", file: invoke,
			old: "v.settle(hctx, v.crashed(returned))", new: "_ = returned",
		},
		{
			name: "panic-after-return", without: "a panic after the effect leads to a second execution", file: invoke,
			old: "case returned:", new: "case false:",
		},
		{
			name: "panic-refuse", without: "a panic is repeated although crashes must not be", file: invoke,
			old: "case v.crash == Refuse:", new: "case false:",
		},
		{
			name: "resolver-first", model: "NO_RESOLVER_FIRST", without: "a crashed execution is repeated without asking the resolver", file: invoke,
			old: "v.user.resolver != nil && v.recovered()", new: "false",
		},
		{
			name: "resolver-recovered", without: "the resolver is asked about a first execution", file: invoke,
			old: "v.user.resolver != nil && v.recovered()", new: "v.user.resolver != nil",
		},
		{
			name: "margin", model: "NO_MARGIN", without: "a process that is killed late has lost its lease", file: lease,
			old: "max(time.Until(deadline), 0) + c.timing.Margin", new: "max(time.Until(deadline), 0)",
		},
		{
			name: "reserve", without: "the handler takes the time that completing needs", file: lease,
			old: "reserve := min(v.timing.Reserve, time.Until(v.deadline)/10)", new: "reserve := time.Duration(0)",
		},
		{
			name: "reserve-tenth", without: "a short invocation loses its time to the reserve", file: lease,
			old: "min(v.timing.Reserve, time.Until(v.deadline)/10)", new: "v.timing.Reserve",
		},
		{
			name: "far-deadline", without: "a crashed process blocks its key until a deadline hours away", file: lease,
			old: "time.Until(deadline) <= farDeadline", new: "true",
		},
		{
			name: "heartbeat", without: "an execution without a deadline loses its lease", file: lease,
			old: "sleep(ctx, time.Until(renewed.Add(lease/3)))", new: "sleep(ctx, time.Until(renewed.Add(lease*3)))",
		},
		{
			name: "heartbeat-cancels", model: "NO_CANCEL", without: "a handler whose lease is lost is not told", file: lease,
			old: "cancel(ErrLeaseLost)", new: "_ = err",
		},
		{
			name: "heartbeat-joined", without: "a renewal may come after the settlement", file: lease,
			old: "\t\t<-joined\n", new: "",
		},
		{
			name: "heartbeat-sent", model: "NO_SENT_TIME", without: "a lease counts from when its renewal was answered", file: lease,
			old: "err := v.renew(tries)", new: "err := v.renew(tries)\n\t\trenewed = time.Now()",
		},
		{
			name: "heartbeat-margin", without: "a handler is told only when its lease has ended", file: lease,
			old: "held.Add(-v.timing.Margin)", new: "held",
		},
		{
			name: "interrupted", without: "an execution cut off by its deadline is repeated although it must not be", file: policy,
			old: "case c.crash == Refuse && ctx.Err() != nil:", new: "case false:",
		},
		{
			name: "error-policy", without: "a failed execution is repeated although it must not be", file: policy,
			old: "if c.onError == UnknownOnError {", new: "if false {",
		},
		{
			name: "wait-token", without: "a delivery that waited executes under a lease that is half over", file: wait,
			old: "\t\tv.begin(ctx)\n", new: "",
		},
		{
			name: "wait-worthwhile", without: "a delivery that waited begins at the last moment", file: wait,
			old: "case !v.worthwhile(started):", new: "case false:",
		},
		{
			name: "wait-deadline", without: "a delivery waits until it has no time to answer", file: wait,
			old: "end = answerable(deadline, started)", new: "end = deadline",
		},
		{
			name: "wait-growing", without: "waiting floods the table with reads", file: wait,
			old: "min(firstLook<<min(n, 10), lastLook)", new: "firstLook",
		},
	}
}

// settlementControls are the guards of completing and releasing.
func settlementControls() []control {
	const settle = "settle.go"
	return []control{
		{
			name: "settle-detached", without: "a caller that gives up loses the result", file: settle,
			old: "withinDetached(ctx, v.settleEnd(started))", new: "within(ctx, v.settleEnd(started))",
		},
		{
			name: "settle-before-kill", without: "a completion is cut off by Lambda's kill", file: settle,
			old: "case v.deadline.After(now):\n\t\treturn answerable(v.deadline, now)", new: "case v.deadline.After(now):\n\t\treturn end",
		},
		{
			name: "landed", model: "NO_COMMIT_CHECK", without: "a completion whose reply was lost is taken for someone else's", file: settle,
			old: `case strings.HasPrefix(held.Commit, v.owner+"."):`, new: `case strings.HasPrefix(held.Commit, "nobody."):`,
		},
		{
			name: "complete-absent", model: "NO_STORE_IF_GONE", without: "a result whose record was deleted is lost", file: settle,
			old: `case held.Key == "" || held.Claimable(now):`, new: "case false:",
		},
		{
			name: "complete-unknown", without: "an owner cannot bring the result of what someone made UNKNOWN", file: settle,
			old: "case held.Owner == v.owner && held.Status != StatusCompleted:", new: "case false:",
		},
		{
			name: "complete-takeover", model: "NO_OTHER_LAPSED", without: "a result is lost because someone else crashed", file: settle,
			old: "case next.Status == StatusCompleted && v.lapsedElsewhere(held, now):", new: "case false:",
		},
		{
			name: "complete-takeover-same", without: "a result is stored under another request", file: settle,
			old: "return same && held.Status == StatusInProgress && held.lapsed(now)",
			new: "_ = same\n\treturn held.Status == StatusInProgress && held.lapsed(now)",
		},
		{
			name: "complete-live", without: "a stale owner takes the record from a running execution", file: settle,
			old: "return same && held.Status == StatusInProgress && held.lapsed(now)",
			new: "return same && held.Status == StatusInProgress",
		},
		{
			name: "all-agree", model: "NO_OTHER_RESULT", without: "two callers of one request get two results", file: settle,
			old: "!same || ours != StatusCompleted {", new: "true {\n\t\t_ = same",
		},
		{
			name: "elsewhere-same", model: "NO_FINGERPRINT_ELSEWHERE", without: "a caller gets the result of another request", file: settle,
			old: "!same || ours != StatusCompleted {", new: "ours != StatusCompleted {\n\t\t_ = same",
		},
		{
			name: "elsewhere-running", model: "NO_OTHER_RUNNING", without: "a stale owner answers with a result that may not be the stored one", file: settle,
			old: "return v.inProgress(held, now), false", new: "return executed, true",
		},
		{
			name: "result-lost", model: "NO_LAST_WORD", without: "an effect whose result could not be stored is repeated", file: settle,
			old: "return v.becomeUnknown(ctx, reasonResultLost)", new: "return executed, true",
		},
		{
			name: "never-released-after", model: "NO_KEEP", without: "an execution whose completion failed is repeated", file: settle,
			old: "return v.becomeUnknown(ctx, reasonResultLost)", new: "v.release(ctx)\n\t\treturn executed, true",
		},
		{
			name: "own-result", model: "NO_OWN_RESULT", without: "an outage hides the result of the handler", file: settle,
			old: "v.event.Settlement, v.event.StoreErr = SettledFailed, err\n\t\treturn executed, true",
			new: "v.event.Settlement, v.event.StoreErr = SettledFailed, err\n\t\treturn v.unavailable(err), false",
		},
		{
			name: "last-word", without: "no time is kept to mark a result as lost", file: settle,
			old: "v.conclude(keepForLast(ctx), next)", new: "v.conclude(ctx, next)",
		},
		{
			name: "complete-retried", without: "one lost message loses the result", file: settle,
			old: "if !mayPass(err) || !pause(ctx, failures) {\n\t\t\t\treturn answer{}, false, err",
			new: "if true {\n\t\t\t\treturn answer{}, false, err",
		},
		{
			name: "release-retried", without: "one lost message blocks the key until the lease ends", file: settle,
			old: "if mayPass(err) && pause(ctx, failures) {", new: "if false {",
		},
		{
			name: "complete-half-time", without: "a reply that never comes takes the whole settlement", file: settle,
			old: "if len(next.Result) >= longWrite {", new: "if true {",
		},
		{
			name: "half-of-nothing", without: "a call for which no time is left is not cut short at all", file: "budget.go",
			old: "context.WithDeadline(ctx, deadline.Add(-max(time.Until(deadline)/2, 0)))", new: "context.WithTimeout(ctx, time.Until(deadline)/2)",
		},
		{
			name: "complete-whole-time", without: "a large result that cannot be written leaves no time to mark it as lost", file: "budget.go",
			old: "return context.WithDeadline(ctx, deadline)", new: "_ = deadline\n\treturn context.WithCancel(ctx)",
		},
	}
}
