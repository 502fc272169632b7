package main

// toldControls are the guards of what observers and operators are told.
func toldControls() []control {
	return []control{
		{
			name: "told-refused", without: "whoever makes a crashed record UNKNOWN does not say so if the reply was lost",
			old: "$won = $won || $m.refused($held)", new: "",
			first: "TestWhoMadeARecordUnknown",
		},
		{
			name: "told-refused-by-others", without: "a delivery takes credit for what another one has made UNKNOWN",
			old:   "$held.Owner == $m.next.Owner && $held.AttentionAt.Equal($m.next.AttentionAt)",
			new:   "$held.Owner == $m.next.Owner",
			first: "TestTwoDeliveriesThatRefuseOneCrash",
		},
		{
			name: "told-still", without: "each retry that a resolver cannot settle looks like a record that has just become UNKNOWN",
			old:   "if $d.open { $d.Report.Settlement = $LeftUnknown }",
			new:   "",
			first: "TestAnObserverTells",
		},
		{
			name: "told-again", without: "an execution that ends uncertain after a resolver looks like the old uncertainty",
			old:   "$d.open = false; $d.notes.Open()",
			new:   "$d.notes.Open()",
			first: "TestAnObserverTells",
		},
		{
			name: "told-since", without: "a record that a resolver cannot settle seems to wait since the last retry",
			old:   "case !$d.openSince.IsZero():",
			new:   "case false:",
			first: "TestARecordWaitsSince",
		},
		{
			name: "told-keys", without: "the derived keys that are told are not those that were handed out",
			old:   "$c := $execution.Claim{RecordKey: $d.RecordKey, Fingerprint: $d.mine.Fingerprint}",
			new:   "$c := $execution.Claim{RecordKey: $d.RecordKey, Fingerprint: $d.Fingerprint}",
			first: "TestTheDerivedKeysOfATakeover",
		},
		{
			name: "told-once", without: "a delivery that made a record UNKNOWN counts as a client that met one, too",
			old: "$s &^= $setOf($metUnknown)", new: "",
		},
		{
			name: "told-commit-tries", without: "the first try of a commit counts as a repeated one",
			old: "$n += max($c.Tries-1, 0)", new: "$n += $c.Tries",
			suite: []string{"./observe"}, first: "TestEveryEndOfACommit",
		},
		{
			name: "told-commit-declined", without: "a condition that does not hold looks like a commit that failed",
			old: "case $c.Declined: return $commitDeclined;", new: "",
			suite: []string{"./observe"}, first: "TestEveryEndOfACommit",
		},
		{
			name: "told-commit-refused", without: "nobody hears of a wrong commit that the handler has hidden",
			old: ", commitsFailed.commits(&$e) > 0:", new: ":",
			suite: []string{"./observe"}, first: "TestEveryEndOfACommit",
		},
		{
			name: "described-unprotected", without: "a description without a record has derived keys",
			old: "if !$d.Protected {", new: "if false {",
			first: "TestADescription",
		},
		{
			name: "told-marker", without: "a program that wraps looks like one that does not",
			old: "$c.marker = $marker", new: "",
			first: "TestTheConfigurationRefersToTheMarker",
		},
	}
}
