package main

// pageControls are the guards of the page of the command line: who is let in, and what is done and shown.
func pageControls() []control {
	return []control{
		{
			name: "page-host", without: "a site that has made its name mean 127.0.0.1 is served",
			old: "if $r.Host != $d.hosts[0] && $r.Host != $d.hosts[1] {", new: "if false {",
		},
		{
			name: "page-site", without: "another site may link to the pages, frame them and load them",
			old: `case "", "none", $sameOrigin:`, new: `case "", "none", sameOrigin, "same-site", "cross-site":`,
		},
		{
			name: "page-token", without: "everybody is let in",
			old: "|| !$same($given[0], $d.token)", new: "",
		},
		{
			name: "page-token-once", without: "the address lets in whoever finds it later, in a history or a scrollback",
			old: "if $d.used.Swap(true) {", new: "if false {",
		},
		{
			name: "page-cookie", without: "any cookie is that of the session",
			old: "if $same($c.Value, $d.cookie) {", new: "if $c.Value != $d.token {",
		},
		{
			name: "page-cookie-path", without: "a server on another port of this machine gets the cookie",
			old: `Path: $d.base + "/", HttpOnly: true`, new: `Path: "/", HttpOnly: true`,
		},
		{
			name: "page-cookie-strict", without: "another site may send requests with the cookie",
			old: "SameSite: $http.SameSiteStrictMode", new: "SameSite: http.SameSiteLaxMode",
		},
		{
			name: "page-form-origin", without: "a form of another site is taken",
			old: "if !$FromHere($r) {", new: "if false {", in: "door.posted",
		},
		{
			name: "page-form-origins", without: "a browser that contradicts itself is believed",
			old: `return $site == $sameOrigin && ($own || $origin == "" || $origin == "null")`, new: `return $site == sameOrigin`,
		},
		{
			name: "page-form-kind", without: "a body is taken that another site may send without asking",
			old: `$err != nil || $kind != "application/x-www-form-urlencoded"`, new: `$err != nil && $kind == "-"`,
		},
		{
			name: "page-form-field", without: "whoever has the cookie may send forms, although no page of this run gave them",
			old: "if !$same($r.PostForm.Get($formField), $d.form) {", new: "if false {",
		},
		{
			name: "page-form-address", without: "the field of a form counts in an address, which others get to see",
			old: "$same($r.PostForm.Get($formField), $d.form)", new: "same($r.Form.Get($formField), $d.form)",
		},
		{
			name: "page-form-long", without: "a form may be as long as it likes",
			old: "$r.Body = $http.MaxBytesReader($w, $r.Body, $mostBody)", new: "",
		},
		{
			name: "page-link", without: "a link is taken for a form",
			old: "case $r.Method == $http.MethodPost && $route.post != nil:", new: "case $route.post != nil:",
		},
		{
			name: "page-policy", without: "the browser would run what somebody put into the page",
			old: `"default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"`, new: `"default-src 'self'"`,
		},
		{
			name: "page-read-only", without: "--read-only hides the forms, and takes them all the same",
			old: "case $route.changes && $p.ReadOnly:", new: "case false:",
		},
		{
			name: "page-previewed", without: "something is confirmed that was not shown",
			old: `!$same($r.PostForm.Get("seal"), $p.door.seal("asked", $sent)) ||`, new: "",
		},
		{
			name: "page-seen", without: "somebody decides on a record that has changed since they saw it",
			old: "case !$same($seen, $p.seen($shown.Record)):", new: "case false:",
		},
		{
			name: "page-dry", without: "the preview does what it should only show",
			old: "$a.do($r.Context(), $p.Operator, $shown, true)", new: "$a.do($r.Context(), $p.Operator, $shown, false)",
		},
		{
			name: "page-unhurried", without: "who closes the tab leaves a record that is settled, and no audit entry",
			old: "$context.WithTimeout($context.WithoutCancel($ctx), $changeLimit)", new: "context.WithTimeout(ctx, changeLimit)", in: "Page.change",
		},
		{
			name: "page-nobody-knows", without: "a change that may have been done is told to nobody but a tab that may be closed",
			old: "case $errors.Is($err, $operate.ErrOutcomeUnknown): $p.Wrong(", new: "case false: $p.Wrong(",
		},
		{
			name: "page-done", without: "a link makes a record look settled that is not",
			old: `if $at := $Query().Get("done"); $at != "" && $at == $settledAt($SettledAt) {`, new: `if at := r.URL.Query().Get("done"); at != "" {`,
		},
		{
			name: "page-agreed", without: "the whole table is read although nobody has agreed",
			old: `case $r.PostForm.Get("agreed") == "":`, new: "case false:",
		},
		{
			name: "page-one-scan", without: "several scans run side by side, each at its rate",
			old: "case !$p.scanning.TryLock():", new: "case func() bool { p.scanning.TryLock(); return false }():",
			first: "^TestScan$",
		},
		{
			name: "page-most", without: "a list is as long as the incident",
			old: "if len($l.rows) == $mostListed {", new: "if false {",
		},
		{
			name: "page-printable", without: "what somebody wrote into a record turns around what stands beside it",
			old: "return $show.Printable($text($v))", new: "return text($v)",
		},
		{
			name: "page-document", without: "so does a result",
			old: "return $show.Document($text($v))", new: "return text($v)",
		},
		{
			name: "page-panic", without: "a mistake of the page is told to nobody",
			old: `$p.Wrong($fmt.Errorf("page: panic: %v", $v))`, new: "_ = fmt.Errorf",
		},
	}
}
