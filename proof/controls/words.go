package main

// wordControls are the guards of what errors say, to an outer execution, to logs and to whoever wraps a handler.
func wordControls() []control {
	const silence = "TestNoErrorProblemOrLogRepeatsThePayload|TestDecodeError"
	return []control{
		{
			name: "nested-mark", without: "an outer execution does not see the mark of an inner one",
			old: "case $d.within:", new: "case false:",
			first: "TestMarksReachAnOuterExecution",
		},
		{
			name: "nested-unprotected", without: "nor does it through an execution that is not protected",
			old:   "return $ctx.Value($ClaimKey{}) != nil",
			new:   "_, protected := From($ctx); return protected",
			first: "TestMarksReachAnOuterExecutionThroughOneThatIsNotProtected",
		},
		{
			name: "nested-unknown", without: "an outer execution is repeated although the inner record is UNKNOWN",
			old: "if $d.protocol.Report.Settlement == $Unknown {", new: "if false {",
			in: "marked", first: "TestMarksReachAnOuterExecution",
		},
		{
			name: "nested-happened", without: "an outer execution is repeated after an inner one whose outcome is unknown",
			old: "case ok && $tells.Is($ErrMayHaveHappened):", new: "case false:",
			first: "TestErrorsOfAnInnerDelivery",
		},
		{
			name: "nested-final", without: "an outer execution is repeated after a replayed failure that is final",
			old: "case ok && $tells.Is($ErrFinal):", new: "case false:",
			first: "TestErrorsOfAnInnerDelivery",
		},
		{
			name: "nested-type", without: "a final failure has another type for Lambda after a crash",
			old:   "return nil, $reported($Stripped($d.answer.err))",
			new:   "return nil, execution.Stripped($d.answer.err)",
			first: "TestTerminalErrorThatIsReplayed",
		},
		{
			name: "undecoded", without: "an event that does not decode counts as executed",
			old: "if !$d.ran {", new: "if false {",
			in: "own", first: "TestEventThatDoesNotDecode",
		},
		{
			name: "decode-quotes", without: "the error of the decoder quotes the payload",
			old: "return $s.in, $decodeErrorOf[$In]($s.payload, $err)", new: "return $s.in, $err",
			first: silence,
		},
		{
			name: "decode-names", without: "it has names of members that come from the payload",
			old: `return "*"`, new: "return sent",
			first: silence,
		},
		{
			name: "decode-value", without: "it has the number that does not fit",
			old: "Value: $kind, Type: $into", new: "Value: wrong.Value, Type: $into",
			first: silence,
		},
		{
			name: "function-quotes", without: "the error of a tenant function stands in the log",
			old: "return &$quietError{$err}", in: "quiet", new: "return $err",
			first: silence,
		},
		{
			name: "encode-quotes", without: "the error of an encoder quotes the result",
			old: "return &$EncodeError{cause: $err}", new: "return $err",
			first: silence,
		},
		{
			name: "fingerprint-quotes", without: "that of a fingerprint quotes the request",
			old: `return "json: it cannot be encoded"`, new: "return e.err.Error()",
			first: silence,
		},
		{
			name: "result-carried", without: "a result of which JSON carries nothing is stored as {}",
			old: `if $problem := $resultProblem($out); $problem != "" {`, new: `if $problem := ""; $problem != "" {`,
			in:    "plainShapeOf",
			first: "TestResultThatJSONCannotCarry",
		},
		{
			name: "handler-types", without: "two handlers of one operation take each other's results for their own",
			old: "case $held != $types:", new: "case false:",
			in: "Handlers.Register", first: "TestTwoHandlersOfOneOperation|TestHandlersAreToldApart",
		},
		{
			name: "attempt-before", without: "a table that nobody answers for is a deadline that was exceeded",
			old:   "return &$endedError{ended: $err, before: *$failed, waiting: $a.waits.Load()}",
			new:   "return $err",
			first: "TestCallThatEndsWhileTheClientWaits",
		},
		{
			name: "table-unmade", without: "a store that was never made crashes",
			old: "if $s.unmade() { return &$store.Error", new: "if false { return &$store.Error",
			in: "ready", first: "TestZeroStore",
		},
	}
}
