package main

// scopeControls are the guards that tell callers and routes apart.
func scopeControls() []control {
	const (
		alb    = "alb.go"
		apigw  = "apigw.go"
		caller = "caller.go"
		http   = "http.go"
		plain  = "plain.go"
		scope  = "scope.go"
		url    = "functionurl.go"
	)
	return []control{
		{
			name: "scope-operation", without: "two functions on one table share keys", file: plain,
			old: "append(append(key, operation...), '#')", new: "append(key, '#')",
		},
		{
			name: "scope-tenant-id", without: "tenants of a function with tenant isolation share keys", file: scope,
			old: "h.String(tenantID)", new: "_ = tenantID",
		},
		{
			name: "scope-tenant-id-plain", without: "the same outside HTTP", file: plain,
			old: "h.String(tenantID(ctx))", new: "_ = ctx",
		},
		{
			name: "scope-tenant", without: "tenants that the user names share keys", file: scope,
			old: "if s.functions.tenant == nil {", new: "if true {",
		},
		{
			name: "scope-tenant-plain", without: "the same outside HTTP", file: plain,
			old: "h.String(tenant)", new: "_ = tenant",
		},
		{
			name: "scope-source", without: "an API key with the id of a principal is that principal", file: scope,
			old: "h.String(who.source)", new: `h.String("")`,
		},
		{
			name: "scope-caller", without: "all callers share their keys", file: scope,
			old: "h.String(part)", new: "_ = part",
		},
		{
			name: "scope-api", without: "APIs share keys", file: scope,
			old: "h.String(r.api)", new: `h.String("")`,
		},
		{
			name: "scope-stage", without: "the stages of an API share keys", file: scope,
			old: "h.String(r.stage)", new: `h.String("")`,
		},
		{
			name: "scope-method", without: "POST and PATCH share keys", file: scope,
			old: "h.String(r.method)", new: `h.String("")`,
		},
		{
			name: "scope-route", without: "a key counts for one path of a route instead of the route", file: scope,
			old: `if r.route != "" {`, new: "if false {",
		},
		{
			name: "scope-path", without: "a key counts for all paths where no route says more", file: scope,
			old: "h.String(\"path\")\n\t\th.String(r.path)", new: `h.String("path")`,
		},
		{
			name: "scope-default-route", without: "all paths under $default share keys", file: apigw,
			old: "return \"\"\n\t}\n\treturn route", new: "return \"any\"\n\t}\n\treturn route",
		},
		{
			name: "scope-greedy-route", without: "all paths under {proxy+} share keys", file: apigw,
			old: `route == "$default" || strings.Contains(route, "+}")`, new: `route == "$default"`,
		},
		{
			name: "tenant-empty", without: "a tenant function that finds nobody lets its callers share keys", file: plain,
			old: `case tenant == "":`, new: "case false:",
		},
		{
			name: "tenant-error", without: "a tenant function that fails lets its callers share keys", file: plain,
			old: `return "", &RefusedError{Operation: c.operation, Source: optionTenant, Err: err}`,
			new: `return "nobody", nil`,
		},
		{
			name: "require-tenant", without: "whom nothing names is let in although that is refused", file: scope,
			old: "if s.http.RequireTenant && !named {", new: "if s.http.RequireTenant && !named && named {",
		},
		{
			name: "require-tenant-isolation", without: "a tenant of the invocation is no name", file: scope,
			old: ` || tenantID(ctx) != ""`, new: "",
		},
		{
			name: "require-tenant-first", without: "whoever is not known learns what is wrong with the key", file: http,
			old: "if err := s.requireTenant(ctx, r); err != nil {\n\t\treturn nil, err\n\t}\n\tif keyErr != nil {\n\t\treturn nil, keyErr\n\t}",
			new: "if keyErr != nil {\n\t\treturn nil, keyErr\n\t}\n\tif err := s.requireTenant(ctx, r); err != nil {\n\t\treturn nil, err\n\t}",
		},
		{
			name: "caller-issuer", without: "the same subject of two issuers is one caller", file: caller,
			old: "[]string{issuer, subject}", new: "[]string{subject}",
		},
		{
			name: "caller-account", without: "the same id in two accounts is one caller", file: caller,
			old: "[]string{account, id}", new: "[]string{id}",
		},
		{
			name: "caller-session", without: "each session of a role is a caller of its own, and executes again", file: caller,
			old: `if strings.HasPrefix(id, "AROA") {`, new: "if false {",
		},
		{
			name: "caller-federated", without: "all federated users of an account are one caller", file: caller,
			old: `if strings.HasPrefix(id, "AROA") {`, new: "if true {",
		},
		{
			name: "caller-v2-jwt", without: "callers with a JWT share keys", file: caller,
			old: `case a.JWT != nil && a.JWT.Claims["sub"] != "":`, new: "case false:",
		},
		{
			name: "caller-v2-lambda", without: "callers of a Lambda authorizer share keys", file: caller,
			old: `case text(a.Lambda["principalId"]) != "":`, new: "case false:",
		},
		{
			name: "caller-v2-cognito", without: "the users of an identity pool share keys", file: caller,
			old: `case a.IAM != nil && a.IAM.CognitoIdentity.IdentityID != "":`, new: "case false:",
		},
		{
			name: "caller-v2-iam", without: "IAM callers of an HTTP API share keys", file: caller,
			old: `case a.IAM != nil && a.IAM.UserID != "":`, new: "case false:",
		},
		{
			name: "caller-v1-jwt", without: "Cognito users of a REST API share keys", file: caller,
			old: `case text(claims["sub"]) != "":`, new: "case false:",
		},
		{
			name: "caller-v1-lambda", without: "callers of a REST API's Lambda authorizer share keys", file: caller,
			old: `case text(c.Authorizer["principalId"]) != "":`, new: "case false:",
		},
		{
			name: "caller-v1-cognito", without: "the users of an identity pool share keys of a REST API", file: caller,
			old: `case c.Identity.CognitoIdentityID != "":`, new: "case false:",
		},
		{
			name: "caller-v1-iam", without: "IAM callers of a REST API share keys", file: caller,
			old: `case c.Identity.Caller != "":`, new: "case false:",
		},
		{
			name: "caller-v1-key", without: "API keys share keys", file: caller,
			old: `case c.Identity.APIKeyID != "":`, new: "case false:",
		},
		{
			name:    "event-refused",
			without: "an event of another kind is protected under a scope that others share", file: http,
			old: "case r.refusal != nil:", new: "case false:",
		},
		{
			name: "event-no-method", without: "an event of another payload format runs unprotected", file: http,
			old: `case r.method == "":`, new: "case false:",
		},
		{
			name: "event-v1", without: "an event of a load balancer is taken for one of a REST API", file: apigw,
			old: `if c.APIID == "" && e.Resource == "" && r.forwarded() {`, new: "if false {",
		},
		{
			name: "event-alb", without: "an event of a REST API is taken for one of a load balancer", file: alb,
			old: `if r.api == "" && r.forwarded() {`, new: "if false {",
		},
		{
			name: "event-url", without: "an event of an HTTP API is taken for one of a function URL", file: url,
			old: "if ofHTTPAPI(c) {", new: "if false {",
		},
		{
			name: "caller-url", without: "IAM callers of a function URL share keys", file: caller,
			old: "return caller{source: anonymous}\n\t}\n\treturn iamCaller(",
			new: "}\n\tif true {\n\t\treturn caller{source: anonymous}\n\t}\n\treturn iamCaller(",
		},
	}
}
