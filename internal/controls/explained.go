package main

// explanation says of a mutant that survives why no test can catch it, or none should.
type explanation struct {
	// file and mutant are what the report shows: "< becomes <= in if a < b {".
	file, mutant string
	why          string
}

// explain finds the explanation of a control.
func explain(explained []explanation, c control) (e explanation, ok bool) {
	for _, e := range explained {
		if e.file == c.file && e.mutant == c.without {
			return e, true
		}
	}
	return explanation{}, false
}

// protocolMutants are those of the protocol.
func protocolMutants() []explanation {
	return []explanation{
		{
			file: "invoke.go", mutant: "> becomes >= in if !claimed && a.outcome == OutcomeInProgress && v.wait > 0 {",
			why: "a wait of nothing ends before its first look",
		},
		{
			file: "budget.go", mutant: "<= becomes < in if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {",
			why: "a pause that ends with its context is cut off by it",
		},
		{
			file: "settle.go", mutant: ">= becomes > in if len(next.Result) >= longWrite {",
			why: "a result of exactly this size may go either way",
		},
	}
}
