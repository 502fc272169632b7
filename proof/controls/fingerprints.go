package main

// fingerprintControls are the guards that tell requests apart.
func fingerprintControls() []control {
	return []control{
		{
			name: "http-fingerprint", without: "another HTTP request gets the stored response",
			old: "return $r.fingerprint($h, $FingerprintHeaders, $exact), nil", new: `return "1:x", nil`,
		},
		{
			name: "fingerprint-method", without: "a request with another method is the same",
			old: "$h.String($r.method)", new: `$h.String("")`,
			in: "fingerprint",
		},
		{
			name: "fingerprint-path", without: "a request for another resource is the same",
			old: "$h.String($r.path)", new: `$h.String("")`,
			in: "fingerprint",
		},
		{
			name: "fingerprint-query", without: "a request with another query is the same",
			old: "$r.query.digest($h)", new: "_ = $r.query",
		},
		{
			name: "fingerprint-query-order", without: "the order of query parameters makes another request",
			old: "slices.SortStableFunc($q.fields, func($a, $b $Field) int { return strings.Compare($a.name, $b.name) })",
			new: "",
		},
		{
			name: "fingerprint-query-opaque", without: "queries that cannot be decoded are all the same",
			old: "$h.String($q.opaque)", new: `$h.String("")`,
		},
		{
			name: "fingerprint-body", without: "a request with another body is the same",
			old: "$r.digestBody($h, $exact)", new: "_ = $r.event",
		},
		{
			name: "fingerprint-json", without: "the spelling of a JSON body makes another request",
			old: "if $r.mayBeJSON() {", new: "if false {",
		},
		{
			name: "fingerprint-media", without: "a text that looks like JSON counts by its value",
			old: "if $r.mayBeJSON() {", new: "if true {",
		},
		{
			name: "fingerprint-tag", without: "a text and a JSON value with the same bytes are the same",
			old: `$h.String("bytes")`, new: `$h.String("json")`,
		},
		{
			name: "fingerprint-base64", without: "the encoding of the body makes another request",
			old: "if $e.isBase64 {", new: "if false {",
		},
		{
			name: "fingerprint-headers", without: "headers that are to count do not",
			old: "for _, $name := range $Headers {", new: "for _, $name := range $Headers[:0] {",
		},
		{
			name: "fingerprint-header-count", without: "a missing header is an empty one",
			old: "$h.String(strconv.Itoa(len($values)))", new: `if len($values) == 0 { $h.String("") }`,
			in: "digestHeaders",
		},
		{
			name: "fingerprint-header-order", without: "the order in which headers are configured counts",
			old: "$h.FingerprintHeaders = $Lowered($h.FingerprintHeaders)", new: "_ = $Lowered",
			first: "TestFingerprintOfChosenHeadersNeverChanges",
		},
		{
			name: "fingerprint-unsteady", without: "headers that differ in each delivery may count",
			old: "case $Unsteady($lower):", new: "case false:",
			first: "TestOptionsOfKeyAndFingerprintAreChecked",
		},
		{
			name: "fingerprint-function", without: "what WithFingerprint returns does not count",
			old: "if $err = $h.Value($covered); $err == nil {", new: "if $err = $h.Value($covered == nil); $err == nil {",
		},
		{
			name: "fingerprint-alb-query", without: "two spellings of a query to a load balancer are two requests",
			old: "$decoded.fields[$i] = $Field{$name, $value}", new: "_, _, _ = $i, $name, $value",
		},
		{
			name: "fingerprint-alb-opaque", without: "a query that was not decoded is one that decodes to the same",
			old: `$sent.opaque = "undecoded"`, new: "_ = $sent.opaque",
		},
		{
			name: "partial-key", without: "requests that lack the same part share a key",
			old: "if !$k.partial {", new: "if false {",
		},
		{
			name: "missing-key", without: "requests without a key share one",
			old: `return "", $k.nothingSelected("", $needed); case $Partial:`, new: "case $Partial:",
		},
		{
			name: "partial-fingerprint", without: "requests that lack the same part are the same",
			old: "|| $presence == $Partial && !$k.partial", new: "",
			first: "TestPartlyMissingFingerprintIsRefusedUnlessAllowed",
		},
		{
			name: "missing-fingerprint", without: "requests without a fingerprint are the same",
			old: "$presence == $Missing ||", new: "",
			in: "covered",
		},
		{
			name: "selected-key-value", without: "the spelling of a selected key makes another key",
			old: "$key, $err := $k.canonical($selected.JSON())", new: "$key, $err := $selected.JSON(), error(nil)",
		},
		{
			name: "digest-key", without: "keys of personal data can be guessed from the table",
			old: "if $c.digestKey != nil {", new: "if false {",
		},
		{
			name: "digest-key-copied", without: "a caller that wipes its secret changes all keys",
			old: "append([]byte(nil), $secret...)", new: "$secret",
			first: "TestSecretOfDigestsMayBeWipedOnceItWasHandedOver",
		},
		{
			name: "derived-record-key", without: "all requests have the same derived key",
			old: "$h.String($x.RecordKey)", new: `$h.String("")`,
		},
		{
			name: "derived-fingerprint", without: "another request after a release has the same derived key",
			old: "$h.String($x.fingerprint)", new: `$h.String("")`,
		},
		{
			name: "derived-name", without: "all effects of a request have the same derived key",
			old: "$h.String($Name)", new: `$h.String("")`,
			in: "Claim.DerivedKey",
		},
		{
			name: "derived-outside", without: "the derived keys outside an execution are all the same",
			old: "rand.Read($random[:])", new: "_ = rand.Read",
		},
		{
			name: "derived-lost", without: "an adapter that loses the context makes each attempt another charge",
			old: `panic(&$LostContextError{Function: "DerivedKey", Name: $name})`, new: "return execution.RandomKey()",
			first: "Derived",
		},
		{
			name: "derived-unprotected", without: "where there is no claim, asking for a key panics although the context says so",
			old: "case $IsUnprotected($ctx):", new: "case false:", in: "DerivedKey",
			first: "Protected|Derived|Unprotected",
		},
		{
			name: "exact-numbers", without: "amounts that differ beyond 2^53 are the same",
			old: "if $p.form == $DoublesForm {", new: "if true {",
		},
		{
			name: "folded-members", without: "the order of names that differ only in case does not count, although it decides what a handler reads",
			old: "if $p.form == $FoldingForm {", new: "if false {",
			first: "TestTheOrderOfNamesThatDifferOnlyInCaseMakesAnotherRequest",
		},
		{
			name: "folded-many", without: "an object with many names is not looked at",
			old: "$n.many = make(map[string]struct{}, 4*$few)", new: "return true",
			first: "TestNamesOfAnyNumberAreCompared",
		},
		{
			name: "folded-path", without: "a gift card is redeemed once for each spelling of the name of its code",
			old: "if !$names.Add($Unquote($raw)) {", new: "if !$names.Add($Unquote($raw)) && false {",
			first: "TestAGiftCardIsNotRedeemedOncePerSpellingOfItsName",
		},
		{
			name: "folded-miss", without: "another spelling of the name of a code is no code",
			old: "$s.miss(misses{{$on.text, fold.Name($name)}: {}})", new: "_ = $on",
			first: "TestAGiftCardIsNotRedeemedOncePerSpellingOfItsName",
		},
		{
			name: "folded-alternative", without: "an expression cannot ask for two spellings",
			old: "delete($missed, miss{$on.text, fold.Name($name)})", new: "_ = $on",
			first: "TestExpressionThatFoldsRefusesNamesThatDifferOnlyInCase",
		},
		{
			name: "folded-other", without: "an alternative of another name hides the spelling that a handler reads",
			old: "delete($missed, miss{$on.text, fold.Name($name)})", new: "clear($missed)",
			first: "TestExpressionThatFoldsRefusesNamesThatDifferOnlyInCase",
		},
		{
			name: "folded-within", without: "an object that an expression turns into text is not looked at",
			old: "if _, $ok := unambiguousAt($v.text, 0); !$ok {", new: "if _, $ok := unambiguousAt($v.text, 0); false && !$ok {",
			first: "TestExpressionThatFoldsRefusesNamesThatDifferOnlyInCase",
		},
		{
			name: "unclear-get", without: "a client spells a key so that nothing protects its GET",
			old: "return $ok && $failed.Nothing", new: "_ = $failed; return $ok",
			in:    "lacksKey",
			first: "TestARequestWithoutABodyIsRefusedIfItsKeyIsUnclear",
		},
		{
			name: "folded-shared", without: "the order of names that differ only in case does not count in a key of AWS Powertools",
			old: "if $k.folds($selection) {", new: "if false {",
			in:    "sharedKey",
			first: "TestPowertoolsKeysAreRefusedWhereNamesDifferOnlyInCase",
		},
		{
			name: "selected-endpoint", without: "/accounts/1 and /accounts/2 are one request for a handler that selects its fingerprint",
			old: "$r.Endpoint($h, $FingerprintHeaders)", new: "_ = $r",
			first: "TestASelectedFingerprintCoversMethodAndPath",
		},
		{
			name: "payload-default", without: "one id with an amount of 10 and then of 9,000 is answered with the first",
			old: "$s.payload = payloadOf[$In]($exact, $p)", new: "_ = payloadOf[$In]($exact, $p)",
			first: "TestOneIDWithAnotherAmountIsAMismatch",
		},
		{
			name: "payload-foreign", without: "a redelivery of an event with ids and times is a mismatch",
			old: "if $named := $ForeignEvent($in, map[reflect.Type]bool{}); $named != nil {", new: "if $named := $ForeignEvent($in, map[reflect.Type]bool{}); $named != nil && false {",
			in:    "payloadOf",
			first: "TestAnEventWithIDsAndTimesNeedsAChoice",
		},
		{
			name: "duplicate-members", without: "a document with two values for one key has a digest",
			old:   "if $duplicate, $found := $p.order.end($start, $dst[$p.base:]); $found {",
			new:   "if $duplicate, $found := $p.order.end($start, $dst[$p.base:]); $found && $duplicate > MaxSize {",
			first: "TestSyntaxErrorCarriesNoContent",
		},
		{
			name: "trailing-data", without: "what follows a document does not count",
			old: "if $p.space(); $p.pos < len($p.src) {", new: "if $p.space(); false {",
			in: "document",
		},
		{
			name: "depth", without: "a document of any depth is read",
			old: "if $p.depth == MaxDepth {", new: "if false {",
			in: "descend",
		},
		{
			name: "exponent", without: "a number of any size is spelled out",
			old: "if $e := $n.point - 1; $e < -MaxExponent || $e > MaxExponent {",
			new: "if $e := $n.point - 1; $e == -2*MaxExponent {",
		},
		{
			name: "invalid-utf8", without: "texts with different invalid bytes are the same",
			old: "if $r == utf8.RuneError && $size == 1 {", new: "if $r == utf8.RuneError && $size == 0 {",
			in: "plain",
		},
		{
			name: "lone-surrogate", without: "texts with different lone surrogates are the same",
			old: "if utf16.IsSurrogate($r) {", new: "if false {",
			in: "escape",
		},
		{
			name: "utf16-order", without: "members are sorted by code points",
			old: "return int($c) + 0x10", new: "return int($c)",
		},
		{
			name: "length-prefix", without: "fields that are the same in a row are the same",
			old: "$h.fields = append($h.lengthened(len($s)), $s...)", new: "$h.fields = append($h.lengthened(0), $s...)",
			in: "String",
		},
		{
			name: "purpose", without: "a record key and a fingerprint of one text are the same digest",
			old: "$h.fields = append(appendLength($h.fields[:0], len($purpose)), $purpose...)",
			new: "$h.fields = appendLength($h.fields[:0], len($purpose))",
		},
		{
			name: "keyed-digest", without: "a keyed digest is computed without its key",
			old: "if $h.key == nil {", new: "if true {",
		},
	}
}
