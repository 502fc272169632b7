package main

// contentControls are the guards of what an item in DynamoDB says, and of the parts beside it.
func contentControls() []control {
	const (
		compress = "dynamo/compress.go"
		content  = "dynamo/content.go"
		decode   = "dynamo/decode.go"
		parts    = "dynamo/parts.go"
		read     = "dynamo/parts_read.go"
	)
	return []control{
		{
			name: "parts-failed", without: "a record names parts that were not written", file: content,
			old:   "return content{encoding: encoding, parts: parts}, err",
			new:   "_ = err\n\treturn content{encoding: encoding, parts: parts}, nil",
			first: "Batches|Parts",
		},
		{
			name: "parts-by-commit", without: "a stale owner overwrites the parts that a record names", file: parts,
			old: `return r.Key + "#" + r.Commit + "#" + strconv.Itoa(n)`, new: `return r.Key + "#" + strconv.Itoa(n)`,
			first: "Parts",
		},
		{
			name: "parts-digest", without: "altered parts are replayed", file: read,
			old: "if !r.Committed(result) {", new: "if false {",
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
			old:   "n < l.count; n += writeBatch {\n\t\tbatch := pieces[n:min(n+writeBatch, l.count)]",
			new:   "n < l.count; n += l.count {\n\t\tbatch := pieces[n:l.count]",
			first: "ResultsComeBack",
		},
		{
			name: "parts-outlive", without: "parts are deleted before their record", file: parts,
			old: "r.Expiry.Add(partsOutlive).Unix()", new: "r.Expiry.Unix()",
			first: "Requests|Parts",
		},
		{
			name: "parts-most", without: "a record makes its readers fetch anything", file: content,
			old: "case len(r.Result) > maxResult:", new: "case false:",
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
			old: "case len(r.Result) <= s.plainLimit, !r.Committed(r.Result):", new: "case true:",
			first: "Inline",
		},
		{
			name:    "inline-uncommitted",
			without: "a result that its commit does not name goes to parts that cannot be read", file: content,
			old:   "case len(r.Result) <= s.plainLimit, !r.Committed(r.Result):",
			new:   "case len(r.Result) <= s.plainLimit:",
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
			old: "if r.Result != nil && !r.Committed(r.Result) {", new: "if false {",
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
			old:   "default:\n\t\td.fail(a.encoding, \"of type S names an encoding that this version does not know\")\n\t\treturn",
			new:   "default:\n\t\tr.Result = data",
			first: "Understood|Later",
		},
		{
			name: "encoding-of-parts", without: "parts in an encoding of a later version are replayed", file: content,
			old:   "default:\n\t\td.fail(a.encoding, \"of type S names an encoding that this version does not know\")\n\t}\n}",
			new:   "default:\n\t}\n}",
			first: "Understood",
		},
		{
			name: "encoding-committed", without: "bytes that do not match the commit are replayed", file: content,
			old:   "if !r.Committed(r.Result) {\n\t\td.fail(a.data,",
			new:   "if false {\n\t\td.fail(a.data,",
			first: "Understood",
		},
		{
			name: "compressed-limit", without: "a large result that is compressed makes every duplicate expensive", file: content,
			old: "len(pieces) == 1 && len(pieces[0]) <= s.inlineLimit", new: "len(pieces) == 1",
			first: "WhatIsCompressed",
		},
		{
			name: "compressed-whole", without: "of a result that is larger than an item after compression only the beginning is stored", file: content,
			old: "len(pieces) == 1 && len(pieces[0]) <= s.inlineLimit", new: "len(pieces[0]) <= s.inlineLimit",
			first: "KeptWhole",
		},
		{
			name: "compressed-pays", without: "results are compressed that cost as much as before", file: compress,
			old: "room := (units-1)*writeUnit - itemWeight", new: "room := len(result) + 0*units",
			first: "WhatIsCompressed",
		},
		{
			name: "compressed-most", without: "a few bytes expand to what a process cannot hold", file: compress,
			old: "size > maxResult || ", new: "",
			first: "AnotherSize",
		},
		{
			name: "compressed-ratio", without: "a few bytes allocate what they say that they stand for", file: compress,
			old: " || size > maxExpansion*int64(len(data))", new: "",
			first: "AnotherSize",
		},
		{
			name: "compressed-end", without: "what is left of compressed data that was not expanded is ignored", file: compress,
			old: "n != 0 || !errors.Is(err, io.EOF)", new: "false && n != 0 && err != nil",
			first: "AnotherSize|Spoiled",
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
