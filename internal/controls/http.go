package main

// answerControls are the guards of what is stored, replayed and answered.
func answerControls() []control {
	const (
		alb      = "alb.go"
		delivery = "delivery.go"
		mark     = "mark.go"
		message  = "httpmessage.go"
		problem  = "problem.go"
		profile  = "profile.go"
		response = "httpresponse.go"
		settle   = "settle.go"
	)
	return []control{
		{
			name: "status-range", without: "a response without a proper status is stored", file: response,
			old: "return status >= 200 && status <= 599 && stores(status)", new: "return stores(status)",
		},
		{
			name: "status-passing", without: "a 429 is replayed for a day", file: profile,
			old: "case 401, 403, 408, 409, 423, 425, 429:\n\t\treturn false", new: "case -1:\n\t\treturn false",
		},
		{
			name: "status-server-error", without: "a 500 is replayed for a day", file: profile,
			old: "return status < 500 || p == ProfileStripe", new: "return true",
		},
		{
			name: "set-cookie", without: "a session is handed out twice", file: response,
			old: "return !h.StoreCookies", new: "return false",
		},
		{
			name: "set-cookie-field", without: "the same in the field of payload format 2.0", file: response,
			old: "if !s.http.StoreCookies {", new: "if false {",
		},
		{
			name: "hop-by-hop", without: "headers of a connection are replayed on another", file: response,
			old: " || isOneOf(connectionHeaders, name):", new: ":",
		},
		{
			name: "connection-options", without: "so are those that Connection names", file: response,
			old: "return s.http.drops(name) || isOneOf(named, name)",
			new: "return s.http.drops(name) && len(named) >= 0",
		},
		{
			name: "own-headers-stored", without: "the replay mark of another service is stored", file: response,
			old: "return h.owns(name)", new: "return false",
		},
		{
			name: "own-headers-answered", without: "a first answer carries the replay mark of another service", file: response,
			old: "r.headers, fewer = without(r.headers, s.http.owns)", new: "_ = fewer",
		},
		{
			name: "own-headers-multi", without: "the same in multiValueHeaders", file: response,
			old: "r.multi, fewerMulti = without(r.multi, s.http.owns)", new: "_ = fewerMulti",
		},
		{
			name: "replay-mark", without: "a replay looks like an execution", file: response,
			old: "if replayed {", new: "if false {",
		},
		{
			name: "expires-header", without: "nobody learns until when an answer is replayed", file: response,
			old: "if !expires.IsZero() && s.http.ExpiresHeader != noHeader {", new: "if false {",
		},
		{
			name: "expires-header-off", without: "the header is sent although it is switched off", file: response,
			old: "!expires.IsZero() && s.http.ExpiresHeader != noHeader", new: "!expires.IsZero()",
		},
		{
			name: "expires-unknown", without: "an answer whose completion was not stored promises a replay", file: settle,
			old: "v.event.Settlement = SettledUnknown\n\t\treturn executed, true, nil",
			new: "v.event.Settlement = SettledUnknown\n\t\treturn answer{outcome: OutcomeExecuted, expires: r.Expiry}, true, nil",
		},
		{
			name: "expires-failed", without: "so does one that could not be settled at all", file: settle,
			old: "v.event.Settlement, v.event.StoreErr = SettledFailed, err\n\t\treturn executed, true",
			new: "v.event.Settlement, v.event.StoreErr = SettledFailed, err\n\t\treturn answer{outcome: OutcomeExecuted, expires: next.Expiry}, true",
		},
		{
			name: "handlers-maps", without: "headers that a handler returns every time change under its hands", file: response,
			old: "kept = maps.Clone(m)", new: "kept = m",
		},
		{
			name: "alb-form", without: "a load balancer does not see what is added", file: message,
			old: "if form == readsMulti {", new: "if false {",
		},
		{
			name:    "alb-form-single",
			without: "a stored response loses its headers when the target group changes", file: message,
			old: "if form == readsHeaders && len(own) == 0 {", new: "if false {",
		},
		{
			name: "alb-form-multi", without: "the same in the other direction", file: message,
			old: "own := r.multi\n\t\tif len(own) == 0 {", new: "own := r.multi\n\t\tif false {",
		},
		{
			name: "alb-form-seen", without: "multi-value headers of a load balancer are not noticed", file: alb,
			old: "if e.hasMulti {", new: "if false {",
		},
		{
			name: "alb-status", without: "a load balancer gets no description of a status", file: alb,
			old: "if out.StatusCode != r.status {", new: "if false {",
		},
		{
			name: "answer-input", without: "an answer is made of what the handler left of the event", file: problem,
			old: "r := &src.http\n",
			new: "in, _ := src.event()\n\tr := &httpRequest{event: s.family.event(in, s.names)}\n\ts.family.request(r)\n",
		},
		{
			name: "html-escaped", without: "a path can put HTML into a document", file: problem,
			old: "json.Marshal(document)", new: "encodeJSON(document)",
		},
		{
			name: "html-quote", without: "a path can end an attribute that holds the instance", file: problem,
			old: `strings.ReplaceAll(u.String(), "'", "%27")`, new: "u.String()",
		},
		{
			name: "instance-host", without: "a path can make the instance name a host", file: problem,
			old: `if strings.HasPrefix(reference, "//") {`, new: "if false {",
		},
		{
			name: "detail-private", without: "a client reads what a function of the user failed with", file: problem,
			old: "return k.detail", new: "return err.Error()",
		},
		{
			name: "retry-after-rounded", without: "a client comes back before the lease has ended", file: problem,
			old: "if d%time.Second > 0 {", new: "if false {",
		},
		{
			name: "retry-after-least", without: "a client comes back at once", file: problem,
			old: "max(seconds, 1)", new: "seconds",
		},
		{
			name: "retry-after-most", without: "MaxRetryAfter has no effect", file: problem,
			old: "if h.MaxRetryAfter > 0 {", new: "if false {",
		},
		{
			name: "retry-after-outage", without: "an outage does not say when to come back", file: problem,
			old: `headers["Retry-After"] = h.retryAfter(outageRetryAfter)`, new: "_ = outageRetryAfter",
		},
		{
			name: "answered-mark", without: "a response beside a marked error is lost", file: delivery,
			old: "d.answered = d.err == nil || markOf(d.err) != unmarked && d.shape.answers(d.out)",
			new: "d.answered = d.err == nil",
		},
		{
			name: "encoding-lost", without: "an effect whose result cannot be encoded is repeated", file: delivery,
			old: "return ending{fate: fateUnknown, reason: reasonResultLost}", new: "return ending{fate: fateRelease}",
		},
		{
			name: "stream", without: "a stream is stored as an empty object", file: delivery,
			old: "if _, ok := v.(io.Reader); ok && (", new: "if _, ok := v.(io.Reader); ok && false && (",
		},
		{
			name: "terminal", without: "a stored error is replayed as a result", file: delivery,
			old: "if !d.answered {\n\t\te.reason = reasonTerminal", new: "if false {\n\t\te.reason = reasonTerminal",
		},
		{
			name: "undecodable", without: "the result of someone else that cannot be read hides the own one", file: delivery,
			old: "if d.ran {", new: "if false {",
		},
		{
			name: "resolved-form", without: "a resolver stores a session that is handed out twice", file: delivery,
			old: "out, _ := d.shape.storedForm(r.out)", new: "out := r.out",
		},
		{
			name: "nested", without: "an unprotected call inside a protected one takes its derived keys", file: delivery,
			old: "if _, inside := FromContext(ctx); inside {", new: "if _, inside := FromContext(ctx); inside && false {",
		},
		{
			name: "stripped", without: "Lambda reports the mark as the type of the error", file: mark,
			old: "if !ok {\n\t\t\treturn err", new: "if !ok || m != nil {\n\t\t\treturn err",
		},
	}
}
