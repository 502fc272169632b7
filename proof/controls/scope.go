package main

// scopeControls are the guards that tell callers and routes apart.
func scopeControls() []control {
	return []control{
		{
			name: "scope-operation", without: "two functions on one table share keys",
			old: "append(append($key, $operation...), '#')", new: "append($key, '#')",
			first: "TestOperationOfAnHTTPHandlerIsTheFunctionName",
		},
		{
			name: "scope-tenant-id", without: "tenants of a function with tenant isolation share keys",
			old: "$h.String($TenantID)", new: "_ = $TenantID",
		},
		{
			name: "scope-tenant-id-plain", without: "the same outside HTTP",
			old: "$h.String($TenantID($ctx))", new: "_ = $ctx",
			first: "TestDerivedKeyNeverChanges",
		},
		{
			name: "scope-tenant", without: "tenants that the user names share keys",
			old: "if $Tenant == nil {", new: "if true {",
			in:    "caller",
			first: "TestErrorInsideAUsersErrorIsNotTheAnswer",
		},
		{
			name: "scope-tenant-plain", without: "the same outside HTTP",
			old: "$h.String($Tenant)", new: "_ = $Tenant",
			first: "TestTenantIsPartOfTheScopeAndFailsClosed",
		},
		{
			name: "scope-source", without: "an API key with the id of a principal is that principal",
			old: "$h.String($who.source)", new: `$h.String("")`,
			in: "caller",
		},
		{
			name: "scope-caller", without: "all callers share their keys",
			old: "$h.String($Part)", new: "_ = $Part",
		},
		{
			name: "scope-api", without: "APIs share keys",
			old: "$h.String($r.API)", new: `$h.String("")`,
		},
		{
			name: "scope-stage", without: "the stages of an API share keys",
			old: "$h.String($r.stage)", new: `$h.String("")`,
		},
		{
			name: "scope-method", without: "POST and PATCH share keys",
			old: "$h.String($r.Method)", new: `$h.String("")`,
			in: "Scope",
		},
		{
			name: "scope-route", without: "a key counts for one path of a route instead of the route",
			old: `if $r.route != "" {`, new: "if false {",
			in: "Request.Scope",
		},
		{
			name: "scope-path", without: "a key counts for all paths where no route says more",
			old: `$h.String("path"); $h.String($r.path)`, new: `$h.String("path")`,
		},
		{
			name: "scope-default-route", without: "all paths under $default share keys",
			old: `return "" }; return $route`, new: `return "any" }; return $route`,
			in: "template",
		},
		{
			name: "scope-greedy-route", without: "all paths under {proxy+} share keys",
			old: `$route == "$default" || strings.Contains($route, "+}")`, new: `$route == "$default"`,
		},
		{
			name: "tenant-empty", without: "a tenant function that finds nobody lets its callers share keys",
			old: `if $err == nil && $tenant == "" {`, new: "if false {",
			in:    "tenantOf",
			first: "TestTenantFunctionReplacesTheCallerAndFailsClosed",
		},
		{
			name: "tenant-error", without: "a tenant function that fails lets its callers share keys",
			old:   `return "", &$RefusedError{Operation: $c.operation, Source: $OptionTenant, Err: $Err}`,
			new:   `return "nobody", nil`,
			first: "TestErrorInsideAUsersErrorIsNotTheAnswer",
		},
		{
			name: "require-tenant", without: "whom nothing names is let in although that is refused",
			old: `case $RequireTenant && $Caller.Anonymous() && $TenantID($ctx) == "":`, new: "case false:",
			first: "TestAnswerThatIsNotStoredPromisesNothing",
		},
		{
			name: "unusable-caller", without: "all whom an authorizer lets in without a name share their keys",
			old: "case $Caller.Unusable():", new: "case false:",
			first: "TestCallerWhomTheAuthorizerDoesNotNameIsRefused",
		},
		{
			name: "unusable-api-key", without: "all users of one API key share their keys, although an authorizer let them in",
			old: `$e.authorized || $t[partAccount] != ""`, new: `($e.authorized || $t[partAccount] != "") && $t[partAPIKey] == ""`,
			first: "TestCallerWhomTheAuthorizerDoesNotNameIsRefused",
		},
		{
			name: "personal-role", without: "all people with one permission set share their keys",
			old: "case !$personal:", new: "default:",
			in:    "iamCaller",
			first: "TestPeopleWithOneRoleOfIAMIdentityCenterAreCallersOfTheirOwn",
		},
		{
			name: "require-tenant-isolation", without: "a tenant of the invocation is no name",
			old: `&& $TenantID($ctx) == "":`, new: ":",
			first: "TestTenantOfTheInvocationIsAName",
		},
		{
			name: "require-tenant-first", without: "whoever is not known learns what is wrong with the key",
			old:   "if $err := $s.requireTenant($ctx, $r); $err != nil { return $Request{}, $err } if $keyErr != nil { return $Request{}, $keyErr }",
			new:   "if $keyErr != nil { return $Request{}, $keyErr }; if $err := $s.requireTenant($ctx, $r); $err != nil { return $Request{}, $err }",
			first: "TestRequestOfNobodyIsRefusedBeforeAnyIO",
		},
		{
			name: "caller-issuer", without: "the same subject of two issuers is one caller",
			old: `$CallerOf("jwt", $issuer, $subject)`, new: `$CallerOf("jwt", $subject)`,
		},
		{
			name: "caller-account", without: "the same id in two accounts is one caller",
			old: `$CallerOf("iam", $account, $id)`, new: `$CallerOf("iam", $id)`,
		},
		{
			name: "caller-session", without: "each session of a role is a caller of its own, and executes again",
			old: `if strings.HasPrefix($id, "AROA") {`, new: "if false {",
		},
		{
			name: "caller-federated", without: "all federated users of an account are one caller",
			old: `if strings.HasPrefix($id, "AROA") {`, new: "if true {",
		},
		{
			name: "caller-jwt", without: "callers with a JWT share keys",
			old: `case $t[$PartSubject] != "":`, new: "case false:",
		},
		{
			name: "caller-lambda", without: "callers of a Lambda authorizer share keys",
			old: `case $t[$PartPrincipal] != "":`, new: "case false:",
		},
		{
			name: "caller-lambda-number", without: "so do those whose principal is a number",
			old: `case $t[$PartPrincipalNumber] != "":`, new: "case false:",
		},
		{
			name: "caller-cognito", without: "the users of an identity pool share keys",
			old: `case $t[$PartIdentity] != "":`, new: "case false:",
		},
		{
			name: "caller-iam", without: "IAM callers share keys",
			old: `case $t[$PartUser] != "":`, new: "case false:",
		},
		{
			name: "caller-key", without: "API keys share keys",
			old: `case $t[$PartAPIKey] != "":`, new: "case false:",
		},
		{
			name: "event-refused", without: "an event of another kind is protected under a scope that others share",
			old: "if $r.refusal != nil {", new: "if false {",
			first: "TestEveryProblemHasAnErrorObjectOfStripe",
		},
		{
			name: "event-no-method", without: "an event of another payload format runs unprotected",
			old: `if $r.Refusal == nil && $r.Method == "" {`, new: "if false {",
		},
		{
			name: "event-v1", without: "an event of a load balancer is taken for one of a REST API",
			old: `if $r.API == "" && $e.text[$PartRoute] == "" && $e.forwarded() {`, new: "if false {",
		},
		{
			name: "event-alb", without: "an event of a REST API is taken for one of a load balancer",
			old: `if $r.API == "" && $e.forwarded() {`, new: "if false {",
		},
		{
			name: "event-url", without: "an event of an HTTP API is taken for one of a function URL",
			old: "if $e.ofHTTPAPI() {", new: "if false {",
		},
	}
}
