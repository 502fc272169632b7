package main

// sealControls are the guards of the seal that tells a commit from every other completion.
func sealControls() []control {
	return []control{
		{
			name: "seal-tail", without: "an altered seal passes for that of a commit",
			old: `return $rest == "" || len($rest) == 1+digestText && $rest[0] == '.' && !strings.Contains($rest[1:], ".")`, new: "return true",
			suite: []string{"./store"}, first: "TestSealedHolds",
		},
		{
			name: "seal-commit", without: "a committed answer cannot be read",
			old: `return $rest == "" || len($rest) == 1+digestText &&`, new: `return $rest == "" || false &&`,
			suite: []string{"./store"}, first: "TestSealedHolds",
		},
		{
			name: "seal-key", without: "a commit under one key passes for that under another",
			old: "$h.Write([]byte($key))", new: "_ = $key",
			in: "CommitSeal", suite: []string{"./store"}, first: "TestSealOfACommit",
		},
		{
			name: "seal-writes", without: "a commit of other rows passes for the one that landed",
			old: "$h.Write($digest[:])", new: "_ = $digest",
			in: "CommitSeal", suite: []string{"./store"}, first: "TestSealOfACommit",
		},
		{
			name: "rows-told", without: "an operator who deletes a committed record is not told of its rows",
			old: "if committed($seen) {", new: "if false {",
			suite: []string{"./operate"}, first: "TestWhatThePreviewSays",
		},
		{
			name: "rows-told-of-commits", without: "an operator is told of rows that nobody has written",
			old: `return $owned && strings.Contains($rest, ".")`, new: `return $owned && $rest != ""`,
			suite: []string{"./operate"}, first: "TestWhatThePreviewSays",
		},
		{
			name: "context-commit-once", without: "a handler that commits twice passes its test",
			old: "case $c.done != nil:", new: "case false:",
			in: "commits.begin", suite: []string{"./idempotenttest"}, first: "TestAContextCommitsOnce",
		},
		{
			name: "context-commit-steps", without: "a handler whose steps come after its commit passes its test",
			old: "if !$s.gate.Enter() {", new: "if $s.gate.Enter(); false {",
			in:    "steps.refusal",
			suite: []string{"./idempotenttest"}, first: "TestAContextCommitsOnce",
		},
		{
			name: "context-commit-declined", without: "in a test no step goes on after a condition that did not hold",
			old: "$c.steps.gate.Open()", new: "_ = $c",
			in:    "commits.Commit",
			suite: []string{"./idempotenttest"}, first: "Declined|WhatADelivery",
		},
	}
}
