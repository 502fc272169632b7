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
			old: `callerOf("jwt", issuer, subject)`, new: `callerOf("jwt", subject)`,
		},
		{
			name: "caller-account", without: "the same id in two accounts is one caller", file: caller,
			old: `callerOf("iam", account, id)`, new: `callerOf("iam", id)`,
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
			name: "caller-jwt", without: "callers with a JWT share keys", file: caller,
			old: `case t[partSubject] != "":`, new: "case false:",
		},
		{
			name: "caller-lambda", without: "callers of a Lambda authorizer share keys", file: caller,
			old: `case t[partPrincipal] != "":`, new: "case false:",
		},
		{
			name: "caller-lambda-number", without: "so do those whose principal is a number", file: caller,
			old: `case t[partPrincipalNumber] != "":`, new: "case false:",
		},
		{
			name: "caller-cognito", without: "the users of an identity pool share keys", file: caller,
			old: `case t[partIdentity] != "":`, new: "case false:",
		},
		{
			name: "caller-iam", without: "IAM callers share keys", file: caller,
			old: `case t[partUser] != "":`, new: "case false:",
		},
		{
			name: "caller-key", without: "API keys share keys", file: caller,
			old: `case t[partAPIKey] != "":`, new: "case false:",
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
			old: `if r.api == "" && e.text[partRoute] == "" && e.forwarded() {`, new: "if false {",
		},
		{
			name: "event-alb", without: "an event of a REST API is taken for one of a load balancer", file: alb,
			old: `if r.api == "" && e.forwarded() {`, new: "if false {",
		},
		{
			name: "event-url", without: "an event of an HTTP API is taken for one of a function URL", file: url,
			old: "if e.ofHTTPAPI() {", new: "if false {",
		},
	}
}
