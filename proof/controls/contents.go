package main

// contentControls are the guards of what an item in DynamoDB says, and of the parts beside it.
func contentControls() []control {
	return []control{
		{
			name: "parts-failed", without: "a record names parts that were not written",
			old:   "return content{encoding: $encoding, parts: $parts}, $Err",
			new:   "_ = $Err; return content{encoding: $encoding, parts: $parts}, nil",
			first: "Batches|Parts",
		},
		{
			name: "parts-by-commit", without: "a stale owner overwrites the parts that a record names",
			old: `return $r.Key + "#" + $r.Seal + "#" + strconv.Itoa($n)`, new: `return $r.Key + "#" + strconv.Itoa($n)`,
			first: "Parts",
		},
		{
			name: "parts-digest", without: "altered parts are replayed",
			old: "if !$r.Sealed($result) {", new: "if false {",
			in: "ReadResult", first: "Parts",
		},
		{
			name: "parts-unprocessed", without: "parts that DynamoDB had no capacity for are lost",
			old: "if len($left) == 0 {", new: "if true {",
			in: "writeBatch", first: "Batches",
		},
		{
			name: "parts-unread", without: "parts that DynamoDB had no capacity for count as missing",
			old: "if len($left) == 0 {", new: "if true {",
			in: "readBatch", first: "Batches",
		},
		{
			name: "parts-batch", without: "a result of more parts than a batch takes is refused",
			old:   "$n < $l.count; $n += writeBatch { $batch := $pieces[$n:min($n+writeBatch, $l.count)]",
			new:   "$n < $l.count; $n += $l.count { $batch := $pieces[$n:$l.count]",
			first: "ResultsComeBack",
		},
		{
			name: "patient-write", without: "one request that is not answered loses a large result",
			old: "$err := $Patiently($ctx, len($writes)*$partSize, func(", in: "writeBatch",
			new:   "$err := func(ctx context.Context, _ int, request func(context.Context) error) error { return request(ctx) }($ctx, len($writes)*$partSize, func(",
			first: "NoSingle",
		},
		{
			name: "patient-read", without: "one request that is not answered hides a large result",
			old: "$err := $Patiently($ctx, len($keys)*$partSize, func(", in: "readBatch",
			new:   "$err := func(ctx context.Context, _ int, request func(context.Context) error) error { return request(ctx) }($ctx, len($keys)*$partSize, func(",
			first: "NoSingle",
		},
		{
			name: "patient-update", without: "an update that is not answered is repeated with all of its parts",
			old: "if $parts { return $Patiently($ctx, 0, $write) } return $write($ctx)", new: "return $write($ctx)",
			first: "NoSingle",
		},
		{
			name: "patient-half", without: "one try takes all of the time that is left",
			old: "$d = min($d, time.Until($deadline)/2)", new: "_ = $deadline",
			first: "NoSingle",
		},
		{
			name: "patient-longer", without: "a network that is slower than expected never brings a large result",
			old: "try *= 2", new: "try *= 1",
			first: "BecomeSlow",
		},
		{
			name: "patient-size", without: "a large request is given up before it can have arrived, and sent again",
			old: "shortestTry + time.Duration($size)*time.Second/slowest", new: "shortestTry",
			first: "TestWhatCouldBeStored",
		},
		{
			name: "patient-unanswered", without: "what DynamoDB has refused is asked for again until no time is left",
			old: "!unanswered($err) ||", new: "",
			first: "TestWhatIsRefused",
		},
		{
			name: "parts-outlive", without: "parts are deleted before their record",
			old: "$r.Expiry.Add($outlive).Unix()", new: "$r.Expiry.Unix()",
			first: "Requests|Parts",
		},
		{
			name: "parts-most", without: "a record makes its readers fetch anything",
			old: "case len($r.Result) > maxResult:", new: "case false:",
			first: "Beyond",
		},
		{
			name: "parts-list", without: "a list of parts that nobody wrote allocates what it says",
			old:   "$l.count >= 1 && $l.count <= maxParts && $l.size >= $l.count && $l.size <= $l.count*partSize",
			new:   "$l.count >= 1",
			first: "Malformed",
		},
		{
			name: "consistent-parts", without: "the parts of a result are read before they can be seen",
			old: "ConsistentRead: aws.Bool(true)", new: "ConsistentRead: aws.Bool(false)",
			in: "readBatch", first: "Requests|Calls",
		},
		{
			name: "inline-limit", without: "large results make every duplicate expensive",
			old: "case len($r.Result) <= $s.plainLimit, !$r.Sealed($r.Result):", new: "case true:",
			first: "Inline",
		},
		{
			name: "inline-uncommitted", without: "a result that its commit does not name goes to parts that cannot be read",
			old:   "case len($r.Result) <= $s.plainLimit, !$r.Sealed($r.Result):",
			new:   "case len($r.Result) <= $s.plainLimit:",
			first: "WithoutACommit",
		},
		{
			name: "inline-bytes", without: "a result that is no text is altered",
			old: "if utf8.Valid($result) {", new: "if true {",
			in: "inline", first: "ResultsComeBack",
		},
		{
			name: "leftovers", without: "a result of AWS Powertools is read by what this module left in the item",
			old: "if $r.Result != nil && !$r.Sealed($r.Result) {", new: "if false {",
			first: "Leftovers",
		},
		{
			name: "leftover-reason", without: "a result of AWS Powertools is replayed as the error that was there before",
			old: `if $r.Status == $StatusCompleted && $r.Owner != "" && $r.Seal == "" {`, new: "if false {",
			first: "Leftovers",
		},
		{
			name: "encoding-known", without: "bytes in an encoding of a later version are replayed",
			old:   `default: $d.fail($a.encoding, "of type S names an encoding that this version does not know"); return`,
			new:   "default: r.Result = data",
			first: "Understood|Later",
		},
		{
			name: "encoding-of-parts", without: "parts in an encoding of a later version are replayed",
			old:   `default: $d.fail($a.encoding, "of type S names an encoding that this version does not know") } }`,
			new:   "default: } }",
			first: "Understood",
		},
		{
			name: "encoding-committed", without: "bytes that do not match the commit are replayed",
			old: "if !$r.Sealed($r.Result) { $d.fail($a.data,", new: "if false { $d.fail($a.data,",
			first: "Understood",
		},
		{
			name: "compressed-limit", without: "a large result that is compressed makes every duplicate expensive",
			old: "len($pieces) == 1 && len($pieces[0]) <= $s.inlineLimit", new: "len($pieces) == 1",
			first: "WhatIsCompressed",
		},
		{
			name:    "compressed-whole",
			without: "of a result that is larger than an item after compression only the beginning is stored",
			old:     "len($pieces) == 1 && len($pieces[0]) <= $s.inlineLimit", new: "len($pieces[0]) <= $s.inlineLimit",
			first: "KeptWhole",
		},
		{
			name: "compressed-pays", without: "results are compressed that cost as much as before",
			old: "$room := ($units-1)*writeUnit - itemWeight", new: "$room := len(result) + 0*$units",
			first: "WhatIsCompressed",
		},
		{
			name: "compressed-most", without: "a few bytes expand to what a process cannot hold",
			old: "$size > maxResult ||", new: "",
			first: "AnotherSize",
		},
		{
			name: "compressed-ratio", without: "a few bytes allocate what they say that they stand for",
			old: "|| $size > maxExpansion*int64(len($data))", new: "",
			first: "AnotherSize",
		},
		{
			name: "compressed-end", without: "what is left of compressed data that was not expanded is ignored",
			old: "$n != 0 || !errors.Is($err, io.EOF)", new: "false && $n != 0 && $err != nil",
			first: "AnotherSize|Spoiled",
		},
		{
			name: "layout-known", without: "a layout of a later version is replayed",
			old: `$d.fail($a.layout, "of type S names a layout that this version does not know")`, new: "_ = $a",
			first: "Understood|Later",
		},
		{
			name: "required-status", without: "an item without a status is a record",
			old: `$d.fail($at, "is missing") }; return $d.notEmpty($at)`, new: "_ = $at }; return $d.text($at)",
			first: "Understood",
		},
		{
			name: "required-expiration", without: "an item without an expiration is a record that never expires",
			old: `$d.fail($at, "is missing"); return time.Time{}`, new: "return time.Time{}",
			first: "Understood",
		},
		{
			name: "rounded-expiration", without: "a fractional expiry ends too early",
			old: "$n++", new: "_ = $n",
			in: "seconds", first: "RoundedUp",
		},
		{
			name: "number-range", without: "milliseconds in the place of seconds are an expiry in the year 50000",
			old: "$n > $most ||", new: "",
			in: "number", first: "Understood",
		},
	}
}
