package main

// watchControls are the guards of the live view.
func watchControls() []control {
	return []control{
		{
			name: "watch-twice", without: "a delivery of which lines of two observers tell counts as the one that came last says",
			old: "case $emf == nil: return $log; case $log != nil && $now.Sub($emf.last) > $preferred && $log.last.After($emf.last): return $log",
			new: "case $emf == nil: return $log; case $log != nil: return $log",
		},
		{
			name: "watch-new-form", without: "a function that writes lines of EMF no more seems to stand still",
			old: "$log != nil && $now.Sub($emf.last) > $preferred", new: "false && $log != nil && $now.Sub($emf.last) > $preferred",
		},
		{
			name: "watch-topics", without: "a count of what is open hides the deliveries that a log tells of",
			old: "$c := &$all[$l.topic][$l.form]", new: "c := &all[deliveries][l.form]",
		},
		{
			name: "watch-subjects", without: "lines with ever new operations fill the memory",
			old: "$all == nil && len($t.subjects) >= $maxSubjects", new: "false",
		},
		{
			name: "watch-names", without: "lines with ever new metrics fill the memory",
			old: "if len($c.series) == $maxNames { continue }", new: "",
		},
		{
			name: "watch-outcomes", without: "lines with ever new outcomes fill the memory",
			old: "if $known[$outcome] { return $outcome }; return $otherOutcome", new: "return $outcome",
		},
		{
			name: "watch-slowest", without: "all deliveries of a minute are kept to find the slowest",
			old: "return $all[:min(len($all), $keptSlow)]", new: "return $all", in: "most",
		},
		{
			name: "watch-long", without: "a line without an end fills the memory",
			old: "$long = $long || len($part) > $room", new: "$room = len($part)",
		},
		{
			name: "watch-short", without: "of a line of a megabyte a megabyte is kept",
			old: "return $strings.Clone($text[:min(len($text), $most)])", new: "return text",
		},
		{
			name: "watch-escapes", without: "characters of a line that are wide, or turn the direction, spoil the columns",
			old: "if $r < ' ' || $r > '~'", new: "if $r < 0",
		},
		{
			name: "watch-numbers", without: "a number that nobody measures spoils a sum for good",
			old: "if !($m.value >= 0 && $m.value <= $maxValue)", new: "if $m.name == \"\"",
		},
		{
			name: "watch-names-of-operations", without: "whatever a line calls an operation is shown as one",
			old: "if !$isName($l.subject, $l.outbox) ||", new: "if",
		},
		{
			name: "watch-joined", without: "what is between two objects is taken for a part of the first",
			old: "len($text) > 0 && ($text[0] == ' ' || $text[0] == '\\t')", new: "string($text) != \"}\"",
		},
		{
			name: "watch-silence", without: "a live tail whose connection has died waits for ever",
			old: "cancel(errSilent)", new: "",
		},
		{
			name: "watch-expired", without: "a session that was over after three hours looks like a broken connection",
			old: "if $expired($err) { $s.Expired++; return }", new: "",
		},
		{
			name: "watch-sampled", without: "nobody hears that a live tail leaves lines out",
			old: "if $u.SessionMetadata != nil && $u.SessionMetadata.Sampled {", new: "if false {",
		},
		{
			name: "watch-hopeless", without: "a live tail that is not allowed tries for ever",
			old: "if !$began && $t.hopeless($err) {", new: "if false {",
		},
		{
			name: "watch-began", without: "a live tail that was refused once, after it had run, is given up",
			old: "if $t.state.Sessions > 0 { return false }", new: "",
		},
		{
			name: "watch-kept", without: "what was open is forgotten while the table cannot be listed",
			old: "$o.Problem, $o.Tries = $sentence($err), $o.Tries+1", new: "$o.Problem, $o.Tries, $o.Waiting = $sentence($err), $o.Tries+1, nil",
		},
		{
			name: "watch-asked", without: "a record that waits for the next question seems to wait since the future",
			old: "!$r.AttentionAt.IsZero() && !$r.AttentionAt.After($now) &&", new: "!$r.AttentionAt.IsZero() &&",
		},
		{
			name: "watch-unreadable", without: "one record that cannot be understood hides all others",
			old: "case $err != nil && !$unreadable: return nil, false, $err;", new: "case $err != nil: return nil, false, $err;",
		},
		{
			name: "watch-quiet", without: "that no line comes any more looks like a quiet night",
			old: "case !$l.Last.IsZero() && $v.At.Sub($l.Last) >= $quiet:", new: "case false:",
		},
		{
			name: "watch-height", without: "a view that is higher than the terminal scrolls",
			old: "if $height < 1 || len($f.lines) <= $height {", new: "if true {",
		},
	}
}
