package main

// eventControls are the guards that leave an event to the decoder.
func eventControls() []control {
	controls := []control{
		{
			name: "plan-members", without: "a plan misses members that its library has renamed",
			old: "|| $p.found != len($wanted)", new: "",
		},
		{
			name: "plan-many", without: "of many headers two are taken for one",
			old: "|| len($names) > $MaxMembers {", new: "{",
		},
		{
			name: "plan-decoder", without: "a type that decodes itself is read as if it did not",
			old: "if $DecodesItself($t) {", new: "if false {",
		},
		{
			name: "plan-pointed", without: "so is one behind a pointer",
			old: "&& !$DecodesItself($t.Elem())", new: "",
		},
		{
			name: "plan-ignored", without: "a field is read that the decoder ignores",
			old: `!$f.IsExported() || $name == "-"`, new: "false",
		},
		{
			name: "plan-option", without: "so is a member that has its own form",
			old: `|| $options != "" && $options != "omitempty" {`, new: `|| $options == "-" {`,
		},
		{
			name: "plan-type", without: "a part is read of a member of another type",
			old: "if $t != $special.from {", new: "if false {",
		},
		{
			name: "scan-decoded", without: "an event that cannot be scanned is half read",
			old: "if !$f.plan.scan($payload, &$r.event) {",
			new: "if !$f.plan.scan($payload, &$r.event) && $f.plan == nil {",
		},
		{
			name: "scan-twice", without: "of a member that is there twice both count",
			old: "$before := *$seen & $bit; *$seen |= $bit; return $m.node, $before == 0",
			new: "$before := *$seen & $bit; *$seen |= $bit; return $m.node, $before < $bit+1",
		},
		{
			name: "scan-case", without: "a member in another case does not count, although the decoder takes it",
			old: "case $n.folds && $name.is($m.lower):", new: "case false:",
		},
		{
			name: "scan-fold", without: "nor does one in letters that fold to ASCII",
			old: "|| $n.folds && !$name.ascii {", new: "{",
		},
		{
			name: "scan-escaped", without: "nor does one with escape sequences",
			old: "len($n.members) > 0 && $name.escaped ||", new: "",
		},
		{
			name: "scan-integer", without: "a fraction is taken for an integer",
			old: "!$n.fraction && !$n.exponent && len($n.raw) <= $MaxExact",
			new: "!$n.exponent && len($n.raw) <= $MaxExact",
		},
		{
			name: "scan-integer-exponent", without: "so is a number with an exponent",
			old: "!$n.fraction && !$n.exponent && len($n.raw) <= $MaxExact",
			new: "!$n.fraction && len($n.raw) <= $MaxExact",
		},
		{
			name: "scan-integer-size", without: "so is one that is too large",
			old: "!$n.fraction && !$n.exponent && len($n.raw) <= $MaxExact", new: "!$n.fraction && !$n.exponent",
		},
		{
			name: "scan-float-exponent", without: "a number beyond all floats is taken for one",
			old: "case !$ok || $n.exponent || len($n.raw) > $MaxFloat:", new: "case !$ok || len($n.raw) > $MaxFloat:",
		},
		{
			name: "scan-float-size", without: "so is one that is written out",
			old: "case !$ok || $n.exponent || len($n.raw) > $MaxFloat:", new: "case !$ok || $n.exponent:",
		},
		{
			name: "scan-principal-fraction", without: "a principal of 7.0 is another than 7",
			old: `case $n.fraction || len($n.raw) > $MaxExact || string($n.raw) == "-0":`,
			new: `case len($n.raw) > $MaxExact || string($n.raw) == "-0":`,
		},
		{
			name: "scan-principal-size", without: "principals that a float cannot hold name callers",
			old: `case $n.fraction || len($n.raw) > $MaxExact || string($n.raw) == "-0":`,
			new: `case $n.fraction || string($n.raw) == "-0":`,
		},
		{
			name: "scan-principal-zero", without: "a principal of -0 is another than 0",
			old: `|| string($n.raw) == "-0":`, new: ":",
		},
		{
			name: "scan-header-name", without: "a header with escape sequences in its name is overlooked",
			old: "if $name.escaped || !$name.ascii {", new: "if !$name.ascii {",
			in: "headerNumber",
		},
		{
			name: "scan-header-fold", without: "so is one in letters whose lower case is ASCII",
			old: "if $name.escaped || !$name.ascii {", new: "if $name.escaped {",
			in: "headerNumber",
		},
		{
			name: "scan-header-twice", without: "values of a header in two spellings are in the order of the event",
			old: "if !$ok || $s.single&(1<<$i) != 0 {", new: "if !$ok {",
		},
		{
			name: "scan-header-maps", without: "a header that is in both maps was sent twice",
			old: "if $s.multi&(1<<$i) != 0 && len($Values[$i]) > 0 {", new: "if false {",
		},
		{
			name: "scan-multi-twice", without: "the same of a header with several values",
			old: "if $s.multi&(1<<$i) != 0 {", new: "if false {",
		},
		{
			name: "scan-multi-replaces", without: "so is one whose single value came first",
			old: "$Values[$i] = $Values[$i][:0]", new: "_ = $i",
		},
		{
			name: "scan-multi-form", without: "multi-value headers of a load balancer are overlooked",
			old: "$HasMulti = true", new: "_ = $HasMulti",
		},
		{
			name: "scan-control", without: "a control character in a string passes",
			old: "default: return $s, false", new: "default:",
			in: "string",
		},
		{
			name: "scan-escape", without: "so does an escape sequence that there is not",
			old: "if $size == 0 { return $s, false", new: "if $size == 0 { $size = 1",
			in: "string",
		},
		{
			name: "scan-hex", without: "so do four letters for four digits",
			old: "default: return 0, false", new: "default:",
		},
		{
			name: "scan-utf8", without: "invalid UTF-8 counts as it is, although the decoder replaces it",
			old: "if !$s.ascii && !utf8.Valid($s.raw) {", new: "if false {",
		},
		{
			name: "scan-surrogate", without: "half of a pair counts as another character than the decoder takes it for",
			old: "!$paired || $c == utf8.RuneError {", new: "!$paired && $c != utf8.RuneError {",
		},
		{
			name: "scan-nesting", without: "an event of any depth is read",
			old: "if $t.nesting == $MaxNesting ||", new: "if",
		},
		{
			name: "scan-leading-zero", without: "a number with a leading zero passes",
			old: "if $t.peek() == '0' { $t.pos++ } else if !$t.digits() {", new: "if !$t.digits() {",
		},
		{
			name: "scan-fraction", without: "so does a point without digits",
			old: "if $n.fraction = $t.digits(); !$n.fraction {",
			new: "if $n.fraction = $t.digits() || true; !$n.fraction {",
		},
		{
			name: "scan-exponent", without: "so does an exponent without digits",
			old: "if $n.exponent = $t.digits(); !$n.exponent {",
			new: "if $n.exponent = $t.digits() && false; $n.exponent {",
		},
		{
			name: "scan-colon", without: "a member needs no colon",
			old: "return $name, $ok && $t.skip(':')", new: "$t.skip(':'); return $name, $ok",
		},
		{
			name: "scan-comma", without: "members need no commas",
			old: "if $t.skip(',') {", new: `if $t.skip(',') || $t.peek() == '"' {`,
		},
		{
			name: "scan-end", without: "an object may end like an array",
			old: "return false, $t.skip($end)", new: "return false, $t.skip('}') || $t.skip(']')",
		},
	}
	for i := range controls {
		controls[i].first = "TestScanned|TestPlan"
	}
	return controls
}
