package main

// languageControls are the guards between an expression and what AWS Powertools selects with it in another language.
func languageControls() []control {
	return []control{
		{
			name: "language-methods", without: "a GET that AWS Powertools has executed is executed again",
			old:   "if $s.keys.records != nil || !neverProtected($r.Method) || $r.HasBody() {",
			new:   "if !neverProtected($r.Method) || $r.HasBody() {",
			first: "TestPowertoolsProtectEveryMethod",
		},
		{
			name: "language-methods-need-a-key", without: "beside AWS Powertools a DELETE without a key executes",
			old:   "!$s.keys.optional && ($s.keys.records != nil || slices.Contains($s.http.RequireKey, $r.Method))",
			new:   "!$s.keys.optional && slices.Contains($s.http.RequireKey, $r.Method)",
			first: "TestPowertoolsProtectEveryMethod",
		},
		{
			name: "language-refusals", without: "what a language reads differently selects another key",
			old: "if $err := $d.Allow($p); $err != nil {", new: "if $err := $d.Allow($p); false && $err != nil {",
		},
		{
			name: "language-compares", without: "comparisons are those of this module",
			old: "if $s.dialect != nil && $s.dialect.Compare != nil {", new: "if false {",
		},
		{
			name: "language-orders", without: "numbers and texts are sorted as this module does",
			old: "if $q.dialect == nil || $q.dialect.Order == nil {", new: "if true {",
		},
		{
			name: "language-members", without: "members come in the order of the event, also where the language has another",
			old: "if $s.dialect == nil || $s.dialect.Arrange == nil {", new: "if true {",
		},
		{
			name: "language-null", without: "null is dropped where the language has no projection",
			old: "$result.Kind() == $Null && !$keepsNull", new: "$result.Kind() == $Null",
		},
		{
			name: "language-condition", without: "a comparison that is selected counts as a condition",
			old: "$p.decides($left)\n\t\t$right, $err := $p.expression(powerOr)",
			new: "$p.decides($left)\n\t\t$right, $err := $p.expression(powerOr)\n\t\t$p.decides($right)",
		},
		{
			name: "language-undefined", without: "an order that TypeScript leaves undefined is null",
			old: "!$p.Condition {", new: "false {",
			in: "definedOrder",
		},
		{
			name: "language-index-slice", without: "a slice behind an index begins a projection in Python",
			old: "if _, $ok := $behind.right.(index); $ok {", new: "if _, $ok := $behind.right.(index); false && $ok {",
		},
		{
			name: "language-filter-again", without: "a second filter is applied to the list in TypeScript",
			old: `if $next := $p.peek(); $next.kind == "[?" {`, new: `if $next := $p.peek(); $next.kind == "[[" {`,
			in: "filter",
		},
		{
			name: "language-late-steps", without: "a step behind a multi-select ends the projection in Java",
			old: "if $behind := $p.peek(); power($behind.kind) > $above {", new: "if $behind := $p.peek(); power($behind.kind) > 1000 {",
			in: "projected",
		},
		{
			name: "language-booleans", without: "1 == true in Python",
			old: "if $left.kind != $right.kind && ($left.kind == boolean || $right.kind == boolean) {", new: "if false {",
		},
		{
			name: "language-numerals", without: "[1] is not [true] in Python",
			old: "$left, $right = pythonNumeral($left), pythonNumeral($right)", new: "_ = pythonNumeral",
		},
		{
			name: "language-types", without: "a text and a number have no order in Python, instead of an error",
			old: "return 0, false, jmespath.ErrInvalidType", new: "return 0, false, nil",
		},
		{
			name: "language-utf16", without: "texts are ordered by code points in TypeScript and Java",
			old: "return slices.Compare(units($l.text), units($r.text)), nil", new: "return strings.Compare($l.text, $r.text), nil",
			in: "orderUTF16",
		},
		{
			name: "language-identity", without: "an equal object is found in a list in TypeScript",
			old: "if $same && $wanted.isContainer() {", new: "if false {",
		},
		{
			name: "language-zeros", without: "-0.0 is 0.0 in Java",
			old: "if $l == 0 && $r == 0 {", new: "if false {",
		},
		{
			name: "language-embedded", without: "a member that .NET decodes is a text",
			old: "case !$isJSON || $inner.kind != null && !$inner.isContainer():", new: "case $isJSON || true:",
		},
	}
}
