package main

// delivererControls are the guards of those who deliver messages, and of what is told of a relay.
func delivererControls() []control {
	return []control{
		{
			name: "http-redirect", without: "a redirect is followed, and the status of a GET says that a message has arrived",
			old: "$copied.CheckRedirect = func(*$http.Request, []*$http.Request) error { return $http.ErrUseLastResponse }", in: "configOf",
			new: "_ = $http.ErrUseLastResponse", first: "OnlyASuccess",
		},
		{
			name: "http-success", without: "a message counts as delivered that was answered with a redirect",
			old: "if $status >= 200 && $status <= 299 {", new: "if $status >= 200 && $status <= 399 {", in: "config.judge", first: "OnlyASuccess",
		},
		{
			name: "http-client-copied", without: "the client of the caller stops following redirects, and what it becomes counts",
			old: "$copied := *$c.client", new: "$copied := *$c.client; defer func(mine *http.Client) { $c.client = mine; mine.CheckRedirect = $copied.CheckRedirect }($c.client)",
			first: "ClientIsCopied",
		},
		{
			name: "http-attribute-kept", without: "an attribute of a message overrides the key, or what an option sets",
			old: `case $c.kept($strings.ReplaceAll($canonical, "_", "-")):`, new: "case false:", first: "CanBeNoHeader",
		},
		{
			name: "http-attribute-underscore", without: "an attribute reads as the key to a receiver that takes an underscore for a hyphen",
			old: `case $c.kept($strings.ReplaceAll($canonical, "_", "-")):`, new: "case $c.kept($canonical):", first: "CanBeNoHeader",
		},
		{
			name: "http-attribute-sender", without: "an attribute of a message says who the sender is",
			old: "return $ours[$canonical] || $sender[$canonical] || $c.sets($canonical)", new: "return $ours[$canonical] || $c.sets($canonical)",
			first: "CanBeNoHeader",
		},
		{
			name: "http-attribute-twice", without: "of two attributes that are one header one gets lost",
			old: `case $h[$canonical] != nil:`, new: "case false:", first: "CanBeNoHeader",
		},
		{
			name: "http-unusable", without: "a message that can be no header is tried again and again",
			old: "func(r rune) bool { return r < ' ' || r > '~' }", in: "unusable", new: "func(r rune) bool { return r == 0 }", first: "CanBeNoHeader",
		},
		{
			name: "http-url", without: "the error of a delivery has the user and the query of the URL",
			old: `return fmt.Errorf("outboxhttp: no answer: %w", $withoutURL($err))`, new: `return fmt.Errorf("outboxhttp: no answer: %w", $err)`,
			first: "NothingSecret",
		},
		{
			name: "http-drain", without: "each delivery opens a connection",
			old: "_, _ = $io.CopyN($io.Discard, $resp.Body, $maxDrained)", new: "_ = $io.Discard", first: "UpToABound",
		},
		{
			name: "http-drain-bound", without: "an answer without an end holds up the relay",
			old: "_, _ = $io.CopyN($io.Discard, $resp.Body, $maxDrained)", new: "_, _ = $io.CopyN($io.Discard, $resp.Body, 1<<30)", first: "UpToABound",
		},
		{
			name: "http-idle", without: "of many deliveries at once most open a connection",
			old: "$t.MaxIdleConns, $t.MaxIdleConnsPerHost = $maxIdle, $maxIdle", new: "", first: "ManyDeliveriesAtOnce",
		},
		{
			name: "http-tenant", without: "every receiver learns the tenant",
			old: `{"the tenant", $c.tenant, $m.Tenant}`, new: `{"the tenant", "X-Tenant", $m.Tenant}`, first: "WhatItHasNot",
		},
		{
			name: "sqs-deduplication", without: "a FIFO queue takes a message twice",
			old: "$in.MessageDeduplicationId = $aws.String($m.ID)", new: "", first: "FIFOQueueDrops",
		},
		{
			name: "sqs-group", without: "a message without a group cannot be sent to a FIFO queue",
			old: "$group = $firstOf($group, $m.Group, $m.ID)", new: "$group = $firstOf($group, $m.Group)", first: "FIFOQueueDrops",
		},
		{
			name: "sqs-hopeless", without: "a message is parked because of a parameter that may be put right",
			old: `$strings.HasPrefix($api.ErrorCode(), "InvalidParameterValue") && $strings.Contains($api.ErrorMessage(), "must be shorter than")`,
			new: `$strings.HasPrefix($api.ErrorCode(), "InvalidParameterValue")`, first: "NeverSucceed",
		},
		{
			name: "sqs-contents", without: "a message that SQS can never take is tried again and again",
			old: "if _, $is := $errors.AsType[*$types.InvalidMessageContents]($err); $is {",
			new: "if _, $is := $errors.AsType[*$types.InvalidMessageContents]($err); $is && false {", first: "NeverSucceed",
		},
		{
			name: "sqs-attributes", without: "a message with too many attributes is tried again and again",
			old: "$sum > $maxAttributes {", new: "$sum > $maxAttributes+1 {", in: "attributesOf", first: "TenAttributes",
		},
		{
			name: "sqs-attribute-kept", without: "an attribute of a message overrides the key",
			old: "case $slices.Contains([]string{$attributeKey, $attributeTopic, $attributeTenant}, $name):", new: "case false:",
			first: "NeverTakes",
		},
		{
			name: "sqs-escape", without: "SQS refuses a body that is JSON",
			old: "return $escape.Replace(string($m.Body))", new: "return string($m.Body)", first: "SoThatSQSTakesIt",
		},
		{
			name: "sqs-trace", without: "SQS refuses a message because of its trace",
			old: "if $isTrace($m.Trace) {", new: `if $m.Trace != "" {`, first: "ATraceThatIsNone",
		},
		{
			name: "sqs-group-of-sqs", without: "a group that SQS never takes is tried again and again, and its error quotes it",
			old: "if !$isGroup($group) {", new: "if !$isGroup($group) && false {", in: "queue.inputOf", first: "NeverTakes",
		},
		{
			name: "outbox-line-zeros", without: "an alarm on what is left in an outbox never ends",
			old: "if $m.known != nil { return $m.known($s) }", new: "if $m.known != nil { return $m.known($s) && $m.of($s) > 0 }", first: "AlsoIfItIsNothing",
		},
		{
			name: "outbox-line-metric", without: "an invocation in which nothing happened writes a line that CloudWatch cannot use",
			old: "if !$slices.ContainsFunc($y.measures, func(m $measure[$S]) bool { return m.happened(&$s) }) {",
			new: "if $slices.ContainsFunc($y.measures, func(m $measure[$S]) bool { return false }) {", first: "NoZeros",
		},
	}
}
