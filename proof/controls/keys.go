package main

// keyControls are the guards between a request and its key.
func keyControls() []control {
	return []control{
		{
			name: "key-required", without: "POST without a key executes",
			old: "case len($values) == 0 && $needed:", new: "case false:",
			first: "TestProblemIsInTheFormThatTheLoadBalancerReads",
		},
		{
			name: "key-refused", without: "a malformed key executes",
			old: "if $KeyErr != nil {", new: "if false {",
			first: "TestProblemIsInTheFormThatTheLoadBalancerReads",
		},
		{
			name: "key-method", without: "a key function has to find a key in methods that need none",
			old: "$Selected($src, $needed)", new: "$Selected($src, true)",
			first: "TestKeyPathReplacesTheHeaderOfAnHTTPHandler|TestPowertoolsProtectEveryMethod",
		},
		{
			name: "key-header-case", without: "the header is found in one spelling only",
			old: "strings.EqualFold($known, $name)", new: "$known == $name",
			in: "of",
		},
		{
			name: "never-protected", without: "a GET with a key is replayed",
			old: "case $NeverProtected($r.Method) && !$keys.selects():", new: "case false:",
		},
		{
			name: "selected-protected", without: "a GET whose key the user selects runs as often as it is sent",
			old: "case $NeverProtected($r.Method) && !$keys.selects():", new: "case $NeverProtected($r.Method):",
			first: "TestWhatHasASelectedKeyIsProtectedWhateverItsMethod",
		},
		{
			name: "selected-body", without: "a GET with a body that the key path refuses runs unprotected",
			old: "!$NeverProtected($r.Method) || $r.HasBody()", new: "!$NeverProtected($r.Method)",
			first: "TestARequestWithoutABodyIsRefusedIfItsKeyIsUnclear",
		},
		{
			name: "selected-scope", without: "a code is redeemed once for each spelling of a path",
			old: "$r.ScopeOfSelected($h, $TenantID($ctx), $who, $key)", new: "$r.Scope($h, $TenantID($ctx), $who, $key)",
			first: "TestOneCodeIsRedeemedOnceHoweverThePathIsSpelled",
		},
		{
			name: "key-twice", without: "of two keys the first counts",
			old: "if len($values) != 1 {", new: "if len($values) == 0 {",
		},
		{
			name: "key-spellings", without: "of two keys in two spellings of the header one counts",
			old: "$others[$lower] = append($others[$lower], $single[$name])",
			new: "$others[$lower] = []string{$single[$name]}",
		},
		{
			name: "key-multi-values", without: "a header that was sent twice counts once",
			old: "len($all[$lower]) == 0 {", new: "true {",
			in: "headersOf",
		},
		{
			name: "key-comma", without: "two keys that the gateway joined are one",
			old: "case $c == ',':", new: "case false:",
		},
		{
			name: "key-quote", without: "quotes and backslashes are taken as text",
			old: `case $c == '"' || $c == '\\':`, new: "case false:",
			in: "bareKey",
		},
		{
			name: "key-character", without: "spaces and characters beyond ASCII are taken",
			old: "case $c < '!' || $c > '~':", new: "case false:",
		},
		{
			name: "key-empty", without: "an empty key is not told from a short one",
			old: `if $err == nil && $key == "" {`, new: "if false {",
			in: "parseKey",
		},
		{
			name: "key-longest", without: "a key of any length is taken",
			old: "case len($key) > $k.max:", new: "case false:",
		},
		{
			name: "key-shortest", without: "a key shorter than configured is taken",
			old: "case len($key) < $k.min:", new: "case false:",
		},
		{
			name: "key-format", without: "a key of another format is taken",
			old: "case $k.format != nil && !$k.format.MatchString($key):", new: "case false:",
		},
		{
			name: "key-format-whole", without: "a part of the key has the format",
			old: "return regexp.Compile(`\\A(?:` + $pattern + `)\\z`)", new: "return regexp.Compile($pattern)",
		},
		{
			name: "key-format-alone", without: "an expression that ends the anchoring is taken",
			old: "if _, $err := regexp.Compile($pattern); $err != nil {",
			new: "if _, $err := regexp.Compile($pattern); false && $err != nil {",
		},
		{
			name: "key-semicolon", without: "order;1 and order;2 are one key",
			old: "case $c == ';':", new: "case false:",
			in: "bareKey",
		},
		{
			name: "key-string", without: `"abc" and abc are two keys`,
			old: "if strings.HasPrefix($field, `\"`) {", new: "if false {",
		},
		{
			name: "key-white-space", without: "white space around the field counts",
			old: `strings.Trim($values[0], " \t")`, new: "$values[0]",
			in: "parseKey",
		},
		{
			name: "age-refused", without: "an old request is executed again after its record expired",
			old: "if $err := $s.requestAge($r); $err != nil {", new: "if $err := $s.requestAge($r); false && $err != nil {",
			first: "TestAnswerThatIsNotStoredPromisesNothing",
		},
		{
			name: "age-missing", without: "a request without a timestamp passes",
			old: `return "is missing"`, new: `return ""`,
			first: "TestAgeCountsWhereverTheKeyComesFrom",
		},
		{
			name: "age-twice", without: "of two timestamps the first counts",
			old: `default: return "was sent more than once"`, new: "default:",
			first: "TestTimestampOutsideOfTheLimitsIsRefusedBeforeAnyIO",
		},
		{
			name: "age-limit", without: "a timestamp of any age passes",
			old: "case $Reached($at.Add($h.MaxRequestAge), $now):", new: "case false:",
			first: "TestOldRequestIsRefusedBeforeItsRecordExpires",
		},
		{
			name: "age-ahead", without: "a timestamp of the future passes, and is young for long",
			old: "case !$Reached($at, $now.Add($ClockSkew)):", new: "case false:",
			first: "TestTimestampOutsideOfTheLimitsIsRefusedBeforeAnyIO",
		},
		{
			name: "age-unparsed", without: "what is no timestamp is one of long ago",
			old: "case !$ok:", new: "case !$ok && false:",
			in:    "staleness",
			first: "TestTimestampOutsideOfTheLimitsIsRefusedBeforeAnyIO",
		},
		{
			name: "age-milliseconds", without: "milliseconds are taken for seconds",
			old: "$err == nil && len($text) <= $MaxUnixDigits", new: "$err == nil",
		},
		{
			name: "age-retention", without: "requests may be older than their records",
			old: "$MaxRequestAge > max($longest, 0) {", new: "$MaxRequestAge < min($longest, 0) {",
			first: "TestContradictionsWithOtherOptionsAreFound",
		},
	}
}
