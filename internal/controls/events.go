package main

// eventControls are the guards that leave an event to the decoder.
func eventControls() []control {
	const (
		plan  = "eventplan.go"
		scan  = "eventscan.go"
		token = "eventtoken.go"
	)
	controls := []control{
		{
			name: "plan-members", without: "a plan misses members that its library has renamed", file: plan,
			old: "|| p.found != len(wanted) ", new: "",
		},
		{
			name: "plan-many", without: "of many headers two are taken for one", file: plan,
			old: " || len(names) > maxMembers {", new: " {",
		},
		{
			name: "plan-decoder", without: "a type that decodes itself is read as if it did not", file: plan,
			old: "if decodesItself(t) {", new: "if false {",
		},
		{
			name: "plan-pointed", without: "so is one behind a pointer", file: plan,
			old: " && !decodesItself(t.Elem())", new: "",
		},
		{
			name: "plan-ignored", without: "a field is read that the decoder ignores", file: plan,
			old: `!f.IsExported() || name == "-"`, new: "false",
		},
		{
			name: "plan-option", without: "so is a member that has its own form", file: plan,
			old: ` || options != "" && options != "omitempty" {`, new: ` || options == "-" {`,
		},
		{
			name: "plan-type", without: "a part is read of a member of another type", file: plan,
			old: "if t != special.from {", new: "if false {",
		},
		{
			name: "scan-decoded", without: "an event that cannot be scanned is half read", file: "http.go",
			old: "if !src.decoded && s.plan.scan(src.payload, e) {", new: "if !src.decoded && (s.plan.scan(src.payload, e) || s.plan != nil) {",
		},
		{
			name: "scan-twice", without: "of a member that is there twice both count", file: scan,
			old: "return m.node, before == 0", new: "return m.node, before < bit+1",
		},
		{
			name: "scan-case", without: "a member in another case does not count, although the decoder takes it", file: scan,
			old: "case n.folds && name.is(m.lower):", new: "case false:",
		},
		{
			name: "scan-fold", without: "nor does one in letters that fold to ASCII", file: scan,
			old: " || n.folds && !name.ascii {", new: " {",
		},
		{
			name: "scan-escaped", without: "nor does one with escape sequences", file: scan,
			old: "len(n.members) > 0 && name.escaped || ", new: "",
		},
		{
			name: "scan-integer", without: "a fraction is taken for an integer", file: scan,
			old: "!n.fraction && !n.exponent && len(n.raw) <= maxExact", new: "!n.exponent && len(n.raw) <= maxExact",
		},
		{
			name: "scan-integer-exponent", without: "so is a number with an exponent", file: scan,
			old: "!n.fraction && !n.exponent && len(n.raw) <= maxExact", new: "!n.fraction && len(n.raw) <= maxExact",
		},
		{
			name: "scan-integer-size", without: "so is one that is too large", file: scan,
			old: "!n.fraction && !n.exponent && len(n.raw) <= maxExact", new: "!n.fraction && !n.exponent",
		},
		{
			name: "scan-float-exponent", without: "a number beyond all floats is taken for one", file: scan,
			old: "case !ok || n.exponent || len(n.raw) > maxFloat:", new: "case !ok || len(n.raw) > maxFloat:",
		},
		{
			name: "scan-float-size", without: "so is one that is written out", file: scan,
			old: "case !ok || n.exponent || len(n.raw) > maxFloat:", new: "case !ok || n.exponent:",
		},
		{
			name: "scan-principal-fraction", without: "a principal of 7.0 is another than 7", file: scan,
			old: `case n.fraction || len(n.raw) > maxExact || string(n.raw) == "-0":`,
			new: `case len(n.raw) > maxExact || string(n.raw) == "-0":`,
		},
		{
			name: "scan-principal-size", without: "principals that a float cannot hold name callers", file: scan,
			old: `case n.fraction || len(n.raw) > maxExact || string(n.raw) == "-0":`,
			new: `case n.fraction || string(n.raw) == "-0":`,
		},
		{
			name: "scan-principal-zero", without: "a principal of -0 is another than 0", file: scan,
			old: ` || string(n.raw) == "-0":`, new: ":",
		},
		{
			name: "scan-header-name", without: "a header with escape sequences in its name is overlooked", file: scan,
			old: "if name.escaped || !name.ascii {", new: "if !name.ascii {",
		},
		{
			name: "scan-header-fold", without: "so is one in letters whose lower case is ASCII", file: scan,
			old: "if name.escaped || !name.ascii {", new: "if name.escaped {",
		},
		{
			name: "scan-header-twice", without: "values of a header in two spellings are in the order of the event", file: scan,
			old: "if !ok || s.single&(1<<i) != 0 {", new: "if !ok {",
		},
		{
			name: "scan-header-maps", without: "a header that is in both maps was sent twice", file: scan,
			old: "if s.multi&(1<<i) != 0 && len(s.event.headers.values[i]) > 0 {", new: "if false {",
		},
		{
			name: "scan-multi-twice", without: "the same of a header with several values", file: scan,
			old: "if s.multi&(1<<i) != 0 {", new: "if false {",
		},
		{
			name: "scan-multi-replaces", without: "so is one whose single value came first", file: scan,
			old: "s.event.headers.values[i] = s.event.headers.values[i][:0]", new: "_ = i",
		},
		{
			name: "scan-multi-form", without: "multi-value headers of a load balancer are overlooked", file: scan,
			old: "s.event.hasMulti = true", new: "_ = s.event.hasMulti",
		},
		{
			name: "scan-control", without: "a control character in a string passes", file: token,
			old: "\t\tdefault:\n\t\t\treturn s, false", new: "\t\tdefault:",
		},
		{
			name: "scan-escape", without: "so does an escape sequence that there is not", file: token,
			old: "if size == 0 {\n\t\t\t\treturn s, false", new: "if size == 0 {\n\t\t\t\tsize = 1",
		},
		{
			name: "scan-hex", without: "so do four letters for four digits", file: token,
			old: "\t\tdefault:\n\t\t\treturn 0, false", new: "\t\tdefault:",
		},
		{
			name: "scan-utf8", without: "invalid UTF-8 counts as it is, although the decoder replaces it", file: token,
			old: "if !s.ascii && !utf8.Valid(s.raw) {", new: "if false {",
		},
		{
			name: "scan-surrogate", without: "half of a pair counts as another character than the decoder takes it for", file: token,
			old: "!paired || c == utf8.RuneError {", new: "!paired && c != utf8.RuneError {",
		},
		{
			name: "scan-nesting", without: "an event of any depth is read", file: token,
			old: "if t.nesting == maxNesting || ", new: "if ",
		},
		{
			name: "scan-leading-zero", without: "a number with a leading zero passes", file: token,
			old: "if t.peek() == '0' {\n\t\tt.pos++\n\t} else if !t.digits() {", new: "if !t.digits() {",
		},
		{
			name: "scan-fraction", without: "so does a point without digits", file: token,
			old: "if n.fraction = t.digits(); !n.fraction {", new: "if n.fraction = t.digits() || true; !n.fraction {",
		},
		{
			name: "scan-exponent", without: "so does an exponent without digits", file: token,
			old: "if n.exponent = t.digits(); !n.exponent {", new: "if n.exponent = t.digits() && false; n.exponent {",
		},
		{
			name: "scan-colon", without: "a member needs no colon", file: token,
			old: "return name, ok && t.skip(':')", new: "t.skip(':')\n\treturn name, ok",
		},
		{
			name: "scan-comma", without: "members need no commas", file: token,
			old: "if t.skip(',') {", new: "if t.skip(',') || t.peek() == '\"' {",
		},
		{
			name: "scan-end", without: "an object may end like an array", file: token,
			old: "return false, t.skip(end)", new: "return false, t.skip('}') || t.skip(']')",
		},
	}
	for i := range controls {
		controls[i].first = "TestScanned|TestPlan"
	}
	return controls
}
