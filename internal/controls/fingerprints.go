package main

// fingerprintControls are the guards that tell requests apart.
func fingerprintControls() []control {
	const (
		alb       = "alb.go"
		execution = "execution.go"
		hfp       = "httpfingerprint.go"
		http      = "http.go"
		plain     = "plain.go"
		selection = "selection.go"
		canonical = "fingerprint/canonical.go"
		digest    = "fingerprint/fingerprint.go"
		keyorder  = "fingerprint/key.go"
		number    = "fingerprint/number.go"
		text      = "fingerprint/string.go"
	)
	return []control{
		{
			name: "http-fingerprint", without: "another HTTP request gets the stored response", file: http,
			old: "req.fingerprint = r.fingerprint(h, s.http.FingerprintHeaders)", new: "_ = r",
		},
		{
			name: "fingerprint-method", without: "a request with another method is the same", file: hfp,
			old: "h.String(r.method)", new: `h.String("")`,
		},
		{
			name: "fingerprint-path", without: "a request for another resource is the same", file: hfp,
			old: "h.String(r.path)", new: `h.String("")`,
		},
		{
			name: "fingerprint-query", without: "a request with another query is the same", file: hfp,
			old: "r.query.digest(h)", new: "_ = r.query",
		},
		{
			name: "fingerprint-query-order", without: "the order of query parameters makes another request", file: hfp,
			old: "slices.SortStableFunc(q.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })",
			new: "",
		},
		{
			name: "fingerprint-query-opaque", without: "queries that cannot be decoded are all the same", file: hfp,
			old: "h.String(q.opaque)", new: `h.String("")`,
		},
		{
			name: "fingerprint-body", without: "a request with another body is the same", file: hfp,
			old: "r.digestBody(h)", new: "_ = r.event",
		},
		{
			name: "fingerprint-json", without: "the spelling of a JSON body makes another request", file: hfp,
			old: "if r.mayBeJSON() && h.JSON(body) == nil {", new: "if false {",
		},
		{
			name: "fingerprint-media", without: "a text that looks like JSON counts by its value", file: hfp,
			old: "if r.mayBeJSON() && h.JSON(body) == nil {", new: "if h.JSON(body) == nil {",
		},
		{
			name: "fingerprint-tag", without: "a text and a JSON value with the same bytes are the same", file: hfp,
			old: `h.String("bytes")`, new: `h.String("json")`,
		},
		{
			name: "fingerprint-base64", without: "the encoding of the body makes another request", file: hfp,
			old: "if e.isBase64 {", new: "if false {",
		},
		{
			name: "fingerprint-headers", without: "headers that are to count do not", file: hfp,
			old: "for _, name := range headers {", new: "for _, name := range headers[:0] {",
		},
		{
			name: "fingerprint-header-count", without: "a missing header is an empty one", file: hfp,
			old: "h.String(strconv.Itoa(len(values)))",
			new: "if len(values) == 0 {\n\t\t\th.String(\"\")\n\t\t}",
		},
		{
			name: "fingerprint-header-order", without: "the order in which headers are configured counts", file: http,
			old: "h.FingerprintHeaders = lowered(h.FingerprintHeaders)", new: "_ = lowered",
		},
		{
			name: "fingerprint-unsteady", without: "headers that differ in each delivery may count", file: hfp,
			old: "case slices.Contains(unsteady, lower):", new: "case false:",
		},
		{
			name: "fingerprint-function", without: "what WithFingerprint returns does not count", file: plain,
			old: "if err := h.Value(covered); err != nil {", new: "if err := h.Value(covered == nil); err != nil {",
		},
		{
			name: "fingerprint-alb-query", without: "two spellings of a query to a load balancer are two requests", file: alb,
			old: "decoded.fields[i] = field{name, value}", new: "_, _, _ = i, name, value",
		},
		{
			name: "fingerprint-alb-opaque", without: "a query that was not decoded is one that decodes to the same", file: alb,
			old: `sent.opaque = "undecoded"`, new: "_ = sent.opaque",
		},
		{
			name: "partial-key", without: "requests that lack the same part share a key", file: selection,
			old: "if !c.partialKey {", new: "if false {",
		},
		{
			name: "missing-key", without: "requests without a key share one", file: selection,
			old: "return \"\", missing\n\tcase jmespath.Partial:", new: "case jmespath.Partial:",
		},
		{
			name: "partial-fingerprint", without: "requests that lack the same part are the same", file: selection,
			old: " || presence == jmespath.Partial && !c.partialKey", new: "",
		},
		{
			name: "missing-fingerprint", without: "requests without a fingerprint are the same", file: selection,
			old: "presence == jmespath.Missing || ", new: "",
		},
		{
			name: "selected-key-value", without: "the spelling of a selected key makes another key", file: selection,
			old: "return string(key), nil", new: "_ = key\n\treturn string(selected.JSON()), nil",
		},
		{
			name: "digest-key", without: "keys of personal data can be guessed from the table", file: selection,
			old: "if c.digestKey != nil {", new: "if false {",
		},
		{
			name: "digest-key-copied", without: "a caller that wipes its secret changes all keys", file: selection,
			old: "append([]byte(nil), secret...)", new: "secret",
		},
		{
			name: "derived-record-key", without: "all requests have the same derived key", file: execution,
			old: "h.String(x.RecordKey)", new: `h.String("")`,
		},
		{
			name: "derived-fingerprint", without: "another request after a release has the same derived key", file: execution,
			old: "h.String(x.fingerprint)", new: `h.String("")`,
		},
		{
			name: "derived-name", without: "all effects of a request have the same derived key", file: execution,
			old: "h.String(name)", new: `h.String("")`,
		},
		{
			name: "derived-outside", without: "the derived keys outside an execution are all the same", file: execution,
			old: "rand.Read(random[:]) // never fails", new: "_ = rand.Read",
		},
		{
			name: "exact-numbers", without: "amounts that differ beyond 2^53 are the same", file: canonical,
			old: "if p.doubles {", new: "if true {",
		},
		{
			name: "duplicate-members", without: "a document with two values for one key has a digest", file: canonical,
			old:   "if duplicate, found := p.order.end(start, dst[p.base:]); found {",
			new:   "if duplicate, found := p.order.end(start, dst[p.base:]); found && duplicate > MaxSize {",
			first: "TestSyntaxErrorCarriesNoContent",
		},
		{
			name: "trailing-data", without: "what follows a document does not count", file: canonical,
			old: "if p.space(); p.pos < len(p.src) {", new: "if p.space(); false {",
		},
		{
			name: "depth", without: "a document of any depth is read", file: canonical,
			old: "if p.depth == MaxDepth {", new: "if false {",
		},
		{
			name: "exponent", without: "a number of any size is spelled out", file: number,
			old: "if e := n.point - 1; e < -MaxExponent || e > MaxExponent {",
			new: "if e := n.point - 1; e == -2*MaxExponent {",
		},
		{
			name: "invalid-utf8", without: "texts with different invalid bytes are the same", file: text,
			old: "if r == utf8.RuneError && size == 1 {", new: "if r == utf8.RuneError && size == 0 {",
		},
		{
			name: "lone-surrogate", without: "texts with different lone surrogates are the same", file: text,
			old: "if utf16.IsSurrogate(r) {", new: "if false {",
		},
		{
			name: "utf16-order", without: "members are sorted by code points", file: keyorder,
			old: "return int(c) + 0x10", new: "return int(c)",
		},
		{
			name: "length-prefix", without: "fields that are the same in a row are the same", file: digest,
			old: "h.fields = append(h.lengthened(len(s)), s...)", new: "h.fields = append(h.lengthened(0), s...)",
		},
		{
			name: "purpose", without: "a record key and a fingerprint of one text are the same digest", file: digest,
			old: "h.fields = append(appendLength(h.fields[:0], len(purpose)), purpose...)",
			new: "h.fields = appendLength(h.fields[:0], len(purpose))",
		},
		{
			name: "keyed-digest", without: "a keyed digest is computed without its key", file: digest,
			old: "if h.key == nil {", new: "if true {",
		},
	}
}
