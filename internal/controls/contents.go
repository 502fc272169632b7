package main

// contentControls are the guards of what an item in DynamoDB says, and of the parts beside it.
func contentControls() []control {
	const (
		content = "dynamo/content.go"
		decode  = "dynamo/decode.go"
		parts   = "dynamo/parts.go"
		read    = "dynamo/parts_read.go"
	)
	return []control{
		{
			name: "parts-failed", without: "a record names parts that were not written", file: content,
			old: "return content{parts: parts}, err", new: "_ = err\n\treturn content{parts: parts}, nil",
			first: "Batches|Parts",
		},
		{
			name: "parts-by-commit", without: "a stale owner overwrites the parts that a record names", file: parts,
			old: `return r.Key + "#" + r.Commit + "#" + strconv.Itoa(n)`, new: `return r.Key + "#" + strconv.Itoa(n)`,
			first: "Parts",
		},
		{
			name: "parts-digest", without: "altered parts are replayed", file: read,
			old: "if len(result) != l.size || !r.Committed(result) {", new: "if len(result) != l.size {",
			first: "Parts",
		},
		{
			name: "parts-unprocessed", without: "parts that DynamoDB had no capacity for are lost", file: parts,
			old: "if len(left) == 0 {", new: "if true {",
			first: "Batches",
		},
		{
			name: "parts-unread", without: "parts that DynamoDB had no capacity for count as missing", file: read,
			old: "if len(left) == 0 {", new: "if true {",
			first: "Batches",
		},
		{
			name: "parts-batch", without: "a result of more parts than a batch takes is refused", file: parts,
			old: "n := min(len(writes), writeBatch)", new: "n := len(writes)",
			first: "ResultsComeBack",
		},
		{
			name: "parts-outlive", without: "parts are deleted before their record", file: parts,
			old: "r.Expiry.Add(partsOutlive).Unix()", new: "r.Expiry.Unix()",
			first: "Requests|Parts",
		},
		{
			name: "parts-most", without: "a record makes its readers fetch anything", file: parts,
			old: "if l.count > maxParts {", new: "if false {",
			first: "Beyond",
		},
		{
			name: "parts-list", without: "a list of parts that nobody wrote allocates what it says", file: parts,
			old:   "l.count >= 1 && l.count <= maxParts && l.size >= l.count && l.size <= l.count*partSize",
			new:   "l.count >= 1",
			first: "Malformed",
		},
		{
			name: "consistent-parts", without: "the parts of a result are read before they can be seen", file: read,
			old: "ConsistentRead: aws.Bool(true)", new: "ConsistentRead: aws.Bool(false)",
			first: "Requests|Calls",
		},
		{
			name: "inline-limit", without: "large results make every duplicate expensive", file: content,
			old: "case len(r.Result) <= s.inlineLimit, !r.Committed(r.Result):", new: "case true:",
			first: "Inline",
		},
		{
			name:    "inline-uncommitted",
			without: "a result that its commit does not name goes to parts that cannot be read", file: content,
			old:   "case len(r.Result) <= s.inlineLimit, !r.Committed(r.Result):",
			new:   "case len(r.Result) <= s.inlineLimit:",
			first: "WithoutACommit",
		},
		{
			name: "inline-bytes", without: "a result that is no text is altered", file: content,
			old: "if utf8.Valid(result) {", new: "if true {",
			first: "ResultsComeBack",
		},
		{
			name:    "leftovers",
			without: "a result of AWS Powertools is read by what this module left in the item", file: content,
			old: "if !r.Committed(r.Result) {\n\t\t\tr.Commit = \"\"", new: "if false {\n\t\t\tr.Commit = \"\"",
			first: "Leftovers",
		},
		{
			name:    "leftover-reason",
			without: "a result of AWS Powertools is replayed as the error that was there before", file: content,
			old: `if r.Status == idempotent.StatusCompleted && r.Owner != "" && r.Commit == "" {`, new: "if false {",
			first: "Leftovers",
		},
		{
			name: "encoding-known", without: "bytes in an encoding of a later version are replayed", file: content,
			old: "case encoding != encodingIdentity:", new: "case false:",
			first: "Understood|Later",
		},
		{
			name: "encoding-committed", without: "bytes that do not match the commit are replayed", file: content,
			old: "case !r.Committed(v.Value):", new: "case false:",
			first: "Understood",
		},
		{
			name: "layout-known", without: "a layout of a later version is replayed", file: content,
			old: `d.fail(a.layout, "of type S names a layout that this version does not know")`, new: "_ = a",
			first: "Understood|Later",
		},
		{
			name: "required-status", without: "an item without a status is a record", file: decode,
			old: "d.fail(at, \"is missing\")\n\t}\n\treturn d.notEmpty(at)", new: "_ = at\n\t}\n\treturn d.text(at)",
			first: "Understood",
		},
		{
			name: "required-expiration", without: "an item without an expiration is a record that never expires", file: decode,
			old: "d.fail(at, \"is missing\")\n\t\treturn time.Time{}", new: "return time.Time{}",
			first: "Understood",
		},
		{
			name: "rounded-expiration", without: "a fractional expiry ends too early", file: decode,
			old: "n++", new: "_ = n",
			first: "RoundedUp",
		},
		{
			name:    "number-range",
			without: "milliseconds in the place of seconds are an expiry in the year 50000", file: decode,
			old: "n > most || ", new: "",
			first: "Understood",
		},
	}
}
