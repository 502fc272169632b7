// Package interop lets this library and AWS Powertools share a table: its tests run the newest
// published packages for Python and TypeScript, and this library, in turn and in every direction.
//
// # Peers
//
// Each side is a process that is told on its standard input, line by line, what to run, so that it
// can be killed like a function in Lambda: peer/peer.py, peer/peer.mjs, and for this library the
// test binary itself. An invocation is one line of JSON, an [ask]. The answer is {"entered":true}
// once the handler runs, which then waits for a line that tells how it ends, {"return":value} or
// {"fail":"text"}; and last {"returned":value}, or {"error":name,"cause":name}.
//
// The packages are pinned in peer/requirements.txt, peer/package-lock.json and peer/pom.xml, and
// installed into .tools at the root.
//
// TestStoredRecords reads the records that the packages have left in internal/powertools/testdata,
// also those of Java.
//
// # Expressions
//
// TestExpressions draws expressions and events, and compares what this library selects with what
// the packages for Python, TypeScript and Java select: peer/keys.py, peer/keys.mjs and
// peer/Keys.java print the text that each gives to its hash function. IDEMPOTENT_INTEROP_SEED
// repeats a run.
package interop
