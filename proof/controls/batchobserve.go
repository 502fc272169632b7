package main

// batchObserveControls are the guards of what is told of a batch. Its lines of metrics are those of an outbox, see delivererControls.
func batchObserveControls() []control {
	told := []string{"./observe", "./batch/batchobserve"}
	return []control{
		{
			name: "batch-line-names", without: "a dimension has the name of a metric of a batch, and the line has it twice",
			old: "$slices.ContainsFunc($BatchMetrics(), $measured) ||", new: "", suite: told, first: "ABatchTakesTheOptions",
		},
		{
			name: "batch-line-tenant", without: "an option for tenants is taken and has no effect",
			old: `if $c.tenant != nil { $c.problemf("%s: WithTenant: the %s of an invocation have many tenants", $y.constructor, $y.many) }`, new: "",
			suite: told, first: "TakeTheOptions",
		},
		{
			name: "batch-log-function", without: "nobody has to act if a dead-letter queue cannot be written",
			old:   `case $p.FunctionErr != nil, $p.Outcome == "panicked",`,
			new:   `case $p.Outcome == "panicked",`,
			suite: told, first: "TheLevelOfARecord",
		},
		{
			name: "batch-log-poison", without: "nobody has to act if poison comes again",
			old:   `$p.Outcome == "poison" && $p.Again`,
			new:   `$p.Outcome == "poison" && $p.Again && false`,
			suite: told, first: "TheLevelOfARecord",
		},
		{
			name: "batch-log-taken", without: "somebody has to act because of poison that a function has taken",
			old:   `$p.Outcome == "poison" && $p.Again`,
			new:   `$p.Outcome == "poison"`,
			suite: told, first: "TheLevelOfARecord",
		},
		{
			name: "batch-log-error-of-function", without: "the log does not say why the function of an option failed",
			old:   `if $p.FunctionErr != nil { $attrs = append($attrs, slog.Any("function_error", $p.FunctionErr)) }`,
			new:   "",
			suite: told, first: "ALogHasALineForEach",
		},
		{
			name: "batch-log-empty", without: "an empty batch fills the log",
			old:   "if ($b.Records > 0 || $b.Err != nil) && $l.Enabled($ctx, $level) {",
			new:   "if $l.Enabled($ctx, $level) {",
			suite: told, first: "ALogHasALineForEach",
		},
		{
			name: "batch-panic-stack", without: "nobody learns where a handler has panicked",
			old: `slog.Any("error", $p.Err)`, in: "recordAttributes", new: `slog.String("error", $p.Err.Error())`,
			suite: told, first: "ABatchTakesTheObservers",
		},
		{
			name: "batch-panic-value", without: "the log has what a handler has panicked with",
			old: `fmt.Sprintf("it panicked with a value of type %T", $e.Value)`, new: `fmt.Sprintf("it panicked with %v", $e.Value)`,
			suite: told, first: "ABatchTakesTheObservers",
		},
		{
			name: "batch-functions-counted", without: "a dead-letter queue that cannot be written is in no metric",
			old: "$report.FunctionsFailed++", new: "", suite: told, first: "ABatchTakesTheObservers",
		},
	}
}
