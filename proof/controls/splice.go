package main

// spliceControls are the guards of answers that are made without decoding what was stored.
func spliceControls() []control {
	const first = "Splic|Committed"
	return []control{
		{
			name: "splice-committed", without: "a response that nothing vouches for is replayed unseen",
			old:   `$encoded := $r.Record.Seal != "" && $r.Record.SettledBy == "" && $d.records == nil`,
			new:   `$encoded := $r.Record.SettledBy == "" && $d.records == nil`,
			first: first,
		},
		{
			name: "splice-powertools", without: "so is one where other programs write the same keys",
			old:   `$encoded := $r.Record.Seal != "" && $r.Record.SettledBy == "" && $d.records == nil`,
			new:   `$encoded := $r.Record.Seal != "" && $r.Record.SettledBy == ""`,
			first: first,
		},
		{
			name: "splice-settled", without: "so is one that an operator has written",
			old:   `$encoded := $r.Record.Seal != "" && $r.Record.SettledBy == "" && $d.records == nil`,
			new:   `$encoded := $r.Record.Seal != "" && $d.records == nil`,
			first: "OperatorGave",
		},
		{
			name: "splice-own", without: "a replay carries a header of ours twice",
			old: "return $name, !$r.owns($name)", new: "return $name, true",
			first: first,
		},
		{
			name: "splice-own-spelling", without: "the same in another spelling",
			old: "strings.EqualFold($own, string($name))", new: "$own == string($name)",
			first: first,
		},
		{
			name: "splice-sorted", without: "headers in no order are taken for sorted ones",
			old: "bytes.Compare($before, $name) >= 0", new: "bytes.Compare($before, $name) > 1",
			first: first,
		},
		{
			name: "splice-escape", without: "a name in another spelling is not known for ours",
			old: `case $c == '\\' || $c < ' ' || $c > '~':`, new: "case $c < ' ' || $c > '~':",
			first: first,
		},
		{
			name: "splice-place", without: "a header is added out of order",
			old: "$r.added[$placed].name < string($name)", new: "$r.added[$placed].name > string($name)",
			first: first,
		},
		{
			name: "splice-end", without: "the response of another family is replayed as one of this",
			old: "$ok && $f.ended($r.text[$r.at:])", new: "$ok",
			first: first,
		},
		{
			name: "splice-unread", without: "headers are added to what is no response",
			old: "if !$ok {", new: "if !$ok && false {",
			in: "Splice", first: first,
		},
		{
			name: "splice-form", without: "a load balancer with multi-value headers does not see what is added",
			old: "if $r.answerIn == $MultiMap { $read", new: "if false { $read",
			first: first,
		},
		{
			name: "splice-other-form", without: "a stored response loses its headers when the target group changes",
			old: "$read.empty() && !$other.empty()", new: "false && !$other.empty()",
			first: first,
		},
		{
			name: "splice-comma", without: "an answer is no JSON",
			old: "if $from == $h.last && $dst[len($dst)-1] != '{' {", new: "if false {",
			first: first,
		},
		{
			name: "splice-date", without: "the expiry is in the time zone of the process",
			old: "$a.expires.UTC().AppendFormat", new: "$a.expires.AppendFormat",
			first: first,
		},
	}
}
