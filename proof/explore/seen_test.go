package explore

import "slices"

// mustBeSeen is what the scenarios together have to lead to. A search that never gets there proves
// nothing about it.
func mustBeSeen() []string {
	names := []string{
		"executed", "replayed", "in progress", "mismatch", "unknown outcome", "store unavailable", "resolved",
		"panicked", "settled: completed", "settled: released", "settled: unknown", "settled: still unknown",
		"settled: elsewhere", "settled: failed", "claim", "claim of an expired record", "takeover",
		"takeover of an UNKNOWN record", "own claim recognised", "own swap recognised", "undo of a claim",
		"undo of a takeover", "lost lease: executed", "lost lease: replayed", "lost lease: superseded",
		"claim of an expired record, INPROGRESS", "claim of an expired record, UNKNOWN", "renewal", "renewal given up",
		"late renewal applied", "late renewal refused", "slow claim", "slow takeover", "slow renewal",
		"slow completion", "slow release", "slow look", "completed", "completed although deleted",
		"completed although UNKNOWN", "completed in place of a crashed one", "unknown: crashed", "unknown: uncertain",
		"unknown: error", "unknown: panic", "unknown: result-lost", "resolver says executed",
		"resolver says untouched", "resolver says still unknown", "late claim applied", "late claim refused",
		"late swap applied", "late swap refused", "waited: replayed", "waited: executed", "waited: in progress",
		"answered from memory", "late delete applied", "late delete refused", "deleted by the table", "suspended",
		"goes on after its lease", "resolver says nothing, it fails", "resolver says nothing, it panics",
		"operator is shown: in-progress", "operator is shown: crashed", "operator is shown: unknown",
		"operator is shown: completed", "operator is shown: expired", "operator settles it as executed: done",
		"operator settles it as executed: not done", "operator settles it as not executed: done",
		"operator settles it as not executed: not done", "operator settles it as failed: done",
		"operator settles it as failed: not done", "operator releases it: done", "operator releases it: not done",
		"operator deletes it: done", "operator deletes it: not done", "operator applied: settles it as executed",
		"operator applied: settles it as not executed", "operator applied: releases it",
		"operator applied: settles it as failed", "operator applied: deletes it", "takeover of a released record",
		"superseded by a verdict", "replayed a verdict", "late change of an operator applied",
		"late change of an operator refused", "step: begun", "step: recorded", "step: resumed", "step: resolved",
		"step: lost", "step: lost lease", "step: refused", "step: unknown", "step: its own error",
		"step: fails for ever", "late step applied", "late step refused", "late start mark applied",
		"late start mark refused", "fault: is on its way, no reply", "slow step", "kept release",
		"kept release of an UNKNOWN record", "takeover of a crash with steps",
		"takeover that finds a step added after the look", "step recorded although UNKNOWN",
		"resolver of a step says executed", "resolver of a step says untouched",
		"resolver of a step says still unknown", "operator settles its step as executed: done",
		"operator settles its step as failed: done", "operator takes a start mark away", "commit: landed",
		"commit: not begun", "commit: declined", "commit: lost lease", "commit: failed", "rows applied", "fence",
		"own commit recognised by its seal", "own commit recognised by its token", "commit meets a late renewal",
		"late commit applied", "late commit refused", "late fence applied", "late fence refused", "slow commit",
		"rows of somebody else: applied", "commit failed", "reconcile: asked", "reconcile: handed over",
		"reconcile: not handed over", "reconcile: failed", "reconcile: completed", "reconcile: released",
		"reconcile: scheduled", "reconcile: given up", "reconcile: busy", "reconcile: closed", "reconcile: elsewhere",
		"reconcile: takes UNKNOWN", "reconcile: takes a record that is given up",
		"reconcile: takes a record that was released with steps",
		"reconcile: takes a released record whose question died",
		"reconcile: takes an UNKNOWN record whose question died", "reconcile: takes a crash",
		"reconcile: leaves COMPLETED", "reconcile: leaves UNKNOWN", "reconcile: leaves a record that is given up",
		"reconcile: leaves a record that was released", "reconcile: leaves a record that was released with steps",
		"the index shows a crash", "the index shows UNKNOWN", "the index shows an execution whose lease was renewed",
		"message sent", "message replaced", "message redriven", "relay dies", "relay dies in a delivery",
		"message arrives", "message bounces", "message bounces for good", "message: delivered", "message: elsewhere",
		"message: failed", "message: put off", "message: given up", "message: unmarked", "message: uncounted",
		"message: not begun", "mark: true", "mark: false", "count: true", "count: false", "take: true", "take: false",
		"give up: true", "give up: false", "late mark applied", "late mark refused", "late count applied",
		"late count refused", "late take applied", "late take refused", "late give up applied", "late give up refused",
	}
	for _, f := range slices.Concat(AllFaults(), SlowFaults(), CommitFaults(), []Fault{Conflict}) {
		names = append(names, "fault: "+f.String())
	}
	for _, f := range RelayFaults() {
		names = append(names, "fault of a relay: "+f.String())
	}
	return names
}
