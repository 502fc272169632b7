package main

// keyControls are the guards between a request and its key.
func keyControls() []control {
	const (
		age       = "requestage.go"
		http      = "http.go"
		keyheader = "keyheader.go"
		event     = "httpevent.go"
	)
	return []control{
		{
			name: "key-required", without: "POST without a key executes", file: http,
			old: "case len(values) == 0 && needed:", new: "case false:",
		},
		{
			name: "key-refused", without: "a malformed key executes", file: http,
			old: "if keyErr != nil {", new: `if keyErr != nil && key != "" {`,
		},
		{
			name: "key-method", without: "a key function has to find a key in methods that need none", file: http,
			old: "c.optionalKey = !needed", new: "c.optionalKey = false",
		},
		{
			name: "key-header-case", without: "the header is found in one spelling only", file: event,
			old: "strings.EqualFold(known, name)", new: "known == name",
		},
		{
			name: "never-protected", without: "a GET with a key is replayed", file: http,
			old: "case neverProtected(r.method):", new: "case false:",
		},
		{
			name: "key-twice", without: "of two keys the first counts", file: keyheader,
			old: "if len(values) != 1 {", new: "if len(values) == 0 {",
		},
		{
			name: "key-spellings", without: "of two keys in two spellings of the header one counts", file: event,
			old: "others[lower] = append(others[lower], single[name])", new: "others[lower] = []string{single[name]}",
		},
		{
			name: "key-multi-values", without: "a header that was sent twice counts once", file: event,
			old: "len(all[lower]) == 0 {", new: "true {",
		},
		{
			name: "key-comma", without: "two keys that the gateway joined are one", file: keyheader,
			old: "case c == ',':", new: "case false:",
		},
		{
			name: "key-quote", without: "quotes and backslashes are taken as text", file: keyheader,
			old: `case c == '"' || c == '\\':`, new: "case false:",
		},
		{
			name: "key-character", without: "spaces and characters beyond ASCII are taken", file: keyheader,
			old: "case c < '!' || c > '~':", new: "case false:",
		},
		{
			name: "key-empty", without: "an empty key is not told from a short one", file: keyheader,
			old: `if err == nil && key == "" {`, new: "if false {",
		},
		{
			name: "key-longest", without: "a key of any length is taken", file: keyheader,
			old: "case len(key) > k.max:", new: "case false:",
		},
		{
			name: "key-shortest", without: "a key shorter than configured is taken", file: keyheader,
			old: "case len(key) < k.min:", new: "case false:",
		},
		{
			name: "key-format", without: "a key of another format is taken", file: keyheader,
			old: "case k.format != nil && !k.format.MatchString(key):", new: "case false:",
		},
		{
			name: "key-format-whole", without: "a part of the key has the format", file: keyheader,
			old: "return regexp.Compile(`\\A(?:` + h.KeyFormat + `)\\z`)", new: "return regexp.Compile(h.KeyFormat)",
		},
		{
			name: "key-format-alone", without: "an expression that ends the anchoring is taken", file: keyheader,
			old: "if _, err := regexp.Compile(h.KeyFormat); err != nil {",
			new: "if _, err := regexp.Compile(h.KeyFormat); false && err != nil {",
		},
		{
			name: "key-parameters", without: "malformed parameters are taken", file: keyheader,
			old: "if found {", new: "if found && false {",
		},
		{
			name: "key-parameters-ignored", without: "parameters are a part of the key", file: keyheader,
			old: `strings.Cut(field, ";")`, new: `strings.Cut(field, "\x00")`,
		},
		{
			name: "key-string", without: `"abc" and abc are two keys`, file: keyheader,
			old: "if strings.HasPrefix(field, `\"`) {", new: "if false {",
		},
		{
			name: "key-white-space", without: "white space around the field counts", file: keyheader,
			old: `strings.Trim(values[0], " \t")`, new: "values[0]",
		},
		{
			name: "age-refused", without: "an old request is executed again after its record expired", file: http,
			old: "if err := s.requestAge(r); err != nil {", new: "if err := s.requestAge(r); false && err != nil {",
		},
		{
			name: "age-missing", without: "a request without a timestamp passes", file: age,
			old: `return "is missing"`, new: `return ""`,
		},
		{
			name: "age-twice", without: "of two timestamps the first counts", file: age,
			old: "default:\n\t\treturn \"was sent more than once\"\n", new: "default:\n",
		},
		{
			name: "age-limit", without: "a timestamp of any age passes", file: age,
			old: "case reached(at.Add(h.MaxRequestAge), now):", new: "case false:",
		},
		{
			name: "age-ahead", without: "a timestamp of the future passes, and is young for long", file: age,
			old: "case !reached(at, now.Add(clockSkew)):", new: "case false:",
		},
		{
			name: "age-unparsed", without: "what is no timestamp is one of long ago", file: age,
			old: "case !ok:", new: "case !ok && false:",
		},
		{
			name: "age-milliseconds", without: "milliseconds are taken for seconds", file: age,
			old: "err == nil && len(text) <= maxUnix", new: "err == nil",
		},
		{
			name: "age-retention", without: "requests may be older than their records", file: http,
			old: "c.http.MaxRequestAge > max(longest, 0) {", new: "c.http.MaxRequestAge < min(longest, 0) {",
		},
	}
}
