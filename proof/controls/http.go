package main

// answerControls are the guards of what is stored, replayed and answered.
func answerControls() []control {
	return []control{
		{
			name: "status-range", without: "a response without a proper status is stored",
			old: "return $status >= 200 && $status <= 599 && $stores($status)", new: "return $stores($status)",
			first: "TestStoreStatusReplacesTheRuleOfTheProfile",
		},
		{
			name: "status-passing", without: "a 429 is replayed for a day",
			old: "case 401, 403, 408, 409, 423, 425, 429: return false", new: "case -1: return false",
		},
		{
			name: "status-server-error", without: "a 500 is replayed for a day",
			old: "return $status < 500 || $p == $ProfileStripe", new: "return true",
		},
		{
			name: "set-cookie", without: "a session is handed out twice",
			old: "return !$h.StoreCookies", new: "return false",
		},
		{
			name: "set-cookie-field", without: "the same in the field of payload format 2.0",
			old: "if !$StoreCookies {", new: "if false {",
		},
		{
			name: "hop-by-hop", without: "headers of a connection are replayed on another",
			old: "|| $IsConnection($name):", new: ":",
		},
		{
			name: "connection-options", without: "so are those that Connection names",
			old: "return $f.drops($name) || $IsOneOf($named, $name)", new: "return $f.drops($name) && len($named) >= 0",
		},
		{
			name: "own-headers-stored", without: "the replay mark of another service is stored",
			old: "return $h.owns($name)", new: "return false",
		},
		{
			name: "own-headers-answered", without: "a first answer carries the replay mark of another service",
			old: "$r.headers, $fewer = $Without($r.headers, $Owns)", new: "_ = $fewer",
		},
		{
			name: "own-headers-multi", without: "the same in multiValueHeaders",
			old: "$r.multi, $fewerMulti = $Without($r.multi, $Owns)", new: "_ = $fewerMulti",
		},
		{
			name: "replay-mark", without: "a replay looks like an execution",
			old: "if $Replayed {", new: "if false {",
			in: "added",
		},
		{
			name: "expires-header", without: "nobody learns until when an answer is replayed",
			old: `if !$a.Expires.IsZero() && $f.expires != "" {`, new: "if false {",
		},
		{
			name: "expires-header-off", without: "the header is sent although it is switched off",
			old: `if !$a.Expires.IsZero() && $f.expires != "" {`, new: "if !$a.Expires.IsZero() {",
		},
		{
			name: "expires-unknown", without: "an answer whose completion was not stored promises a replay",
			old:   "if $r.Status == $StatusUnknown { $d.Report.Settlement = $Unknown; return $Result{Outcome: $Executed}",
			new:   "if $r.Status == $StatusUnknown { $d.Report.Settlement = $Unknown; return $Result{Outcome: $Executed, Expires: $r.Expiry}",
			first: "TestMarkBesideAResponseDecidesTheRecordAndTheClientGetsTheResponse",
		},
		{
			name: "expires-failed", without: "so does one that could not be settled at all",
			old:   "$d.conclude($ctx, $next); if $err != nil { $d.Report.Settlement = $Failed; $d.note($err); return $Result{Outcome: $Executed}",
			new:   "$d.conclude($ctx, $next); if $err != nil { $d.Report.Settlement = $Failed; $d.note($err); return $Result{Outcome: $Executed, Expires: $next.Expiry}",
			first: "TestMarksOfAnotherServiceAreTakenFromAnswersThatAreNotStored",
		},
		{
			name: "handlers-maps", without: "headers that a handler returns every time change under its hands",
			old: "$kept = maps.Clone($m)", new: "$kept = $m",
			in: "without",
		},
		{
			name: "alb-form", without: "a load balancer does not see what is added",
			old: "if $in == $MultiMap {", new: "if false {",
			in: "adding",
		},
		{
			name: "alb-form-single", without: "a stored response loses its headers when the target group changes",
			old: "if $in == $SingleMap && len($own) == 0 {", new: "if false {",
		},
		{
			name: "alb-form-multi", without: "the same in the other direction",
			old: "$own := $r.multi; if len($own) == 0 {", new: "$own := $r.multi; if false {",
		},
		{
			name: "alb-form-seen", without: "multi-value headers of a load balancer are not noticed",
			old: "if $e.hasMulti {", new: "if false {",
		},
		{
			name: "alb-status", without: "a load balancer gets no description of a status",
			old: "if $out.StatusCode != $r.status {", new: "if false {",
		},
		{
			name: "answer-input", without: "an answer is made of what the handler left of the event",
			old:   "$p, $encodeErr := $s.http.problem(&$src.http, $refused)",
			new:   "in, _ := $src.event(); $s.gateway.Read(in, &$src.http); $p, $encodeErr := $s.http.problem(&$src.http, $refused)",
			first: "TestAnswerAfterTheHandlerIsMadeOfTheEventAsItCame",
		},
		{
			name: "html-escaped", without: "a path can put HTML into a document",
			old: "json.Marshal($document)", new: "encodeJSON($document)",
			in: "problem",
		},
		{
			name: "html-quote", without: "a path can end an attribute that holds the instance",
			old: `strings.ReplaceAll($u.String(), "'", "%27")`, new: "$u.String()",
		},
		{
			name: "instance-host", without: "a path can make the instance name a host",
			old: `if strings.HasPrefix($reference, "//") {`, new: "if false {",
		},
		{
			name: "detail-private", without: "a client reads what a function of the user failed with",
			old: "return $k.detail", new: "return err.Error()",
		},
		{
			name: "retry-after-rounded", without: "a client comes back before the lease has ended",
			old: "if $d%time.Second > 0 {", new: "if false {",
		},
		{
			name: "retry-after-least", without: "a client comes back at once",
			old: "max($seconds, 1)", new: "$seconds",
		},
		{
			name: "retry-after-most", without: "MaxRetryAfter has no effect",
			old: "if $h.MaxRetryAfter > 0 {", new: "if false {",
		},
		{
			name: "retry-after-outage", without: "an outage does not say when to come back",
			old: `$headers["Retry-After"] = $h.retryAfter($OutageRetryAfter)`, new: "_ = $OutageRetryAfter",
		},
		{
			name: "superseded-retry-after", without: "a delivery that was superseded does not say when to come back",
			old: `case *$SupersededError: $headers["Retry-After"] = $h.retryAfter($err.RetryAfter)`, new: "case *$SupersededError:",
			first: "Problem",
		},
		{
			name: "superseded-status", without: "the status of a running request that is configured does not count for one that was superseded",
			old: "case $OutcomeInProgress, $OutcomeSuperseded: return $h.InProgressStatus", new: "case $OutcomeInProgress: return $h.InProgressStatus",
			first: "TestStatusesOfAProfile",
		},
		{
			name: "superseded-stripe", without: "clients of Stripe do not retry after a delivery that was superseded",
			old: "case $OutcomeInProgress, $OutcomeSuperseded: $e.Type", new: "case $OutcomeInProgress: $e.Type",
			first: "Stripe",
		},
		{
			name: "effects-refuse", without: "what may be repeated, and must not be after a crash, is a configuration",
			old:   "if $c.effects == $Repeatable && ($c.crash == $Refuse || $c.user.resolver != nil) {",
			new:   "if $c.effects == $Repeatable && $c.user.resolver != nil {",
			first: "Effects",
		},
		{
			name: "effects-resolver", without: "so is what may be repeated, and a resolver is asked about",
			old:   "if $c.effects == $Repeatable && ($c.crash == $Refuse || $c.user.resolver != nil) {",
			new:   "if $c.effects == $Repeatable && $c.crash == $Refuse {",
			first: "Effects",
		},
		{
			name: "effects-reexecute", without: "two options say that a crash is and is not repeated, and nobody is told",
			old:   `$p.addf("WithEffects(Unrepeatable) and WithCrashPolicy(Reexecute) contradict each other")`,
			new:   "_ = $p",
			first: "Effects",
		},
		{
			name: "effects-known", without: "effects that are nothing of both are taken",
			old: `default: return fmt.Errorf("WithEffects: %d is neither Repeatable nor Unrepeatable", $e)`, new: "default:",
			first: "Effects",
		},
		{
			name: "effects-crash", without: "effects that must not be repeated are, after a crash",
			old:   "$c.crash, $c.onError = $Refuse, $UnknownOnError",
			new:   "$c.onError = $UnknownOnError",
			first: "Policy|Policies|Effects",
		},
		{
			name: "effects-error", without: "so they are after an error",
			old:   "$c.crash, $c.onError = $Refuse, $UnknownOnError",
			new:   "$c.crash = $Refuse",
			first: "Policy|Policies|Effects",
		},
		{
			name: "answered-mark", without: "a response beside a marked error is lost",
			old:   "return $err == nil || $beside && $s.gateway.Status($out) != 0",
			new:   "_ = $beside; return $err == nil",
			first: "TestStripeProfileLeavesErrorsWithoutAResponseToThePolicies",
		},
		{
			name: "encoding-lost", without: "an effect whose result cannot be encoded is repeated",
			old: "return $Ending{fate: $FateUnknown, reason: $ReasonResultLost}", new: "return $Ending{fate: fateRelease}",
			in:    "completion",
			first: "TestResultThatCannotBeEncodedMakesTheRecordUnknown",
		},
		{
			name: "stream", without: "a stream is stored as an empty object",
			old: "if _, $ok := $v.(io.Reader); $ok && (", new: "if _, $ok := $v.(io.Reader); $ok && false && (",
			first: "TestStreamInsideAnInterfaceIsNotStoredAsAnEmptyObject",
		},
		{
			name: "terminal", without: "a stored error is replayed as a result",
			old: "return $Ending{fate: $FateComplete, reason: $ReasonTerminal, result: $e.Result}",
			new: "return $Ending{fate: $FateComplete, result: $e.Result}",
		},
		{
			name: "undecodable", without: "the result of someone else that cannot be read hides the own one",
			old: "if $d.ran {", new: "if false {",
			first: "TestLostLeaseAtCompletion",
		},
		{
			name: "resolved-form", without: "a resolver stores a session that is handed out twice",
			old: "return $w.shape.stored(&answer[$Out]{out: $out, given: true})", new: "return encodeJSON($out)", in: "wrapped.found",
			first: "TestResolvedResponseIsStoredWithoutCookiesAndMarked",
		},
		{
			name: "stored-form", without: "what must not be replayed is stored where nothing else of a response changes its text",
			old: "if $a.wire && !$changed {", new: "if _ = $changed; $a.wire {",
			first: "Cookie|Header",
		},
		{
			name: "present-sealed", without: "a stored text that nothing vouches for becomes an answer unseen",
			old: "if $a.wire && ($p.sealed || !$p.stored) {", new: "if $a.wire {",
			first: "Committed",
		},
		{
			name: "present-text", without: "a replay repeats what the handler left in its answer",
			old: "if $p.stored { $text = $p.text }", new: "_ = $p.text",
			first: "Committed",
		},
		{
			name: "present-decoded", without: "a stored response that cannot be decoded is an empty one",
			old: "if $err := json.Unmarshal($p.text, &$stored); $err != nil { return $err }", new: "_ = json.Unmarshal($p.text, &$stored)",
			first: "Committed",
			in:    "httpShape.present",
		},
		{
			name: "present-decoded-plain", without: "so is a stored result outside HTTP",
			old: "if $err := json.Unmarshal($p.text, &$out); $err != nil { return $err }", new: "_ = json.Unmarshal($p.text, &$out)",
			first: "Undecod|CannotBeDecoded|Understood",
			in:    "plainShape.present",
		},
		{
			name: "nested", without: "an unprotected call inside a protected one takes its derived keys",
			old: "return context.WithValue($ctx, $ClaimKey{}, $Unprotected{$commits})", new: "return $ctx",
			first: "TestUnprotectedHandlerInside",
		},
		{
			name: "stripped", without: "Lambda reports the mark as the type of the error",
			old:   "case *$MarkedError: $err = $outer.err",
			new:   "case *$MarkedError: return $err",
			first: "TestWhateverHappensIsWhatTheReferenceSays",
		},
	}
}
